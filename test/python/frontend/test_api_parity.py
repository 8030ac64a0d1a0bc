"""The Python interface as programs for dialect mpmd were written before: each case
is one thing that they rely on. Exceptions are compared by type."""

import dataclasses
import functools
import inspect
import types as python_types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw
from meshwright import pipeline, pipeline_registry, schedule_impl, stages, types, utils

pytestmark = pytest.mark.usefixtures("x32")


def mesh(start, size=2, axis="x"):
    return Mesh(np.array(jax.devices()[start : start + size]), (axis,))


M0, M1 = mesh(0), mesh(2)
TOPOLOGY = {"m0": M0, "m1": M1}
NAMES = {"f": "m0", "g": "m1"}
X = np.arange(8, dtype=np.float32).reshape(4, 2)


def f_then_g(x):
    h = mw.named_computation(jnp.sin, name="f")(x)
    return mw.named_computation(lambda h: 2 * h, name="g")(h)


def config(**options):
    return mw.make_config(TOPOLOGY, NAMES, **options)


@functools.cache
def lowered():
    options = {"mpmd_infer_transfers": True}
    function = mw.jit(
        lambda tree, unused: {"out": f_then_g(tree["x"])},
        config(partitioning_options=options),
        donate_argnums=0,
        override_func_name="parity",
    )
    sharded = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=NamedSharding(M1, P("x")))
    return function.lower({"x": sharded}, X)


@functools.cache
def compiled():
    return lowered().compile()


def inputs():
    return jax.device_put(({"x": X}, X), compiled().input_shardings[0])


# Names.

PUBLIC = [
    "jit",
    "MpmdWrapped",
    "named_computation",
    "named_tensor",
    "call",
    "fori_loop",
    "enumerated_for",
    "broadcast",
    "reduce",
    "make_config",
    "Config",
    "mesh_names",
    "PartitioningOptions",
    "Topology",
    "NameToMeshAssignment",
    "FunctionIOMeshAssignment",
    "FunctionNamedShardings",
    "Lowered",
    "Compiled",
    "Executable",
    "MpmdJitShardingInfo",
    "FragmentInfo",
    "FragmentOrigin",
    "FragmentMergeRule",
    "FragmentMergeRules",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_name_is_exported(name):
    assert hasattr(mw, name)


@pytest.mark.parametrize(
    "name",
    ["pipeline", "pipeline_registry", "schedule_impl", "types", "stages", "utils"],
)
def test_submodule_comes_with_the_package(name):
    assert isinstance(getattr(mw, name), python_types.ModuleType)


def test_stages_have_their_longer_names_too():
    assert stages.MpmdLowered is mw.Lowered
    assert stages.MpmdCompiled is mw.Compiled
    assert stages.MpmdExecutable is mw.Executable


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: mw.Topology({"m0": M0}), {"m0": M0}),
        (lambda: mw.Topology(m0=M0), {"m0": M0}),
        (lambda: mw.NameToMeshAssignment({"f": "m0"}), {"f": "m0"}),
        (lambda: mw.NameToStageAssignment({"f": 0}), {"f": 0}),
        (lambda: mw.PartitioningOptions({"a": True}), {"a": True}),
        (lambda: mw.FragmentMergeRules([]), []),
    ],
)
def test_types_can_be_called(call, expected):
    assert call() == expected


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (mw.FunctionIOMeshAssignment, ("input_meshes", "output_meshes")),
        (mw.FunctionNamedShardings, ("input_specs", "output_specs")),
        (
            mw.MpmdJitShardingInfo,
            ("topology", "name_to_mesh_map", "named_shardings", "io_mesh_assignment"),
        ),
    ],
)
def test_records_take_their_fields_by_position_or_by_name(kind, fields):
    values = range(len(fields))
    record = kind(*values)
    assert record == kind(**dict(zip(fields, values, strict=True)))
    assert [getattr(record, field) for field in fields] == [*values]


def parameters(function):
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (mw.named_computation, ["fn", "name", "static_argnames"]),
        (mw.named_tensor, ["x", "name"]),
        (mw.call, ["fn", "call_counter"]),
        (mw.fori_loop, ["num_iterations", "body_fun", "init_val"]),
        (mw.enumerated_for, ["body_fun", "initial_carry", "inputs", "unroll"]),
        (mw.broadcast, ["x"]),
        (mw.reduce, ["x"]),
        (mw.mesh_names, ["pytree", "topology"]),
    ],
)
def test_parameters_have_these_names(function, names):
    assert parameters(function) == names


