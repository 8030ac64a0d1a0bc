"""What `jit(...).lower` gives: trees, shardings, meshes, texts, errors."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from meshwright.compiler import native
from support.frontend_ir import microbatched_gradients, mlp_step

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

F32 = "float32"


def mesh(start, size=2, axes="x"):
    return Mesh(jax.devices()[start : start + size], axes)


TOPOLOGY = {"m0": mesh(0), "m1": mesh(2)}
M0, M1 = TOPOLOGY.values()
ASSIGNMENT = {"enc": "m0", "dec": "m1"}


def config(**options):
    return mw.make_config(TOPOLOGY, ASSIGNMENT, **options)


def struct(*shape, sharding=None):
    return jax.ShapeDtypeStruct(shape, F32, sharding=sharding)


def encode_decode(x):
    h = mw.named_computation(lambda a: a * 2, name="enc")(x)
    return mw.named_computation(lambda a: a + 1, name="dec")(h)


def main_line(text):
    return next(line for line in text.splitlines() if "@main(" in line)


# texts


def test_default_text_is_the_partitioned_program():
    lowered = mw.jit(encode_decode, config()).lower(struct(4))
    text = lowered.as_text()
    assert text == lowered.as_text("mpmd")
    assert 'mpmd.fragment_call<mesh="m0", origin=["enc"]>' in text
    assert 'mpmd.fragment_call<mesh="m1", origin=["dec"]>' in text
    assert "mpmd.transfer" in text
    assert "loc(" not in text
    assert "loc(" in lowered.as_text(debug_info=True)
    assert "fragment_call" in str(lowered.compiler_ir())
    assert "fragment_call" in str(lowered.mpmd_module)
    assert "fragment_call" in str(lowered.partitioning_result.mpmd_module)


def test_stablehlo_text_is_what_the_partitioner_was_given():
    lowered = mw.jit(encode_decode, config()).lower(struct(4))
    assert 'mpmd.named_computation<"enc">' in lowered.as_text("stablehlo")
    assert 'mpmd.named_computation<"enc">' in str(lowered.compiler_ir("stablehlo"))


@pytest.mark.parametrize("dialect", ["hlo", ""])
def test_other_dialects_are_a_value_error(dialect):
    lowered = mw.jit(encode_decode, config()).lower(struct(4))
    for method in (lowered.as_text, lowered.compiler_ir):
        with pytest.raises(ValueError, match="'mpmd', 'stablehlo'"):
            method(dialect)


def test_locations_reach_the_partitioned_program():
    lowered = mw.jit(encode_decode, config()).lower(struct(4))
    assert "test_frontend_lowering.py" in lowered.as_text(debug_info=True)


# names


def test_module_is_called_after_the_function():
    lowered = mw.jit(encode_decode, config()).lower(struct(4))
    assert lowered.name == "encode_decode"
    assert "module @jit_encode_decode" in lowered.as_text()


def test_name_can_be_overridden():
    wrapped = mw.jit(encode_decode, config(), override_func_name="other")
    lowered = wrapped.lower(struct(4))
    assert lowered.name == "other"
    assert "module @jit_other" in lowered.as_text("stablehlo")


def test_partial_has_the_inner_name_and_others_are_called_fn():
    import functools

    class Callable:
        def __call__(self, x):
            return encode_decode(x)

    for function, name in (
        (functools.partial(functools.partial(encode_decode)), "encode_decode"),
        (Callable(), "fn"),
    ):
        assert mw.jit(function, config()).lower(struct(4)).name == name


# trees, shardings, meshes


def test_shardings_and_meshes_come_in_the_users_trees():
    def f(tree, y):
        return {"out": (encode_decode(tree["a"]), encode_decode(y))}

    sharded = struct(4, 2, sharding=NamedSharding(M0, P("x")))
    lowered = mw.jit(f, config()).lower({"a": sharded}, struct(4))
    shardings = lowered.function_named_shardings
    assert shardings.input_specs == (
        {"a": NamedSharding(M0, P("x"))},
        NamedSharding(M0, P()),
    )
    assert shardings.output_specs["out"][0].mesh == M1
    meshes = lowered.function_mesh_assignment
    assert meshes.input_meshes == ({"a": "m0"}, "m0")
    assert meshes.output_meshes == {"out": ("m1", "m1")}
    info = lowered.sharding_info
    assert info.named_shardings is shardings and info.io_mesh_assignment is meshes
    assert info.topology == TOPOLOGY and info.name_to_mesh_map == ASSIGNMENT


def test_lowered_is_a_stage_of_jax():
    wrapped = mw.jit(encode_decode, config(), donate_argnums=0)
    traced = wrapped.trace(struct(4))
    lowered = traced.lower()
    assert isinstance(wrapped, jax.stages.Wrapped)
    assert isinstance(traced, jax.stages.Traced)
    assert isinstance(lowered, jax.stages.Lowered)
    assert traced.fun_name == "encode_decode"
    assert lowered.topology is TOPOLOGY
    assert lowered.donate_argnums == (0,)
    ((info,), kwargs) = lowered.args_info
    assert info.shape == (4,) and info.donated and kwargs == {}
    assert lowered.input_tree == jax.tree.structure((0,))
    assert lowered.output_tree == jax.tree.structure(0)
    assert lowered.in_tree == jax.tree.structure(((0,), {}))
    assert lowered.in_avals[0][0].shape == (4,)
    assert lowered.out_info.shape == (4,) and lowered.out_info.sharding.mesh == M1
    assert [a.shape for a in lowered.global_flat_input_abstract_values] == [(4,)]
    assert [a.shape for a in lowered.global_flat_output_abstract_values] == [(4,)]
    assert lowered.const_args == lowered.const_shardings == []
    assert lowered.host_callbacks == []


def test_cost_analysis_counts_per_mesh():
    def f(w, x):
        h = mw.named_computation(lambda a: a @ w, name="enc")(x)
        return mw.named_computation(lambda a: a @ w, name="dec")(h)

    costs = mw.jit(f, config()).lower(struct(8, 8), struct(8, 8)).cost_analysis()
    assert costs["m0"]["flops"] == costs["m1"]["flops"] == 2 * 8**3
    assert costs["m0"]["fragments"] == costs["m1"]["fragments"] == 1
    assert costs["m1"]["bytes_transferred"] == 2 * 4 * 8 * 8


# shardings given to jit


def test_shardings_on_another_mesh_of_equal_axes_are_moved():
    there, spec = NamedSharding(M1, P("x")), P("x")
    wrapped = mw.jit(
        encode_decode, config(), in_shardings=(there,), out_shardings=there
    )
    shardings = wrapped.lower(struct(4)).function_named_shardings
    assert shardings.input_specs == (NamedSharding(M0, spec),)
    assert shardings.output_specs == NamedSharding(M1, spec)


def test_shardings_on_the_configs_abstract_mesh_work():
    abstract = NamedSharding(config().sharding_mesh, P("x"))
    wrapped = mw.jit(encode_decode, config(), in_shardings=(abstract,))
    shardings = wrapped.lower(struct(4)).function_named_shardings
    assert shardings.input_specs == (NamedSharding(M0, P("x")),)


@pytest.mark.parametrize("argument", ["in_shardings", "out_shardings"])
@pytest.mark.parametrize("other", [mesh(0, 4), mesh(0, 2, "y")])
def test_shardings_with_other_axes_are_rejected(argument, other):
    with pytest.raises(ValueError, match=argument):
        mw.jit(encode_decode, config(), **{argument: NamedSharding(other, P())})


def test_argument_shardings_are_moved_or_dropped():
    wrapped = mw.jit(encode_decode, config())
    moved = wrapped.lower(struct(4, sharding=NamedSharding(M1, P("x"))))
    assert moved.function_named_shardings.input_specs == (NamedSharding(M0, P("x")),)
    alone = struct(4, sharding=SingleDeviceSharding(jax.devices()[5]))
    wrapped.lower(alone)
    wrapped.lower(np.ones(4, F32))
    wrapped.lower(1.0)


def test_argument_shardings_with_other_axes_are_rejected():
    sharded = struct(4, sharding=NamedSharding(mesh(0, 4), P("x")))
    with pytest.raises(ValueError, match="lowering_args"):
        mw.jit(encode_decode, config()).lower(sharded)


def test_sharding_constraints_on_the_abstract_mesh_are_kept():
    cfg = config()

    def f(x):
        def inner(a):
            sharding = NamedSharding(cfg.sharding_mesh, P("x"))
            return jax.lax.with_sharding_constraint(a * 2, sharding)

        return mw.named_computation(inner, name="dec")(x)

    lowered = mw.jit(f, cfg).lower(struct(4))
    assert lowered.function_named_shardings.output_specs == NamedSharding(M1, P("x"))


# assignments of inputs and outputs


def add_one(x, y):
    return x + 1, y + 1


def test_assignments_are_prefixes_of_the_trees():
    cfg = config(
        input_mesh_assignment=("m1", None), output_mesh_assignment=("m1", "m0")
    )

    def f(x, y):
        return [encode_decode(x["a"]), x["b"]], y

    lowered = mw.jit(f, cfg).lower({"a": struct(4), "b": struct(4)}, struct(4))
    meshes = lowered.function_mesh_assignment
    assert meshes.input_meshes == ({"a": "m1", "b": "m1"}, "m0")
    assert meshes.output_meshes == (["m1", "m1"], "m0")


def test_nothing_in_a_tree_takes_no_mesh():
    def step(batch):
        x, mask = batch["x"], batch["mask"]
        return {"aux": mask, "y": encode_decode(x), "more": [None, x]}

    cfg = config(
        input_mesh_assignment="m0",
        output_mesh_assignment={"aux": None, "y": "m1", "more": [None, "m0"]},
    )
    lowered = mw.jit(step, cfg).lower({"x": struct(4), "mask": None})
    assert lowered.function_mesh_assignment.input_meshes == ({"x": "m0", "mask": None},)
    assert lowered.function_mesh_assignment.output_meshes == {
        "aux": None,
        "y": "m1",
        "more": [None, "m0"],
    }


def test_one_mesh_for_everything_and_memory_kinds():
    cfg = config(input_mesh_assignment="m1#device", output_mesh_assignment="m1")
    lowered = mw.jit(add_one, cfg).lower(struct(4), struct(4))
    assert lowered.function_mesh_assignment.input_meshes == ("m1", "m1")
    assert lowered.function_mesh_assignment.output_meshes == ("m1", "m1")


@pytest.mark.parametrize("side", ["input_mesh_assignment", "output_mesh_assignment"])
def test_assignment_of_another_structure_is_rejected(side):
    cfg = config(**{side: ("m0", "m0", "m0")})
    with pytest.raises(ValueError, match=side):
        mw.jit(add_one, cfg).lower(struct(4), struct(4))


def test_meshes_can_be_read_from_shardings():
    cfg = config(read_input_output_mesh_from_shardings=True)
    abstract = NamedSharding(cfg.sharding_mesh, P())
    wrapped = mw.jit(
        lambda x, y: (x + 1, encode_decode(y)),
        cfg,
        in_shardings=(NamedSharding(M1, P("x")), abstract),
        out_shardings=(NamedSharding(M1, P()), abstract),
    )
    lowered = wrapped.lower(struct(4), struct(4))
    assert lowered.function_mesh_assignment.input_meshes == ("m1", "m0")
    assert lowered.function_mesh_assignment.output_meshes == ("m1", "m1")
    assert lowered.function_named_shardings.input_specs[0] == NamedSharding(M1, P("x"))


# unused inputs


def use_second(x, y, z):
    return encode_decode(y)


def test_unused_inputs_are_removed_but_keep_their_entries():
    cfg = config(input_mesh_assignment=("m1#pinned_host", None, None))
    lowered = mw.jit(use_second, cfg).lower(struct(4), struct(4), struct(2, 2))
    assert lowered.kept_inputs_indices == {1}
    assert main_line(lowered.as_text()).count("%arg") == 1
    assert lowered.function_mesh_assignment.input_meshes == ("m1", "m0", "m0")
    assert lowered.function_named_shardings.input_specs == (
        NamedSharding(M1, P()),
        NamedSharding(M0, P()),
        NamedSharding(M0, P()),
    )


def test_unused_inputs_can_be_kept():
    lowered = mw.jit(use_second, config(), keep_unused=True).lower(
        struct(4), struct(4), struct(2, 2)
    )
    assert lowered.kept_inputs_indices == {0, 1, 2}
    assert main_line(lowered.as_text()).count("%arg") == 3


def test_meshes_and_donations_are_renumbered_to_the_kept_inputs():
    def f(unused, x, y):
        return x + 1, encode_decode(y)

    cfg = config(input_mesh_assignment=(None, "m1", "m0"))
    lowered = mw.jit(f, cfg, donate_argnums=(0, 1)).lower(
        struct(3), struct(4), struct(4)
    )
    line = main_line(lowered.as_text())
    first, second = re.findall(r"%arg\d: [^%]*", line[: line.index("->")])
    assert '"m1"' in first and ("aliasing_output" in first or "buffer_donor" in first)
    assert '"m0"' in second and "donor" not in second and "alias" not in second


# schedules


def order_on(lowered, mesh_name):
    """Origins of the fragments of a mesh in the order they run."""
    return [
        "+".join(item["origins"])
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call" and item["mesh"] == mesh_name
    ]


def training_config(**options):
    return config(name_to_stage_assignment={"enc": 0, "dec": 1}, **options)


def lower_training(cfg, num_microbatches=3):
    step = microbatched_gradients(mlp_step, num_microbatches)
    return mw.jit(step, cfg).lower(struct(4, 4), [struct(4, 4)] * num_microbatches)


def kinds(lowered, mesh_name):
    return "".join("B" if "(1)" in o else "F" for o in order_on(lowered, mesh_name))


def test_schedule_of_the_registry_orders_the_fragments():
    from meshwright.pipeline_registry import get_pipeline_schedule

    gpipe = lower_training(
        training_config(pipeline_schedule=get_pipeline_schedule("GPIPE"))
    )
    assert kinds(gpipe, "m1") == "FFFBBB"
    one_f_one_b = lower_training(
        training_config(pipeline_schedule=get_pipeline_schedule("ONE_FWD_ONE_BWD"))
    )
    assert kinds(one_f_one_b, "m1") == "FBFBFB"
    assert kinds(one_f_one_b, "m0") == "FFBFBB"


def test_builders_see_the_fragments_of_each_mesh():
    seen = {}

    def build(infos, context):
        seen[infos[0].mesh_name] = (infos, context.num_meshes)
        return [], []

    schedule = mw.PipelineSchedule(schedule_merge_rule_builders=[build])
    lower_training(training_config(pipeline_schedule=schedule), 2)
    assert list(seen) == ["m0", "m1"]
    infos, num_meshes = seen["m0"]
    assert num_meshes == 2
    named = [
        (i.origins[0].computation_name, i.origins[0].transpose_count, i.call_counter)
        for i in infos
        if i.origins
    ]
    assert sorted(named) == [
        ("enc", 0, 0),
        ("enc", 0, 1),
        ("enc", 1, 0),
        ("enc", 1, 1),
    ]
    assert {i.stage_id for i in infos if i.origins} == {0}


def by_predicate(infos, context):
    def before(a, b, _):
        counters = a.call_counter, b.call_counter
        return None not in counters and (
            (a.origins[0].transpose_count, -a.call_counter)
            < (b.origins[0].transpose_count, -b.call_counter)
        )

    infos = [i for i in infos if i.origins]
    return mw.pipeline.build_schedule_rules_from_predicate(
        infos, context, before_pred=before
    ), []


def by_key(infos, context):
    def last_first(info, _):
        if info.call_counter is None:
            return None
        return info.origins[0].transpose_count, -info.call_counter

    return mw.pipeline.build_schedule_rules_from_key(infos, context, key=last_first), []


@pytest.mark.parametrize("build", [by_predicate, by_key])
def test_own_schedule_rules_take_effect(build):
    schedule = mw.PipelineSchedule(schedule_merge_rule_builders=[build])
    lowered = lower_training(training_config(pipeline_schedule=schedule))
    # The microbatches are %arg1 to %arg3; the rules turn them around.
    reads = re.findall(r'origin=\["enc"\]> @\S+\(%arg0, %arg(\d)\)', lowered.as_text())
    assert reads == ["3", "2", "1"]


def merge_passes_on_m1(infos, context):
    """Forward and backward of each microbatch become one fragment."""

    def pair(a, b, _):
        counts = {o.transpose_count for info in (a, b) for o in info.origins}
        return a.call_counter == b.call_counter and counts == {0, 1}

    merges = mw.pipeline.build_merge_rules_from_predicate(infos, context, pred=pair)
    return [], merges if infos[0].mesh_name == "m1" else []


def test_own_merge_rules_take_effect():
    schedule = mw.PipelineSchedule(schedule_merge_rule_builders=[merge_passes_on_m1])
    cfg = training_config(
        pipeline_schedule=schedule,
        partitioning_options={
            "mpmd_pipeline_schedule": "1F1B",
            "mpmd_verify_each": True,
        },
    )
    lowered = lower_training(cfg, 2)
    both = {"dec", "dec(1)"}
    assert [set(o.split("+")) for o in order_on(lowered, "m1")] == [both, both]


def test_merge_rules_work_beside_a_required_builtin_schedule():
    schedule = mw.PipelineSchedule(
        schedule_merge_rule_builders=[merge_passes_on_m1],
        required_mpmd_options={"mpmd_pipeline_schedule": "1F1B"},
    )
    lowered = lower_training(training_config(pipeline_schedule=schedule), 2)
    both = {"dec", "dec(1)"}
    assert [set(o.split("+")) for o in order_on(lowered, "m1")] == [both, both]


def merging_nothing(infos, context):
    return [], []


@pytest.mark.parametrize(
    "schedule",
    [
        None,
        mw.get_pipeline_schedule("1F1B"),
        mw.PipelineSchedule([by_key]),
        mw.PipelineSchedule([merging_nothing], {"mpmd_pipeline_schedule": "1F1B"}),
    ],
    ids=["none", "builtin", "own order", "own merges"],
)
def test_the_compiler_is_asked_once(monkeypatch, schedule):
    steps = []

    class Session(native.Session):
        def import_program(self, *args, **options):
            steps.append("import")
            return super().import_program(*args, **options)

        def finish(self, *rules):
            steps.append("finish")
            return super().finish(*rules)

    monkeypatch.setattr(native, "Session", Session)
    lower_training(training_config(pipeline_schedule=schedule), 2)
    assert steps == ["import", "finish"]


def test_registry_schedule_without_stages_is_a_value_error():
    from meshwright.pipeline_registry import get_pipeline_schedule

    cfg = config(pipeline_schedule=get_pipeline_schedule("ONE_FWD_ONE_BWD"))
    with pytest.raises(ValueError, match="has no stage"):
        lower_training(cfg)


# errors of the partitioner


def test_names_that_do_not_occur_may_be_assigned():
    cfg = mw.make_config(TOPOLOGY, {**ASSIGNMENT, "other": "m1", 'q"\\': "m0"})
    mw.jit(encode_decode, cfg).lower(struct(4))

    def f(x):
        return mw.named_computation(lambda a: a * 2, name='q"\\')(x)

    assert mw.jit(f, cfg).lower(struct(4)).function_mesh_assignment.output_meshes


@pytest.mark.parametrize("name", ["größe", "日本"])
def test_names_need_not_be_ascii(name):
    double = mw.named_computation(lambda x: 2 * x, name=name)
    lowered = mw.jit(double, mw.make_config(TOPOLOGY, {name: "m1"})).lower(struct(4))
    assert 'mesh="m1"' in lowered.as_text()


def test_computation_without_mesh_is_named_with_its_place():
    def f(x):
        return mw.named_computation(lambda a: a * 2, name="lost")(x)

    with pytest.raises(RuntimeError, match="lost") as error:
        mw.jit(f, config()).lower(struct(4))
    assert "test_frontend_lowering.py" in str(error.value)


def test_nested_computation_on_another_mesh_names_both():
    def f(x):
        def outer(a):
            return mw.named_computation(lambda b: b * 2, name="dec")(a) + 1

        return mw.named_computation(outer, name="enc")(x)

    with pytest.raises(RuntimeError, match="(?s)dec.*enc"):
        mw.jit(f, config()).lower(struct(4))


def test_operands_on_two_meshes_are_an_error_of_the_operation():
    def f(x):
        a = mw.named_computation(lambda v: v * 2, name="enc")(x)
        return a + mw.named_computation(lambda v: v * 3, name="dec")(x)

    with pytest.raises(RuntimeError, match="operands are on conflicting meshes"):
        mw.jit(f, config()).lower(struct(4))


def test_argument_of_a_call_that_fits_no_mesh_names_the_users_function():
    def encode(x):
        return mw.named_computation(lambda v: v * 2, name="enc")(x)

    def f(x):
        decoded = mw.named_computation(lambda v: v * 2, name="dec")(x)
        return [
            mw.call(encode, call_counter=i)(value)
            for i, value in enumerate([decoded, x])
        ]

    with pytest.raises(RuntimeError, match='arg0 of mpmd.call "encode"'):
        mw.jit(f, config()).lower(struct(4))


def test_process_stays_usable_after_an_error():
    def f(x):
        return mw.named_computation(lambda a: a * 2, name="lost")(x)

    for _ in range(3):
        with pytest.raises(RuntimeError):
            mw.jit(f, config()).lower(struct(4))
        mw.jit(encode_decode, config()).lower(struct(4))
        jax.jit(encode_decode)(jnp.ones(4))


def test_jit_inside_a_transformation_is_a_type_error():
    wrapped = mw.jit(encode_decode, config())
    with pytest.raises(TypeError, match="inside a JAX transformation"):
        jax.jit(wrapped)(jnp.ones(4))


def test_shardy_is_required():
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        with pytest.raises(AssertionError, match="Shardy"):
            mw.jit(encode_decode, config()).lower(struct(4))
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)


def test_an_argument_on_a_mesh_of_other_axes_is_named():
    there = struct(4, sharding=NamedSharding(mesh(0, 4), P("x")))
    jitted = mw.jit(lambda state, x: encode_decode(state["w"][0] + x), config())
    message = r"x=4, .* x=2; .*; args\[0\]\['w'\]\[0\] has it: .* compiled\.place\("
    with pytest.raises(ValueError, match=message):
        jitted.lower({"w": [there]}, struct(4))


@pytest.mark.parametrize("name", ["int1", "uint1"])
def test_integers_of_one_bit_are_refused(name):
    if not hasattr(jnp, name):
        pytest.skip("this JAX has none")
    one = jax.ShapeDtypeStruct((8, 4), getattr(jnp, name))
    with pytest.raises(NotImplementedError, match=rf"argument is {name}\[8,4\].*int2"):
        mw.jit(lambda x: x, config()).lower(one)
    with pytest.raises(NotImplementedError, match=rf"result is {name}\[4\].*int2"):
        mw.jit(lambda x: x.astype(getattr(jnp, name)), config()).lower(struct(4))
