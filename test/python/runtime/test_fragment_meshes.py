"""Fragments are programs that parse and verify, or an error says why not."""

import json

import jax
import pytest
from jax.extend.mlir import ir
from jax.interpreters import mlir


@pytest.fixture
def partition(tools, tmp_path):
    """Partitions a program; what the tool said, and the texts of the fragments."""

    def run(program, *options, topology=None, **config):
        source, settings = tmp_path / "p.mlir", tmp_path / "c.json"
        source.write_text(program)
        topology = topology or {"m1": {"x": 2}}
        settings.write_text(json.dumps({"topology": topology, **config}))
        out = tmp_path / "out"
        arguments = [source, "--config", settings, "-o", out, *options]
        done = tools.run("meshwright", "partition", *arguments)
        folder = out / "fragments"
        texts = [p.read_text() for p in folder.iterdir()] if folder.exists() else []
        return done, texts

    return run


def parses(text: str) -> str:
    with mlir.make_ir_context():
        return str(ir.Module.parse(text))


def tanh(argument="", constraint="", meshes="", kind="tensor<8xf32>") -> str:
    value = "%1" if constraint else "%0"
    return f"""{meshes}
func.func @main(%a: {kind} {argument}) -> {kind} {{
  %0 = stablehlo.tanh %a : {kind}
  {constraint and f"%1 = sdy.sharding_constraint %0 {constraint} : {kind}"}
  return {value} : {kind}
}}"""


def test_mesh_of_other_devices_becomes_that_of_the_fragment(partition):
    program = tanh(
        "{sdy.sharding = #sdy.sharding<@mesh, [{}]>}",
        meshes='sdy.mesh @mesh = <["x"=2, "y"=2]>',
    )
    done, (text,) = partition(program)
    assert done.returncode == 0, done.stderr
    assert parses(text).count("sdy.mesh @") == 1
    assert '= <["x"=2]>' in text


@pytest.mark.parametrize("ids", ["", ", device_ids=[1, 0, 3, 2]"])
def test_mesh_named_mesh_beside_that_of_the_fragment(partition, ids):
    program = tanh(
        constraint="<@mesh, [{}]>", meshes=f'sdy.mesh @mesh = <["y"=2, "z"=2]{ids}>'
    )
    done, (text,) = partition(program, topology={"m1": {"x": 4}})
    assert done.returncode == 0, done.stderr
    assert "sdy.sharding_constraint" in parses(text)


def test_axis_has_the_size_it_has_where_the_fragment_runs(partition):
    program = tanh(constraint='<@mesh, [{"x"}]>', meshes='sdy.mesh @mesh = <["x"=4]>')
    done, (text,) = partition(program)
    assert done.returncode == 0, done.stderr
    assert '= <["x"=2]>' in parses(text)
    assert "size = 4" not in text


def test_part_of_an_axis_that_is_too_short_is_reported(partition):
    program = tanh(
        constraint='<@mesh, [{"x":(2)2}]>', meshes='sdy.mesh @mesh = <["x"=4]>'
    )
    done, texts = partition(program)
    assert done.returncode == 1 and not texts
    assert "p.mlir:4:8: error: 'sdy.sharding_constraint' op sub-axis" in done.stderr
    assert 'runs on a mesh of axes #sdy.mesh<["x"=2]>' in done.stderr
    assert done.stderr.count("error:") == 1