# Configs.


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (({}, {}), {}),
        (({"a@b": M0}, {}), {}),
        (({"m0#pinned_host": M0}, {}), {}),
        (({"m0#device": M0}, {}), {}),
        ((TOPOLOGY, {}), {"partitioning_options": {"unknown": True}}),
        ((TOPOLOGY, {}), {"partitioning_options": {"mpmd_infer_transfers": 1}}),
        ((TOPOLOGY, {}), {"partitioning_options": {"mpmd_infer_transfers": "True"}}),
        ((TOPOLOGY, {}), {"partitioning_options": {"mpmd_pipeline_schedule": "gpipe"}}),
        (
            (TOPOLOGY, {}),
            {"partitioning_options": {"mpmd_fail_on_backward_deps": True}},
        ),
        ((TOPOLOGY, {"f": "m7"}), {}),
        ((TOPOLOGY, {"f": "m7#device"}), {}),
        ((TOPOLOGY, {}), {"input_mesh_assignment": ("m0", {"a": "m7"})}),
        ((TOPOLOGY, {}), {"output_mesh_assignment": "m7"}),
        ((TOPOLOGY, {"f": "m0"}), {"name_to_stage_assignment": {"f": -1}}),
        (
            (TOPOLOGY, {}),
            {
                "input_mesh_assignment": "m0",
                "read_input_output_mesh_from_shardings": True,
            },
        ),
        (
            (TOPOLOGY, {}),
            {
                "output_mesh_assignment": "m0",
                "read_input_output_mesh_from_shardings": True,
            },
        ),
    ],
)
def test_config_is_refused(arguments, options):
    with pytest.raises(ValueError):
        mw.make_config(*arguments, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"name_to_stage_assignment": {"f": 0}},
        {"input_mesh_assignment": ("m0", None)},
        {"input_mesh_assignment": "m0#pinned_host"},
        {"output_mesh_assignment": {"a": "m1#device"}},
        {"partitioning_options": {"mpmd_pipeline_schedule": "None"}},
        {"partitioning_options": {"mpmd_assume_homogeneous_devices": True}},
        {"read_input_output_mesh_from_shardings": True},
        {"pipeline_schedule": mw.PipelineSchedule()},
    ],
)
def test_config_is_accepted(options):
    made = config(**options)
    for name, value in options.items():
        assert getattr(made, name) == value


@pytest.mark.parametrize(
    "schedule",
    [
        "None",
        "1F1B",
        "GPipe",
        "Circular",
        "CircularWithReversedBackward",
        "GPipeBut1F1BForLastMesh",
        "ZeroBubbleH1",
        "ZeroBubbleH2ZeroTxLatency",
        "ZeroBubbleH2HalfTxLatency",
        "ZeroBubbleH2FullTxLatency",
        "ParallelPipelinesWithWrapAround",
    ],
)
def test_schedule_is_an_option(schedule):
    made = config(partitioning_options={"mpmd_pipeline_schedule": schedule})
    assert made.schedule == schedule


def test_meshes_of_a_topology_may_share_devices_or_differ_in_size():
    made = mw.make_config({"a": M0, "b": M0, "c": mesh(0, 4)}, {})
    assert [len(mesh.devices.flat) for mesh in made.topology.values()] == [
        M0.size,
        M0.size,
        4,
    ]


def test_config_is_frozen_and_has_defaults():
    made = config()
    assert isinstance(made, mw.Config)
    assert made.name_to_stage_assignment == {}
    assert made.sharding_mesh == M0.abstract_mesh
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.topology = {}


def test_mesh_and_stage_assignment_leaves_out_stages_without_a_mesh():
    made = config(name_to_stage_assignment={"f": 0, "lost": 1})
    assert made.mesh_and_stage_assignment == {"f": ("m0", 0), "g": "m1"}


def test_mesh_names_by_keyword():
    tree = {
        "array": jax.device_put(X, NamedSharding(M1, P("x"))),
        "struct": jax.ShapeDtypeStruct((2,), "float32"),
        "sharding": NamedSharding(M0, P()),
        "mesh": M1,
        "abstract": M1.abstract_mesh,
        "on_abstract": NamedSharding(M1.abstract_mesh, P()),
        "none": None,
    }
    assert mw.mesh_names(pytree=tree, topology=TOPOLOGY) == {
        "array": "m1",
        "struct": None,
        "sharding": "m0",
        "mesh": "m1",
        "abstract": None,
        "on_abstract": None,
        "none": None,
    }


