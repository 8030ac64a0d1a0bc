"""Constants cross the border between this MLIR and JAX's bit for bit."""

import json
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from support.jax_parser import JaxParser, constants, hex_constant, module_of
from support.jaxlib_releases import IS_LATER
from support.tools import PROGRAMS

import meshwright as mw


@pytest.fixture(scope="module")
def jax_parser():
    return JaxParser()


def test_constants_of_all_types_reach_this_mlir_and_return(tools, jax_parser):
    known = constants()
    before = jax_parser.values(module_of(known))
    printed = str(jax_parser.parse(module_of(known)))
    ours = tools.opt(printed)
    assert jax_parser.values(ours) == before
    # Generic text, bytecode and a second time round.
    assert jax_parser.values(tools.opt(printed, "--mlir-print-op-generic")) == before
    code = tools.run("mpmd-opt", "-", "--emit-bytecode", stdin=printed).stdout
    assert jax_parser.values(code) == before
    assert tools.opt(ours) == ours
    assert tools.opt(str(jax_parser.parse(ours))) == ours


def test_constants_of_all_types_reach_this_mlir_in_bytecode(tools, jax_parser):
    text = module_of(constants())
    before = jax_parser.values(text)
    code = jax_parser.encode(text)
    ours = tools.opt(code)
    assert jax_parser.values(ours) == before
    again = tools.run("mpmd-opt", "-", "--emit-bytecode", stdin=code).stdout
    assert jax_parser.values(again) == before
    # What both wrote is for this MLIR the same as its own.
    assert tools.opt(again) == ours
    assert tools.opt(jax_parser.encode(ours)) == ours


def test_programs_in_bytecode_of_jax_are_partitioned(tools, jax_parser, tmp_path):
    known = [c for c in constants() if "f8" in c or "f6" in c or "i1>" in c]
    kinds = [c.rsplit(" : ", 1)[1] for c in known]
    body = [f"%{i} = stablehlo.constant {c}" for i, c in enumerate(known)]
    values = ", ".join(f"%{i}" for i in range(len(known)))
    results = ", ".join(kinds)
    code = jax_parser.encode(
        f"""func.func @main(%x: tensor<4xf32>) -> ({results}) {{
          %all:{len(known)} = mpmd.named_computation<"a"> (%x) (%y: tensor<4xf32>) {{
            {chr(10).join(body)}
            mpmd.return {values} : {results}
          }} : (tensor<4xf32>) -> ({results})
          return {", ".join(f"%all#{i}" for i in range(len(known)))} : {results}
        }}"""
    )
    config = '{"topology": {"m": {"x": 1}}, "assignment": {"a": "m"}}'
    (tmp_path / "p.mlirbc").write_bytes(code)
    (tmp_path / "c.json").write_text(config)
    program, out = tmp_path / "p.mlirbc", tmp_path / "out"
    tools.check("meshwright", "check", program)
    tools.check(
        "meshwright", "partition", program, "--config", tmp_path / "c.json", "-o", out
    )
    (fragment,) = (out / "fragments").iterdir()
    (in_process,) = mw.compiler.native.partition(
        code, json.loads(config)
    ).fragments.values()
    before = set(jax_parser.values(module_of(known)))
    for written in (fragment.read_text(), in_process):
        assert set(jax_parser.values(written)) == before