def test_axis_that_the_mesh_lacks_is_reported(partition):
    meshes = 'sdy.mesh @mesh = <["r"=4]>'
    done, texts = partition(tanh(constraint='<@mesh, [{"r"}]>', meshes=meshes))
    assert done.returncode == 1 and not texts
    assert 'unknown axis name: "r"; the mesh is #sdy.mesh<["x"=2]>' in done.stderr


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("until", ["shard", "export"])
def test_foreign_axis_of_an_argument_is_treated_alike_read_or_not(
    partition, until, size
):
    results = []
    for read in ("%a", "%b"):
        program = f"""sdy.mesh @mesh = <["r"={size}]>
        func.func @main(%a: tensor<8xf32>
                            {{sdy.sharding = #sdy.sharding<@mesh, [{{"r"}}]>}},
                        %b: tensor<8xf32>) -> tensor<8xf32> {{
          %0 = stablehlo.tanh {read} : tensor<8xf32>
          return %0 : tensor<8xf32>
        }}"""
        done, texts = partition(program, f"--until={until}")
        results.append(done.returncode)
        assert all(map(parses, texts))
    assert results in ([0, 0], [1, 1])


@pytest.mark.parametrize("read", ["%a", "%b"])
def test_foreign_axis_in_the_type_of_an_argument_is_reported(partition, read):
    program = """
    !a = !mpmd.mesh_tensor<"m1", tensor<8xf32>, sharding=<@mesh, [{"r"}]>>
    !b = !mpmd.mesh_tensor<"m1", tensor<8xf32>>
    sdy.mesh @mesh = <["r"=2]>
    func.func @main(%a: !a, %b: !b) -> !b
        attributes {topology = #mpmd.topology<<"m1" : <["x"=2]>>>} {
      %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%b) (%x: tensor<8xf32>) {
        mpmd.return %x : tensor<8xf32>
      } : (!b) -> !b
      return %0 : !b
    }""".replace("(%b) (", f"({read}) (")
    program = program.replace("(!b) -> !b\n      ret", f"(!{read[1]}) -> !b\n      ret")
    done, _ = partition(program, "--from=export")
    assert done.returncode == 1
    assert 'unknown axis name: "r"; the mesh is #sdy.mesh<["x"=2]>' in done.stderr
    if read == "%b":
        assert "p.mlir:5:21: error: argument 0: unknown axis" in done.stderr


@pytest.mark.parametrize("until", ["import", "optimize", "shard", "export"])
def test_private_function_may_be_partitioned(partition, until):
    done, _ = partition(
        "func.func private @f() {\n  return\n}", f"--until={until}", function="f"
    )
    assert done.returncode == 0, done.stderr
    done, _ = partition(
        tanh().replace("@main", "private @f"), f"--until={until}", function="f"
    )
    assert done.returncode == 0, done.stderr


CHAIN = """
    %z{i} = stablehlo.constant dense<0> : tensor<i64>
    %n{i} = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %w{i}:2 = stablehlo.while(%j{i} = %z{i}, %v{i} = {value})
        : tensor<i64>, tensor<4xf32>
      cond {{
        %c{i} = stablehlo.compare LT, %j{i}, %n{i}
          : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %c{i} : tensor<i1>
      }} do {{
        %o{i} = stablehlo.constant dense<1> : tensor<i64>
        %k{i} = stablehlo.add %j{i}, %o{i} : tensor<i64>
        {body}
        stablehlo.return %k{i}, {result} : tensor<i64>, tensor<4xf32>
      }}"""


def nested_loops(depth: int) -> str:
    text, result = "%t = stablehlo.tanh %v0 : tensor<4xf32>", "%t"
    for i in range(depth):
        value = "%x" if i + 1 == depth else f"%v{i + 1}"
        text = CHAIN.format(i=i, value=value, body=text, result=result)
        result = f"%w{i}#1"
    return (
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
        f"{text}\n return {result} : tensor<4xf32>\n}}"
    )