@pytest.mark.parametrize("leaf", [mesh(6), NamedSharding(mesh(6), P()), 3.0, "m0", X])
def test_mesh_names_refuses(leaf):
    with pytest.raises(ValueError):
        mw.mesh_names([leaf], TOPOLOGY)


SPLIT = {"mpmd_split_bwd_fragments": True}


@pytest.mark.parametrize(
    ("required", "user", "merged"),
    [
        (SPLIT, None, SPLIT),
        (SPLIT, {}, SPLIT),
        (None, SPLIT, SPLIT),
        ({}, SPLIT, SPLIT),
        (SPLIT, SPLIT, SPLIT),
        (
            SPLIT,
            {"mpmd_infer_transfers": True},
            {"mpmd_infer_transfers": True, **SPLIT},
        ),
        (mw.PipelineSchedule(required_mpmd_options=SPLIT), None, SPLIT),
    ],
)
def test_options_of_pipeline_and_user_are_merged(required, user, merged):
    merge = types.validate_and_merge_partitioning_options
    assert merge(required, user) == merged
    found = merge(pipeline_required_options=required, user_provided_options=user)
    assert found == merged


def test_options_that_are_added_are_logged(caplog):
    merge = types.validate_and_merge_partitioning_options
    merge({**SPLIT, "mpmd_fragment_remat": True}, {"mpmd_fragment_remat": True})
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "mpmd_split_bwd_fragments is set to True" in record.getMessage()
    caplog.clear()
    config(pipeline_schedule=mw.PipelineSchedule(required_mpmd_options=SPLIT))
    assert not [r for r in caplog.records if r.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("required", "user"),
    [
        (SPLIT, {"mpmd_split_bwd_fragments": False}),
        (
            {"mpmd_pipeline_schedule": "1F1B"},
            {"mpmd_pipeline_schedule": "GPipe"},
        ),
        (None, {"unknown": True}),
        ({"unknown": True}, None),
    ],
)
def test_options_in_conflict_are_refused(required, user):
    with pytest.raises(ValueError):
        types.validate_and_merge_partitioning_options(required, user)


# Annotations.


@pytest.mark.parametrize("name", ["main", "partir.x"])
def test_reserved_names_of_computations_are_refused(name):
    with pytest.raises(ValueError):
        mw.named_computation(jnp.sin, name=name)
    with pytest.raises(ValueError):
        mw.named_computation(name=name)


@pytest.mark.parametrize("static", ["n", ["n"], ("n",)])
def test_static_arguments_by_position_or_keyword(static):
    scale = mw.named_computation(
        lambda x, n: x * len(range(n)), name="f", static_argnames=static
    )
    np.testing.assert_array_equal(jax.jit(lambda x: scale(x, 3))(X), 3 * X)
    np.testing.assert_array_equal(jax.jit(lambda x: scale(x, n=3))(X), 3 * X)


@pytest.mark.parametrize(
    "annotated",
    [
        mw.named_computation(jnp.sin, name="f"),
        mw.named_computation(name="f")(jnp.sin),
        mw.call(jnp.sin),
        mw.call(jnp.sin, call_counter=0),
        lambda x: mw.named_tensor(jnp.sin(x), "t"),
        lambda x: mw.named_tensor(jnp.sin(x), name="t"),
        lambda x: mw.broadcast(jnp.sin(x)),
        lambda x: mw.reduce(jnp.sin(x)),
        lambda x: mw.fori_loop(1, lambda i, x: jnp.sin(x), x),
        lambda x: mw.enumerated_for(lambda c, i, x: jnp.sin(x), x, [x]),
    ],
)
def test_annotations_are_transparent(annotated):
    np.testing.assert_allclose(annotated(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(annotated)(X), np.sin(X), rtol=1e-6)


def test_named_computation_is_a_private_function_of_plain_jax():
    text = jax.jit(mw.named_computation(jnp.sin, name="enc")).lower(X).as_text()
    assert "@partir_named_computation_call_enc" in text


def test_negative_call_counter_is_refused():
    with pytest.raises(ValueError):
        mw.call(jnp.sin, call_counter=-1)


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: (x, x),
        lambda i, x: x[:1],
        lambda i, x: x.astype(jnp.int32),
    ],
)
def test_fori_loop_keeps_structure_and_types(body):
    with pytest.raises(ValueError):
        mw.fori_loop(2, body, jnp.asarray(X))