def test_bytecode_that_no_mlir_wrote_is_refused(tools, jax_parser, tmp_path):
    code = jax_parser.encode(module_of(["dense<1.0> : tensor<2xf8E5M2>"]))
    for broken in (code[: len(code) // 2], code.replace(b"ML\xefR", b"ML\xefR\xff")):
        done = tools.run("mpmd-opt", "-", stdin=broken)
        assert done.returncode == 1
        assert "error:" in done.stderr


def test_tools_read_and_write_booleans_as_jax_does(tools, jax_parser, tmp_path):
    mask = hex_constant("i1", (40, 40), 1)
    program = f"""
    func.func @main(%x: tensor<40x40xi1>) -> tensor<40x40xi1> {{
      %0 = mpmd.named_computation<"a"> (%x) (%y: tensor<40x40xi1>) {{
        %m = stablehlo.constant {mask}
        %1 = stablehlo.and %y, %m : tensor<40x40xi1>
        mpmd.return %1 : tensor<40x40xi1>
      }} : (tensor<40x40xi1>) -> tensor<40x40xi1>
      return %0 : tensor<40x40xi1>
    }}"""
    (tmp_path / "p.mlir").write_text(program)
    (tmp_path / "c.json").write_text(
        '{"topology": {"m": {"x": 1}}, "assignment": {"a": "m"}}'
    )
    expected = jax_parser.parse(f"module attributes {{mhlo.mask = {mask}}} {{}}")
    expected = str(expected.operation.attributes["mhlo.mask"])

    def mask_in(text: str) -> str:
        (found,) = re.findall(r"dense<.*?> : tensor<40x40xi1>", text)
        attribute = f"module attributes {{mhlo.mask = {found}}} {{}}"
        return str(jax_parser.parse(attribute).operation.attributes["mhlo.mask"])

    out = tmp_path / "out"
    tools.check("meshwright", "check", tmp_path / "p.mlir")
    tools.check(
        "meshwright",
        "partition",
        tmp_path / "p.mlir",
        "--config",
        tmp_path / "c.json",
        "-o",
        out,
    )
    (fragment,) = (out / "fragments").iterdir()
    for path in (out / "partitioned.mlir", fragment):
        assert mask_in(path.read_text()) == expected
    jax_parser.parse(fragment.read_text())
    erased = tools.check("meshwright", "erase", out / "partitioned.mlir")
    assert mask_in(erased) == expected


def test_both_forms_of_booleans_are_read(tools, jax_parser):
    mask = np.random.default_rng(3).random((8, 17)) > 0.5
    packed = np.packbits(mask, bitorder="little").tobytes().hex()
    bytes_each = mask.astype(np.uint8).tobytes().hex()
    texts = [
        # Any byte but 0 is true; blanks, an alias of the type, an attribute.
        f'dense<"0x{packed}"> : tensor<8x17xi1>',
        f'dense<"0x{bytes_each}"> : tensor<8x17xi1>',
        f'dense<"0x{bytes_each.replace("01", "ff")}"> : tensor<8x17xi1>',
        f'dense< "0x{bytes_each}" >  :  tensor<8x17xi1>',
        f'dense<"0x{bytes_each}"> : !mask',
    ]
    printed = {
        tools.opt(f"!mask = tensor<8x17xi1>\nmodule attributes {{mhlo.m = {t}}} {{}}")
        for t in texts
    }
    (text,) = printed
    value = jax_parser.parse(text).operation.attributes["mhlo.m"]
    assert str(value).lower() == f'dense<"0x{bytes_each}"> : tensor<8x17xi1>'


def test_booleans_of_wrong_length_are_refused_at_their_place(tools):
    for digits in ("00" * 135, "00" * 137, "00" * 18):
        text = (
            f'module attributes {{mhlo.m = dense<"0x{digits}"> : tensor<136xi1>}} {{}}'
        )
        done = tools.run("mpmd-opt", "-", stdin=text)
        assert done.returncode == 1
        assert "<stdin>:1:29: error: elements hex data size is invalid" in done.stderr


def test_diagnostics_after_rewritten_booleans_keep_their_place(tools):
    mask = hex_constant("i1", (136,), 2)
    text = f"module attributes {{mhlo.m = {mask}, mhlo.n = nope}} {{}}"
    done = tools.run("mpmd-opt", "-", stdin=text)
    assert f"<stdin>:1:{text.index(' nope') + 1}: error:" in done.stderr


DTYPES = [
    *("bool", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
]


def random_array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of random bytes: with NaN, infinities and -0 where there are."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    random = np.random.default_rng(len(shape))
    if dtype == "bool":
        return random.random(shape) > 0.5
    if dtype in ("int2", "int4", "uint2", "uint4"):
        return random.integers(0, 2 if dtype[-1] == "2" else 8, shape).astype(kind)
    count = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer(random.bytes(count), kind).reshape(shape)


def test_arrays_of_all_types_come_out_of_fragments_as_they_were():
    devices = jax.devices()
    meshes = {f"m{i}": jax.sharding.Mesh(devices[i : i + 1], "x") for i in range(2)}
    config = mw.make_config(meshes, {"a": "m0", "b": "m1"})
    with jax.enable_x64(True):
        arrays = {
            f"{dtype}{shape}": random_array(dtype, shape)
            for dtype in DTYPES
            for shape in ((), (0, 3), (7,), (9, 13), (40, 40))
        }

        def f(x):
            x, first = mw.named_computation(lambda x: (x + 1, arrays), name="a")(x)
            x, second = mw.named_computation(lambda x: (x + 1, arrays), name="b")(x)
            return x, first, second

        _, *results = mw.jit(f, config)(jnp.float32(0))
    for result in results:
        for name, array in arrays.items():
            out = np.asarray(result[name])
            assert out.dtype == array.dtype and out.shape == array.shape, name
            assert out.tobytes() == array.tobytes(), name


def test_attributes_of_arguments_cross_the_border(tools, jax_parser, tmp_path):
    program = """
    func.func @main(
        %w: tensor<8x16xf32> {mhlo.layout_mode = "{0,1}", tf.aliasing_output = 0 : i32},
        %x: tensor<8x16xf32> {mhlo.layout_mode = "auto", jax.buffer_donor = true},
        %n: tensor<2xui32>)
        -> (tensor<8x16xf32> {mhlo.layout_mode = "{0,1}",
                              jax.result_info = "w[\\22a\\22]"},
            tensor<2xui32> {mhlo.layout_mode = "default"}) {
      %0:2 = mpmd.named_computation<"a"> (%w, %x, %n)
          (%v: tensor<8x16xf32>, %y: tensor<8x16xf32>, %m: tensor<2xui32>) {
        %1 = stablehlo.add %v, %y : tensor<8x16xf32>
        %2 = stablehlo.add %m, %m : tensor<2xui32>
        mpmd.return %1, %2 : tensor<8x16xf32>, tensor<2xui32>
      } : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<2xui32>)
          -> (tensor<8x16xf32>, tensor<2xui32>)
      return %0#0, %0#1 : tensor<8x16xf32>, tensor<2xui32>
    }"""
    printed = str(jax_parser.parse(program))
    result = mw.compiler.native.partition(
        printed, {"topology": {"m": {"x": 1}}, "assignment": {"a": "m"}}
    )
    (fragment,) = result.fragments.values()
    main = jax_parser.parse(fragment).body.operations[-1]
    arguments = [{e.name: str(e.attr) for e in a} for a in main.attributes["arg_attrs"]]
    assert [a.get("mhlo.layout_mode") for a in arguments] == ['"{0,1}"', '"auto"', None]
    assert arguments[0]["tf.aliasing_output"] == "0 : i32"
    module = jax_parser.parse(result.module)
    assert 'jax.result_info = "w[\\22a\\22]"' in str(module)
    assert "ui32" in str(module)


# One of each kind that JAX's bytecode has a number for.
ATTRIBUTES = [
    "#stablehlo.channel_handle<handle = 5, type = 1>",
    "#stablehlo<comparison_direction LT>",
    "#stablehlo<comparison_type TOTALORDER>",
    "#stablehlo.conv<[b, 1, 0, f]x[0, i, 1, o]->[f, 0, b, 1]>",
    "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], "
    "lhs_contracting_dimensions = [2, 7], rhs_contracting_dimensions = [3, 9]>",
    "#stablehlo<fft_type RFFT>",
    "#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [3], "
    "operand_batching_dims = [4], start_indices_batching_dims = [5], "
    "start_index_map = [6], index_vector_dim = 7>",
    "#stablehlo<precision HIGHEST>",
    "#stablehlo<rng_algorithm PHILOX>",
    "#stablehlo<rng_distribution NORMAL>",
    "#stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [3], "
    "input_batching_dims = [4], scatter_indices_batching_dims = [5], "
    "scatter_dims_to_operand_dims = [6], index_vector_dim = 7>",
    "#stablehlo<transpose ADJOINT>",
    "#stablehlo.bounds<3, ?>",
    "#stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 3, "
    "operand_tuple_indices = [4]>",
    "#stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, "
    "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
    "num_primitive_operations = 3, allow_imprecise_accumulation = false>",
    "#stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, "
    "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
    "num_primitive_operations = 1, allow_imprecise_accumulation = false>",
    "#stablehlo.dot_algorithm<lhs_precision_type = f8E5M2, "
    "rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, "
    "rhs_component_count = 1, num_primitive_operations = 1, "
    "allow_imprecise_accumulation = true>",
    "#stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 2.000000e+00, ulps = 3, "
    "mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
    "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<"
    'name = "x">, #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>',
    '#stablehlo.mesh<axes=[<name = "x", size = 2>]>',
    '#stablehlo.mesh<axes=[<name = "x", size = 2>], '
    "device_ids=dense<[1, 0]> : tensor<2xi64>>",
    "#chlo<comparison_direction GE>",
    "#chlo<comparison_type SIGNED>",
    "#chlo<precision HIGH>",
    '#sdy<manual_axes{"x", "y"}>',
    '#sdy.mesh<["x"=2, "y"=4]>',
    '#sdy.mesh<["x"=2], device_ids=[1, 0]>',
    '#sdy.sharding<@m, [{"x"}, {"x", ?}, {"x"}p1, {"x":(1)2, ?}p2, {?}, {?}p0]>',
    '#sdy.sharding<mesh<["x"=2]>, [{}], replicated={"x"}>',
    '#sdy.sharding<@m, [{"x"}], replicated={"z"}, unreduced={"y"}>',
    "#sdy.sharding_per_value<[<@m, [{}]>, <@m, [{?}]>]>",
    '#sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>',
    "#sdy.op_sharding_rule<([i, jk])->([i, j]) {i=12, j=4, k=8} reduction={k} "
    "need_replication={i} permutation={j} blocked_propagation={i}>",
    "#sdy.op_sharding_rule<([i])->([i]) {i=12}, custom>",
    '#sdy<axis_ref_list{"x", "y":(1)2}>',
    '#sdy<list_of_axis_ref_lists[{"x"}, {}]>',
    '#sdy<all_to_all_param_list[{"x"}: 0->1]>',
]
LATER_ATTRIBUTES = [
    '#sdy.sharding<@m, [{"x"}], unreduced=max{"y"}>',
    '#sdy.sharding<@m, [{"x"}], unreduced=min{"y"}>',
    '#sdy.sharding_per_value<[<@m, [{}], unreduced=max{"x"}>]>',
]


def test_attributes_of_all_kinds_reach_this_mlir_in_bytecode(tools, jax_parser):
    known = ATTRIBUTES + (LATER_ATTRIBUTES if IS_LATER else [])
    listed = ", ".join(f"x.a{i:02} = {text}" for i, text in enumerate(known))
    program = f"""sdy.mesh @m = <["x"=2, "y"=4, "z"=2]>
    func.func private @f(!stablehlo.token, !stablehlo.future<tensor<4xf32>>)
        attributes {{{listed}}}"""
    assert tools.opt(jax_parser.encode(program)) == tools.opt(program)


@pytest.mark.parametrize(
    "name",
    ["resnet_train_step", "shard_map_collectives", "sharded_transformer_step"]
    + ["kv_cache_decode_step", "moe_forward"],
)
def test_programs_reach_this_mlir_in_bytecode(tools, jax_parser, tmp_path, name):
    program = tools.opt((PROGRAMS / f"{name}.mlir").read_text())
    code = jax_parser.encode(program)
    assert tools.opt(code) == program
    (tmp_path / "p.mlirbc").write_bytes(code)
    (tmp_path / "p.mlir").write_text(program)
    printed = [tools.check("meshwright", "check", path) for path in tmp_path.iterdir()]
    assert printed[0] == printed[1] and printed[0].endswith("valid\n")


def test_errors_of_bytecode_are_those_of_its_newest_form(tools, jax_parser, tmp_path):
    program = (PROGRAMS / "moe_forward.mlir").read_text()
    code = jax_parser.encode(program).replace(b"top_k\0", b"top_j\0")
    (tmp_path / "p.mlirbc").write_bytes(code)
    done = tools.run("meshwright", "check", tmp_path / "p.mlirbc")
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1


def test_a_kind_of_attribute_that_is_unknown_has_a_remedy(tools, jax_parser):
    code = jax_parser.encode(
        "func.func private @f() attributes "
        "{x.a = #stablehlo.channel_handle<handle = 5, type = 1>}"
    )
    assert code.count(b"\x03\x15\x05") == 1
    done = tools.run(
        "mpmd-opt", "-", stdin=code.replace(b"\x03\x15\x05", b"\x79\x15\x05")
    )
    assert done.returncode == 1
    assert "attribute 60 of the dialect 'stablehlo'" in done.stderr
    assert "pass the program as text" in done.stderr