WINDOW = "tensor<1x1999999x1xf32>", "tensor<1000000x1x1xf32>", "tensor<1x1000000x1xf32>"
HUGE = {
    "convolution": f"""
  func.func @main(%x: {WINDOW[0]}, %w: {WINDOW[1]}) -> {WINDOW[2]} {{
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : ({WINDOW[0]}, {WINDOW[1]}) -> {WINDOW[2]}
    return %0 : {WINDOW[2]}
  }}""",
    "product": """
  func.func @main(%x: tensor<2x1073741824x1073741824xf32>,
      %y: tensor<1073741824x1073741824x8xf32>) -> tensor<2x8xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1, 2] x [0, 1]
      : (tensor<2x1073741824x1073741824xf32>, tensor<1073741824x1073741824x8xf32>)
        -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }""",
    "window": """
  func.func @main(%x: tensor<1000000000xf32>, %i: tensor<f32>)
      -> tensor<1000000000xf32> {
    %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 500000001>,
        padding = dense<250000000> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<1000000000xf32>, tensor<f32>) -> tensor<1000000000xf32>
    return %0 : tensor<1000000000xf32>
  }""",
    "loops": nested_loops(20),
}


@pytest.mark.parametrize("name", HUGE)
def test_work_is_counted_in_no_time_whatever_the_sizes(partition, name, tmp_path):
    options = {"mpmd_infer_transfers": True}
    done, (text,) = partition(HUGE[name], topology={"m": {"x": 1}}, options=options)
    assert done.returncode == 0, done.stderr
    (fragment,) = json.loads((tmp_path / "out" / "schedule.json").read_text())[
        "fragments"
    ]
    expected = {
        "convolution": 2e12,
        "product": 2.0 * 2 * 8 * 2**60,
        "window": 500000000 * 1e9,
    }
    if name in expected:
        assert fragment["flops"] == expected[name]
    else:
        assert fragment["flops"] > 1e300
    parses(text)


MESH_NAMES = {
    "a b": True,
    "a,b": True,
    "a{b}": True,
    "a/cpu": True,
    "a/b": True,
    "größe": True,
    "'": True,
    "": False,
    "*": False,
    "**": True,
    "a@b": False,
    "a#b": False,
    'a"b': False,
    "a\\b": False,
    "a\nb": False,
}


@pytest.mark.parametrize("name", MESH_NAMES)
def test_mesh_names_are_read_back_or_refused(partition, tools, tmp_path, name):
    program = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
        %1 = stablehlo.tanh %a : tensor<4xf32>
        mpmd.return %1 : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    done, _ = partition(program, topology={name: {"x": 1}}, assignment={"f": name})
    import meshwright as mw

    meshes = {name: jax.sharding.Mesh(jax.devices()[:1], "x")}
    if MESH_NAMES[name]:
        assert done.returncode == 0, done.stderr
        tools.check("meshwright", "erase", tmp_path / "out" / "partitioned.mlir")
        config = mw.make_config(meshes, {"f": name})
        f = mw.named_computation(lambda x: x + 1, name="f")
        assert mw.jit(f, config)(1.0) == 2
    else:
        assert done.returncode == 1
        assert "c.json:1:" in done.stderr and "a mesh name is not empty" in done.stderr
        with pytest.raises(ValueError, match="topology: mesh name"):
            mw.make_config(meshes, {"f": name})


@pytest.mark.parametrize("name", ["a@b", 'a"b', "a, b", "a\nb", "é", "", "{a}", "\\"])
def test_computations_may_have_any_name(partition, tools, tmp_path, name):
    import meshwright as mw

    config = mw.make_config(
        {"m": jax.sharding.Mesh(jax.devices()[:1], "x")}, {name: "m"}
    )
    f = mw.named_computation(lambda x: x + 1, name=name)
    lowered = mw.jit(f, config).lower(1.0)
    assert lowered.as_text()
    assert mw.jit(f, config)(1.0) == 2
    with mlir.make_ir_context():
        quoted = str(ir.StringAttr.get(name))
    program = f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = mpmd.named_computation<{quoted}> (%x) (%a: tensor<4xf32>) {{
        mpmd.return %a : tensor<4xf32>
      }} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }}"""
    done, (text,) = partition(program, assignment={name: "m1"})
    assert done.returncode == 0, done.stderr
    parses(text)
    tools.check("meshwright", "erase", tmp_path / "out" / "partitioned.mlir")