def test_fori_loop_can_be_neither_differentiated_nor_batched():
    def loop(x):
        return mw.fori_loop(2, lambda i, x: x * x, x).sum()

    with pytest.raises(NotImplementedError):
        jax.jit(jax.grad(loop))(X)
    with pytest.raises(NotImplementedError):
        jax.jit(jax.vmap(loop))(X)


def add(carry, index, element):
    return carry + sum(jax.tree.leaves(element))


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([1.0, 2.0], 3),
        ((1, 2), 3),
        ([True, False], 1),
        (range(3), 3),
        ([np.float32(1), np.float32(2)], 3),
        ([np.ones(()), np.ones(())], 2),
        ([jnp.ones(()), np.float32(1)], 2),
        ([1, 2.5, jnp.float32(1)], 4.5),
        ({"a": [1.0, 2.0], "b": {"c": (3.0, 4.0)}}, 10),
        ([[1.0, 2.0], [3.0, 4.0]], 10),
        (([1.0, 2.0], {"a": [jnp.ones(()), jnp.ones(())]}), 5),
        ([], 0),
    ],
)
def test_enumerated_for_over(inputs, expected, unroll):
    def run(carry):
        return mw.enumerated_for(add, carry, inputs, unroll=unroll)

    assert run(jnp.float32(0)) == expected
    assert jax.jit(run)(jnp.float32(0)) == expected


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(
    "inputs",
    [
        1.0,
        jnp.ones(2),
        "ab",
        {"a": jnp.ones(2)},
        ["a", "b"],
        [object(), object()],
        [None, 1.0],
        [1.0, [2.0]],
        {"a": [1.0], "b": [1.0, 2.0]},
    ],
)
def test_enumerated_for_refuses(inputs, unroll):
    with pytest.raises(ValueError):
        mw.enumerated_for(add, jnp.float32(0), inputs, unroll=unroll)


# Rules.

F, G = mw.FragmentOrigin("f"), mw.FragmentOrigin("g", 1)
A = mw.FragmentInfo([F], stage_id=0, call_counter=0, mesh_name="m0")
B = mw.FragmentInfo([G], stage_id=0, call_counter=1, mesh_name="m0")
ELSEWHERE = mw.FragmentInfo([F], mesh_name="m1")
INFERRED = mw.FragmentInfo([], mesh_name="m0")


def test_fragments_have_defaults():
    info = mw.FragmentInfo([F])
    assert F.transpose_count == 0
    assert (info.stage_id, info.call_counter, info.split_type) == (None, None, None)
    assert info.mesh_name == ""


@pytest.mark.parametrize(
    "infos", [[A], [], [A, ELSEWHERE], [A, INFERRED]], ids=lambda x: str(len(x))
)
def test_rules_are_refused(infos):
    with pytest.raises(ValueError):
        pipeline.FragmentScheduleRule(ordered_fragments=infos)
    with pytest.raises(ValueError):
        mw.FragmentMergeRule(sources=set(infos), target=A)


def test_target_of_a_merge_needs_an_origin():
    with pytest.raises(ValueError):
        mw.FragmentMergeRule(sources={A, B}, target=INFERRED)


def test_rules_from_predicates():
    context = pipeline.PipelineContext(num_meshes=2)
    rules = pipeline.build_schedule_rules_from_predicate(
        [B, ELSEWHERE, A], context, before_pred=lambda a, b, c: a == A
    )
    assert rules == [pipeline.FragmentScheduleRule([A, B])]
    merged = pipeline.build_merge_rules_from_predicate(
        [A, ELSEWHERE, B], context, None, pred=lambda a, b, c: True
    )
    target = mw.FragmentInfo([F, G], mesh_name="m0")
    assert merged == [mw.FragmentMergeRule({A, B}, target)]


REGISTRY = {
    "GPIPE": "GPipe",
    "ONE_FWD_ONE_BWD": "1F1B",
    "GPIPE_BUT_1F1B_FOR_LAST_MESH": "GPipeBut1F1BForLastMesh",
    "CIRCULAR": "Circular",
    "CIRCULAR_WITH_REVERSED_BACKWARD": "CircularWithReversedBackward",
    "ZERO_BUBBLE_H1": "ZeroBubbleH1",
    "ZERO_BUBBLE_H2_ZERO_TX_LATENCY": "ZeroBubbleH2ZeroTxLatency",
    "ZERO_BUBBLE_H2_HALF_TX_LATENCY": "ZeroBubbleH2HalfTxLatency",
    "ZERO_BUBBLE_H2_FULL_TX_LATENCY": "ZeroBubbleH2FullTxLatency",
    "PARALLEL_PIPELINES_WITH_WRAP_AROUND": "ParallelPipelinesWithWrapAround",
}


@pytest.mark.parametrize("name", REGISTRY)
def test_registry(name):
    schedule = pipeline_registry.get_pipeline_schedule(name)
    expected = {"mpmd_pipeline_schedule": REGISTRY[name]}
    if name.startswith("ZERO"):
        expected["mpmd_split_bwd_fragments"] = True
    assert schedule.required_mpmd_options == expected
    assert config(pipeline_schedule=schedule).partitioning_options == expected


def test_unknown_schedule_is_a_key_error():
    with pytest.raises(KeyError):
        pipeline_registry.get_pipeline_schedule("nothing")


def test_predicates_want_stages():
    context = pipeline.PipelineContext(num_meshes=2)
    lost = dataclasses.replace(A, stage_id=None)
    assert not schedule_impl.one_fwd_one_bwd(A, INFERRED, context)
    assert schedule_impl.gpipe(lost, B, context)
    with pytest.raises(ValueError):
        schedule_impl.one_fwd_one_bwd(lost, B, context)


# From a function to an executable.


@pytest.mark.parametrize("other", [mesh(0, 4), mesh(0, 2, "y")])
@pytest.mark.parametrize("side", ["in_shardings", "out_shardings"])
def test_shardings_on_other_meshes_are_refused(other, side):
    with pytest.raises(ValueError, match=side):
        mw.jit(f_then_g, config(), **{side: NamedSharding(other, P())})


def test_shardings_on_a_mesh_of_a_size_that_only_the_second_one_has_are_refused():
    unequal = mw.make_config({"m0": M0, "m1": mesh(2, 4)}, NAMES)
    with pytest.raises(ValueError, match="in_shardings"):
        mw.jit(f_then_g, unequal, in_shardings=NamedSharding(mesh(4, 4), P("x")))


def test_arguments_on_other_meshes_are_refused():
    there = jax.ShapeDtypeStruct(
        (4,), "float32", sharding=NamedSharding(mesh(0, 4), P())
    )
    with pytest.raises(ValueError, match="lowering_args"):
        mw.jit(f_then_g, config()).lower(there)


def test_wrapped_function_has_these_methods():
    wrapped = mw.jit(f_then_g, config())
    assert isinstance(wrapped, mw.MpmdWrapped)
    for name in ("trace", "lower", "__call__"):
        assert callable(getattr(wrapped, name))


def test_lowered_function_tells_about_itself():
    found = lowered()
    assert isinstance(found, jax.stages.Lowered)
    assert found.name == "parity"
    assert found.topology == TOPOLOGY
    assert found.kept_inputs_indices == {0}
    assert found.input_tree == jax.tree.structure(({"x": 0}, 0))
    assert found.output_tree == jax.tree.structure({"out": 0})
    assert [a.shape for a in found.global_flat_input_abstract_values] == [(4, 2)] * 2
    assert [a.shape for a in found.global_flat_output_abstract_values] == [(4, 2)]
    assert found.const_args == [] == found.const_shardings == found.host_callbacks
    assert found.args_info[0][0]["x"].donated and not found.args_info[0][1].donated


def test_shardings_and_meshes_of_inputs_and_outputs():
    found = lowered()
    shardings = found.function_named_shardings
    assert shardings.input_specs == (
        {"x": NamedSharding(M0, P("x"))},
        NamedSharding(M0, P()),
    )
    assert set(shardings.output_specs) == {"out"}
    assert shardings.output_specs["out"].mesh == M1
    meshes = found.function_mesh_assignment
    assert meshes.input_meshes == ({"x": "m0"}, "m0")
    assert meshes.output_meshes == {"out": "m1"}
    info = found.sharding_info
    assert info.topology == TOPOLOGY and info.name_to_mesh_map == NAMES
    assert info.named_shardings == shardings and info.io_mesh_assignment == meshes


def test_texts_and_modules():
    found = lowered()
    assert "mpmd.fragment_call" in found.as_text("mpmd")
    assert found.as_text("ifrt") == found.as_text() == found.as_text("mpmd")
    assert found.compiler_ir("ifrt") is found.compiler_ir()
    assert "mpmd.named_computation" in found.as_text(dialect="stablehlo")
    assert "loc(" in found.as_text("stablehlo", debug_info=True)
    assert "jit_parity" in str(found.compiler_ir("stablehlo"))
    for method in (found.as_text, found.compiler_ir):
        with pytest.raises(ValueError):
            method("unknown")
    assert str(found.mpmd_module) == str(found.partitioning_result.mpmd_module)


def test_named_shardings_from_specs():
    Spec = types.NamedSpmdShardingSpec
    specs = [
        Spec("m0", [["x"], []]),
        Spec("m1", []),
        Spec("m1", [[], ["x"]], memory_kind="device"),
        Spec("m1", [["x"]], memory_kind="pinned_host"),
    ]
    shardings = utils.meshes_and_sdy_specs_to_named_shardings(TOPOLOGY, specs)
    assert shardings == [
        NamedSharding(M0, P("x")),
        NamedSharding(M1, P()),
        NamedSharding(M1, P(None, "x")),
        NamedSharding(M1, P("x"), memory_kind="pinned_host"),
    ]
    assert utils.meshes_and_sdy_specs_to_named_shardings(specs, TOPOLOGY) == shardings
    (partial,) = utils.meshes_and_sdy_specs_to_named_shardings(
        TOPOLOGY, [Spec("m0", [[]], ("x",))]
    )
    assert partial.spec.unreduced == {"x"}
    with pytest.raises(ValueError):
        utils.meshes_and_sdy_specs_to_named_shardings(TOPOLOGY, [Spec("m7", [])])


def test_specs_of_inputs_and_outputs_as_the_partitioner_says_them():
    specs = lowered().partitioning_result.module_io_sharding_specs_and_meshes
    to_shardings = utils.meshes_and_sdy_specs_to_named_shardings
    (found,) = to_shardings(TOPOLOGY, specs.input_specs)
    assert found == NamedSharding(M0, P("x"))
    (found,) = to_shardings(TOPOLOGY, specs.output_specs)
    assert found == lowered().function_named_shardings.output_specs["out"]


@pytest.mark.parametrize(
    "options", [{"m7": {}}, {"m0": {}, "xla_cpu_enable_fast_math": False}]
)
def test_compiler_options_are_refused(options):
    with pytest.raises(ValueError):
        lowered().compile(options)


def test_too_few_devices_are_refused():
    with pytest.raises(ValueError):
        lowered().compile(device_assignment=jax.devices()[:3])


def test_other_devices_of_the_same_number():
    moved = lowered().compile(device_assignment=jax.devices()[4:8])
    assert moved.output_shardings["out"].device_set == set(jax.devices()[6:8])


def test_compiled_program_runs_and_tells_about_itself():
    program = compiled()
    out = program(*inputs())
    np.testing.assert_allclose(out["out"], 2 * np.sin(X), rtol=1e-6)
    assert isinstance(program, jax.stages.Compiled)
    assert isinstance(program.mpmd_executable, mw.Executable)
    assert program.peak_memory_bytes > 0
    assert program.ifrt_ir_program_memory_stats is not None
    executable = program.mpmd_executable
    assert len(executable.input_shardings()) == len(executable.input_formats()) == 2
    assert len(executable.output_shardings()) == len(executable.output_formats()) == 1
    assert executable.input_shardings_tree == program.input_shardings[0]
    assert executable.cost_analysis() and executable.memory_analysis()
    assert executable.as_text() and executable.runtime_executable()
    assert [aval.shape for aval in executable.out_avals] == [(4, 2)]


def test_donated_arguments_are_gone():
    (tree, unused) = inputs()
    compiled()(tree, unused)
    assert tree["x"].is_deleted() and not unused.is_deleted()


def test_arguments_of_a_compiled_program_are_checked():
    program, (tree, unused) = compiled(), inputs()
    with pytest.raises(ValueError):
        program({"x": X}, unused)
    with pytest.raises(ValueError):
        program(jax.device_put(tree, NamedSharding(M1, P("x"))), unused)
    with pytest.raises(TypeError):
        program(tree)
    program(tree, unused)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: mw.named_computation(jnp.sin, name="lost")(x),
        lambda x: mw.named_computation(
            lambda x: mw.named_computation(jnp.sin, name="g")(x), name="f"
        )(x),
        lambda x: (
            mw.named_computation(jnp.sin, name="f")(x)
            + mw.named_computation(jnp.sin, name="g")(x)
        ),
    ],
    ids=["no mesh", "nested on another mesh", "operands on two meshes"],
)
def test_programs_that_cannot_be_partitioned(function):
    with pytest.raises(RuntimeError):
        mw.jit(function, config()).lower(X)
