"""Programs from `mw.jit` run, and give the numbers of `jax.jit`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.pipeline_registry import (
    get_pipeline_schedule,
    pipeline_schedule_names,
)
from meshwright.types import PIPELINE_SCHEDULE_NAMES

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")


def mesh(start, size, axes=("x",)):
    shape = (size,) if len(axes) == 1 else (size // 2, 2)
    devices = np.array(jax.devices()[start : start + size]).reshape(shape)
    return Mesh(devices, axes)


def meshes(count, size):
    return {f"m{i}": mesh(i * size, size) for i in range(count)}


PAIR = meshes(2, 2)
M0, M1 = PAIR.values()


def encode_decode(w, x):
    h = mw.named_computation(lambda a: jnp.tanh(a @ w), name="enc")(x)
    return mw.named_computation(lambda a: a * 2 + 1, name="dec")(h)


def pair_config(**options):
    return mw.make_config(PAIR, {"enc": "m0", "dec": "m1"}, **options)


def check(actual, expected, rtol=1e-5):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(
            np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-6
        ),
        actual,
        expected,
    )


def run(function, config, *args, **options):
    """Lowers for the types of the arguments, places them, runs."""
    compiled = mw.jit(function, config, **options).lower(*args).compile()
    return compiled(*jax.tree.map(jax.device_put, args, compiled.input_shardings[0]))


W = jnp.linspace(-1, 1, 16, dtype=jnp.float32).reshape(4, 4)
X = jnp.linspace(0, 2, 32, dtype=jnp.float32).reshape(8, 4)


# training


def training(num_stages, num_microbatches, rate=0.1):
    """A step of gradient descent on an MLP with a layer per stage."""

    def step(params, x, y):
        for i, layer in enumerate(params):
            x = mw.named_computation(
                lambda p, a: jnp.tanh(a @ p["w"] + p["b"]), name=f"stage{i}"
            )(layer, x)
        return mw.named_computation(lambda a, b: ((a - b) ** 2).mean(), name="loss")(
            x, y
        )

    def train(params, batch):
        total = None
        for i in range(num_microbatches):
            grad = mw.call(jax.value_and_grad(step), call_counter=i)
            part = grad(params, *jax.tree.map(lambda a, i=i: a[i], batch))
            total = part if total is None else jax.tree.map(jnp.add, total, part)
        loss, grads = jax.tree.map(lambda a: a / num_microbatches, total)
        return loss, jax.tree.map(lambda p, g: p - rate * g, params, grads)

    return train


@functools.cache
def training_inputs(num_stages, num_microbatches, width=8):
    keys = jax.random.split(jax.random.PRNGKey(0), num_stages + 1)
    params = [
        {"w": jax.random.normal(k, (width, width)) / 3, "b": jnp.zeros(width)}
        for k in keys[1:]
    ]
    x = jax.random.normal(keys[0], (num_microbatches, 16, width))
    return params, (x, jnp.sin(3 * x))


def training_config(topology, schedule=None, **options):
    names = list(topology)
    stages = {f"stage{i}": i for i in range(len(names))}
    stages["loss"] = len(names) - 1
    return mw.make_config(
        topology,
        {name: names[stage] for name, stage in stages.items()},
        name_to_stage_assignment=stages,
        pipeline_schedule=schedule and get_pipeline_schedule(schedule),
        **options,
    )


# Those for one stage on each mesh, forward and backward, of any model.
SCHEDULES = [
    name
    for name in pipeline_schedule_names()
    if not name.startswith(
        (
            "PARALLEL",
            "INTERLEAVED_1F1B",
            "COMBINED_INTERLEAVED",
            "KIMI_K2",
            "SLIM_PIPE",
            "DUAL",
            "ZERO_BUBBLE_V",
            "V_",
            "VOCAB_PARALLEL",
        )
    )
]


@functools.cache
def jitted_training(num_stages, num_microbatches):
    return jax.jit(training(num_stages, num_microbatches))


@functools.cache
def trained_by_jax(num_stages, num_microbatches, steps):
    """The losses of plain `jax.jit`, and its parameters at the end."""
    train = jitted_training(num_stages, num_microbatches)
    params, batch = training_inputs(num_stages, num_microbatches)
    losses = []
    for _ in range(steps):
        loss, params = train(params, batch)
        losses.append(loss)
    return losses, params


def train_both(config, num_stages, num_microbatches, sharding=None, steps=5):
    """Trains with meshwright, donating parameters, beside plain `jax.jit`."""
    train = training(num_stages, num_microbatches)
    params, batch = training_inputs(num_stages, num_microbatches)
    types = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), batch
    )
    lowered = mw.jit(train, config, donate_argnums=0).lower(params, types)
    compiled = lowered.compile()
    placed = jax.tree.map(
        lambda a, s: jax.device_put(np.asarray(a), s),
        (params, batch),
        compiled.input_shardings[0],
    )
    losses, plain = trained_by_jax(num_stages, num_microbatches, steps)
    ours = placed[0]
    for expected in losses:
        previous = ours
        loss, ours = compiled(ours, placed[1])
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(previous))
    check(ours, plain, rtol=1e-4)
    return lowered, compiled


@pytest.mark.parametrize("schedule", [None, *SCHEDULES])
def test_four_meshes_train_like_jax(schedule):
    train_both(training_config(meshes(4, 1), schedule), 4, 6)


@pytest.mark.parametrize("schedule", ["ONE_FWD_ONE_BWD", "ZERO_BUBBLE_H1"])
def test_sharded_meshes_train_like_jax(schedule):
    topology = meshes(4, 2)
    sharding = NamedSharding(topology["m0"], P(None, "x"))
    lowered, _ = train_both(training_config(topology, schedule), 4, 4, sharding)
    specs = lowered.function_named_shardings.input_specs
    assert specs[1][0].spec == P(None, "x")


def test_1f1b_order_is_the_order_of_the_program():
    cfg = training_config(meshes(4, 1), "ONE_FWD_ONE_BWD")
    lowered, _ = train_both(cfg, 4, 6, steps=1)
    for stage in range(4):
        kinds = [
            "B" if any("(1)" in origin for origin in item["origins"]) else "F"
            for item in lowered.partitioning_result.program["items"]
            if item["kind"] == "call"
            and item["mesh"] == f"m{stage}"
            and item["origins"]
        ]
        assert "".join(kinds[: 2 * 6]).startswith("F" * (4 - stage) + "BF"[: 4 - stage])


@pytest.mark.parametrize(
    "options",
    [
        {"mpmd_fragment_remat": True},
        {"mpmd_fragment_remat": True, "mpmd_merge_remat_fragments": True},
        {"mpmd_split_bwd_fragments": True},
        {"mpmd_merge_inferred_after_scheduling": True},
        {"mpmd_absorb_inferred_fragments_on_entry_point_function": True},
        {"mpmd_copy_constant_creation_from_producer_to_consumer": True},
        {"mpmd_apply_merge_transfers_pass": True},
        {"mpmd_assume_homogeneous_devices": True},
    ],
    ids=lambda options: "+".join(options),
)
def test_options_do_not_change_the_numbers(options):
    options = {"mpmd_pipeline_schedule": "1F1B", **options}
    cfg = training_config(meshes(2, 1), partitioning_options=options)
    train_both(cfg, 2, 3, steps=3)


@pytest.mark.parametrize(
    "schedule",
    [
        name
        for name in PIPELINE_SCHEDULE_NAMES
        if not name.startswith(
            (
                "Interleaved1F1B",
                "CombinedInterleaved1F1B",
                "KimiK2",
                "SlimPipe",
                "ZeroBubbleV",
                "V",
                "DualPipe",
            )
        )
    ],
)
def test_every_schedule_option_runs_forward_pipelines(schedule):
    def f(w, xs):
        return [mw.call(encode_decode, call_counter=i)(w, x) for i, x in enumerate(xs)]

    cfg = pair_config(
        name_to_stage_assignment={"enc": 0, "dec": 1},
        partitioning_options={"mpmd_pipeline_schedule": schedule},
    )
    check(run(f, cfg, W, [X, X + 1]), f(W, [X, X + 1]))


def test_gradient_of_a_loop_over_calls_trains_like_jax():
    def step(w, x):
        return (encode_decode(w, x) ** 2).mean()

    def loss(w, xs):
        return sum(mw.call(step, call_counter=i)(w, x) for i, x in enumerate(xs))

    f = jax.value_and_grad(loss)
    cfg = pair_config(partitioning_options={"mpmd_infer_transfers": True})
    xs = [X, X + 1, X + 2]
    check(run(f, cfg, W, xs), jax.jit(f)(W, xs))


# forms of programs


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        lambda f: jax.grad(lambda w, x: f(w, x).sum()),
        lambda f: jax.grad(lambda w, x: jax.checkpoint(f)(w, x).sum()),
        lambda f: lambda w, x: jax.vmap(f, (None, 0))(w, x),
        lambda f: lambda w, x: jax.jvp(f, (w, x), (w, x)),
        lambda f: jax.hessian(lambda w, x: f(w, x).sum()),
    ],
    ids=["plain", "grad", "checkpoint", "vmap", "jvp", "hessian"],
)
def test_transformed_functions_run(transform):
    f = transform(encode_decode)
    cfg = pair_config(partitioning_options={"mpmd_infer_transfers": True})
    check(run(f, cfg, W, X), jax.jit(f)(W, X))


def test_fori_loop_runs():
    def f(w, x):
        return mw.fori_loop(3, lambda i, v: encode_back(w, v) + i.astype(v.dtype), x)

    def encode_back(w, v):
        h = mw.named_computation(lambda a: jnp.tanh(a @ w), name="enc")(v)
        return mw.named_tensor(h, name="back")

    cfg = mw.make_config(PAIR, {"enc": "m0", "back": "m0"})
    check(run(f, cfg, W, X), f(W, X))


@pytest.mark.parametrize("unroll", [False, True])
def test_enumerated_for_runs(unroll):
    def f(w, xs):
        def body(total, i, x):
            return total + encode_decode(w, x).sum() * (1 + i.astype(jnp.float32))

        return mw.enumerated_for(body, jnp.float32(0), xs, unroll=unroll)

    xs = [X, X + 1, X + 2]
    check(run(f, pair_config(), W, xs), f(W, xs))


def test_broadcast_and_reduce_cross_meshes():
    def f(w, x):
        w = mw.broadcast(w)
        a = mw.named_computation(lambda v: (v @ w).sum(0), name="enc")(x)
        b = mw.named_computation(lambda v: (v @ w).sum(0) * 2, name="dec")(x + 1)
        return mw.reduce(a + b)

    cfg = pair_config(
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
        }
    )
    check(run(f, cfg, W, X), f(W, X))


@pytest.mark.parametrize("size", [8, 4096])
def test_closed_over_constants_run(size):
    table = jnp.arange(float(size))

    def f(x):
        h = mw.named_computation(lambda a: a + table[:4], name="enc")(x)
        return mw.named_computation(lambda a: a * table.sum(), name="dec")(h)

    check(run(f, pair_config(), X), f(X))


def test_hoisted_constants_run(monkeypatch):
    table = jnp.arange(64.0)
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
    try:

        def f(unused, x):
            h = mw.named_computation(lambda a: a + table, name="enc")(x)
            return mw.named_computation(lambda a: a * 2, name="dec")(h)

        x = jnp.ones(64)
        check(run(f, pair_config(), x, x), (x + table) * 2)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", False)


def test_program_without_annotations_runs_on_the_first_mesh():
    check(run(lambda x: {"y": x + 1, "x": x}, pair_config(), X), {"y": X + 1, "x": X})


def test_meshes_of_different_sizes():
    topology = {"m0": mesh(0, 4, ("x", "y")), "m1": mesh(4, 2)}
    cfg = mw.make_config(topology, {"enc": "m0", "dec": "m1"})
    sharding = NamedSharding(topology["m0"], P("y", "x"))
    x = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)
    compiled = mw.jit(encode_decode, cfg).lower(W, x).compile()
    args = jax.tree.map(jax.device_put, (W, X), compiled.input_shardings[0])
    out = compiled(*args)
    check(out, encode_decode(W, X))
    assert out.sharding.mesh == topology["m1"]


def test_integers_and_half_precision_run():
    def f(i, h):
        a = mw.named_computation(lambda v: v * 3 - 1, name="enc")(i)
        b = mw.named_computation(lambda v: v * 2, name="dec")(h)
        return a, b

    i, h = jnp.arange(6, dtype=jnp.int8), jnp.ones((3, 2), jnp.bfloat16)
    check(run(f, pair_config(), i, h), f(i, h))


def test_typed_keys_go_in_and_out():
    def f(key, x):
        key, sub = jax.random.split(key)
        noise = mw.named_computation(
            lambda k, v: v + jax.random.normal(k, v.shape), name="enc"
        )(sub, x)
        return key, mw.named_computation(lambda v: v * 2, name="dec")(noise)

    key = jax.random.key(7)
    new, out = mw.jit(f, pair_config(), donate_argnums=0)(jax.random.clone(key), X)
    expected_key, expected = f(key, X)
    assert new.dtype == expected_key.dtype
    check(out, expected)
    check(jax.random.key_data(new), jax.random.key_data(expected_key))


# calls


def test_wrapped_function_places_what_is_nowhere_yet():
    def f(w, x, scale):
        return encode_decode(w, x) * scale

    wrapped = mw.jit(f, pair_config(output_mesh_assignment="m1"))
    expected = encode_decode(W, X) * 3
    check(wrapped(np.asarray(W), X, 3.0), expected)
    check(wrapped(W, np.asarray(X), 3.0), expected)
    check(wrapped(W, X, 4.0), encode_decode(W, X) * 4)
    assert [len(found) for found in wrapped._programs.values()] == [1]


def test_other_types_compile_again():
    wrapped = mw.jit(encode_decode, pair_config())
    for x in (X, X[:2], X.astype(jnp.bfloat16)):
        check(wrapped(W, x), encode_decode(W, x), rtol=1e-2)


def test_static_arguments_select_the_program():
    def f(x, times, flag):
        for _ in range(times):
            x = mw.named_computation(lambda a: a * 2, name="enc")(x)
        return x + 1 if flag else x

    wrapped = mw.jit(f, pair_config(), static_argnums=(1, 2))
    check(wrapped(X, 2, False), X * 4)
    check(wrapped(X, 3, True), X * 8 + 1)
    from_the_end = mw.jit(f, pair_config(), static_argnums=(-1, -2))
    check(from_the_end(X, 2, True), X * 4 + 1)


def test_equal_static_arguments_of_other_types_are_other_programs():
    def f(x, factor):
        return mw.named_computation(lambda a: a * factor, name="enc")(x)

    wrapped = mw.jit(f, pair_config(), static_argnums=1)
    for factor in (2, 2.0, 1, True):
        expected = jax.jit(f, static_argnums=1)(jnp.arange(3), factor)
        assert wrapped(jnp.arange(3), factor).dtype == expected.dtype


def test_other_settings_of_jax_compile_again():
    def f(x):
        return mw.named_computation(lambda a: a + jnp.arange(3.0), name="enc")(x)

    wrapped = mw.jit(f, pair_config())
    assert wrapped(1.0).dtype == jnp.float32
    with jax.enable_x64(True):
        assert wrapped(1.0).dtype == jnp.float64


def test_64_bits_are_truncated_where_jax_does_so():
    with jax.enable_x64(True):
        large = jnp.array([1.5, 1e300])
        placed = jax.device_put(large, NamedSharding(M0, P()))
    wrapped = mw.jit(
        lambda x: mw.named_computation(lambda a: a + 1, name="enc")(x), pair_config()
    )
    for x in (large, placed, large):
        out = wrapped(x)
        assert out.dtype == jnp.float32
        np.testing.assert_array_equal(out, [2.5, np.inf])


def test_tangents_of_integers_go_in_and_out():
    def loss(params):
        weigh = mw.named_computation(lambda w, n: (w * w * n).sum(), name="enc")
        return weigh(params["w"], params["n"])

    def step(params):
        return jax.grad(loss, allow_int=True)(params)

    def use(grads):
        return mw.named_computation(lambda g: 2 * g["w"], name="dec")(grads), grads

    params = {"w": X, "n": np.int32(3)}
    wanted, wrapped = jax.jit(step)(params), mw.jit(use, pair_config())
    grads = mw.jit(step, pair_config())(params)
    for given in (grads, wanted, wrapped(grads)[1]):
        doubled, back = wrapped(given)
        check(doubled, 2 * wanted["w"])
        check(back["w"], wanted["w"])
        assert (back["n"].dtype, back["n"].shape) == (jax.dtypes.float0, ())
    compiled = wrapped.lower(grads).compile()
    placed = compiled.place(grads)
    for given in (placed, {"w": placed["w"], "n": grads["n"]}):
        check(compiled(given)[0], 2 * wanted["w"])
    with pytest.raises(ValueError, match=r"args\[0\]\['n'\] must be a jax.Array"):
        compiled({"w": placed["w"], "n": np.zeros(())})


def test_a_type_is_no_argument():
    with pytest.raises(TypeError, match=r"args\[1\] is a type without values"):
        mw.jit(encode_decode, pair_config())(W, jax.ShapeDtypeStruct(X.shape, X.dtype))


def compiled_pair(**options):
    lowered = mw.jit(encode_decode, pair_config(), **options).lower(W, X)
    compiled = lowered.compile()
    args = jax.tree.map(
        lambda a, s: jax.device_put(np.asarray(a), s),
        (W, X),
        compiled.input_shardings[0],
    )
    return compiled, args


def test_results_are_ordinary_arrays_on_their_mesh():
    compiled, args = compiled_pair()
    out = compiled(*args)
    assert isinstance(out, jax.Array) and out.committed
    assert out.sharding == compiled.output_shardings
    assert out.sharding.mesh == M1


def test_outputs_feed_the_next_call():
    compiled, (w, x) = compiled_pair()
    x = jax.device_put(compiled(w, x), compiled.input_shardings[0][1])
    check(compiled(w, x), encode_decode(W, encode_decode(W, X)))


def test_what_is_no_array_is_a_value_error():
    compiled, (w, _) = compiled_pair()
    for wrong in (np.asarray(X), 3.0, None):
        with pytest.raises((ValueError, TypeError)):
            compiled(w, wrong)
    with pytest.raises(ValueError, match=r"args\[1\] must be a jax.Array, got ndarray"):
        compiled(w, np.asarray(X))


def test_misplaced_arrays_are_listed_with_what_was_expected():
    compiled, (w, x) = compiled_pair()
    elsewhere = jax.device_put(X, NamedSharding(M1, P("x")))
    foreign = jax.device_put(W, NamedSharding(mesh(4, 2), P()))
    with pytest.raises(ValueError) as error:
        compiled(foreign, elsewhere)
    text = str(error.value)
    assert "input 0 (originally 0, args[0])" in text
    assert "input 1 (originally 1, args[1])" in text
    assert "place them with compiled.place(...)" in text
    assert "'m0'" in text and "'m1'" in text and "not in the topology" in text
    check(compiled(w, x), encode_decode(W, X))


def test_wrong_shapes_dtypes_trees_and_keywords_are_type_errors():
    compiled, (w, x) = compiled_pair()
    for wrong in (x[:2], x.astype(jnp.int32), x.astype(jnp.bfloat16)):
        with pytest.raises(TypeError, match=r"args\[1\] must be float32\[8,4\]"):
            compiled(w, wrong)
    with pytest.raises(TypeError, match="structure"):
        compiled(w)
    with pytest.raises(TypeError, match="structure"):
        compiled(w, [x])
    with pytest.raises(TypeError, match="keyword arguments none, but"):
        compiled(w, x=x)
    with pytest.raises(TypeError, match="2 flat inputs, got 1"):
        compiled.mpmd_executable.call(w)


def test_donated_arrays_are_gone_and_their_reuse_is_an_error():
    compiled, (w, x) = compiled_pair(donate_argnums=1)
    check(compiled(w, x), encode_decode(W, X))
    assert x.is_deleted() and not w.is_deleted()
    with pytest.raises(RuntimeError, match=r"args\[1\] has been deleted"):
        compiled(w, x)


def test_unused_donated_input_is_deleted():
    def f(unused, x):
        return mw.named_computation(lambda a: a * 2, name="enc")(x)

    compiled = mw.jit(f, pair_config(), donate_argnums=0).lower(W, X).compile()
    w, x = jax.tree.map(
        lambda a, s: jax.device_put(np.asarray(a), s),
        (W, X),
        compiled.input_shardings[0],
    )
    check(compiled(w, x), X * 2)
    assert w.is_deleted() and not x.is_deleted()


def test_one_array_in_two_places_cannot_be_donated():
    def f(x, y):
        return mw.named_computation(lambda a, b: (a + b, a - b), name="enc")(x, y)

    compiled = mw.jit(f, pair_config(), donate_argnums=0).lower(X, X).compile()
    x = jax.device_put(np.asarray(X), compiled.input_shardings[0][0])
    with pytest.raises(ValueError, match="donated"):
        compiled(x, x)


@pytest.mark.parametrize("turns", [0, 30])
def test_one_array_that_is_placed_twice_cannot_be_donated(turns):
    """Also if who makes it is not done when it is placed."""

    def f(x, y):
        return mw.named_computation(lambda a, b: (a + b, a - b), name="enc")(x, y)

    @jax.jit
    def make(x, large):
        product = jax.lax.fori_loop(0, turns, lambda _, found: found @ large, large)
        return x + product[: x.shape[0], : x.shape[1]]

    jitted = mw.jit(f, pair_config(), donate_argnums=0)
    check(jitted(jnp.array(X), jnp.array(X))[0], X + X)
    anywhere = make(X, jnp.eye(512))
    with pytest.raises(ValueError, match=r"args\[0\] and f: args\[1\] share a buffer"):
        jitted(anywhere, anywhere)


def test_equivalent_shardings_are_accepted():
    topology = {"m0": mesh(0, 2, ("x", "y")), "m1": mesh(2, 2, ("x", "y"))}
    cfg = mw.make_config(topology, {"enc": "m0", "dec": "m1"})
    compiled = mw.jit(encode_decode, cfg).lower(W, X).compile()
    m0 = topology["m0"]
    w = jax.device_put(W, NamedSharding(m0, P("x")))  # "x" has size one.
    x = jax.device_put(X, NamedSharding(m0, P(None, "x")))
    check(compiled(w, x), encode_decode(W, X))


def test_memory_kinds_of_inputs_and_outputs():
    cfg = pair_config(
        input_mesh_assignment=("m0#pinned_host", None),
        output_mesh_assignment="m1#pinned_host",
    )
    lowered = mw.jit(encode_decode, cfg).lower(W, X)
    specs = lowered.function_named_shardings
    assert specs.input_specs[0].memory_kind == "pinned_host"
    assert specs.output_specs.memory_kind == "pinned_host"
    compiled = lowered.compile()
    out = compiled(*jax.tree.map(jax.device_put, (W, X), compiled.input_shardings[0]))
    assert out.sharding.memory_kind == "pinned_host"
    check(out, encode_decode(W, X))


# compiling


@pytest.mark.parametrize("donate", [None, (0, 1)])
def test_layouts_of_inputs_and_outputs(donate):
    """Columns together, for a value that moves, one that is read, and results."""
    columns = Format(Layout((1, 0)), NamedSharding(M0, P("x")))

    def both(x, y):
        return encode_decode(y, x), x

    config = mw.make_config(
        PAIR, {"enc": "m0", "dec": "m1"}, output_mesh_assignment="m1"
    )
    jitted = mw.jit(
        both,
        config,
        in_shardings=(columns, None),
        out_shardings=(columns, columns),
        donate_argnums=donate,
    )
    compiled = jitted.lower(X, W).compile()
    (x_format, w_format), _ = compiled.input_formats
    assert x_format.layout.major_to_minor == (1, 0) and w_format.layout is None
    x, w = jax.device_put(X, x_format), jax.device_put(W, w_format)
    outs = compiled(x, w)
    for found, expected in zip(outs, compiled.output_formats, strict=True):
        assert expected.layout.major_to_minor == (1, 0)
        assert found.format.layout.major_to_minor == (1, 0)
        assert found.sharding == expected.sharding
    check(outs, jax.jit(both)(X, W))
    assert x.is_deleted() == w.is_deleted() == (donate is not None)
    check(jitted(np.asarray(X), np.asarray(W)), jax.jit(both)(X, W))


def test_numpy_arguments_may_change_after_the_call():
    raw = np.zeros(64 * 64 * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64  # CPU devices share such memory when they can.
    x = raw[start : start + 64 * 64 * 4].view(np.float32).reshape(64, 64)
    x[:] = 0.1

    def slow(x):
        body = mw.named_computation(
            lambda x: jax.lax.fori_loop(0, 300, lambda _, y: jnp.tanh(y @ y), x) + x,
            name="enc",
        )
        return body(x)

    step = mw.jit(slow, mw.make_config(meshes(1, 1), {"enc": "m0"}))
    expected = np.asarray(step(x))
    out = step(x)
    x[:] = 3
    check(np.asarray(out), expected)


def test_devices_can_be_assigned_again():
    devices = list(reversed(jax.devices()[:4]))
    lowered = mw.jit(encode_decode, pair_config()).lower(W, X)
    compiled = lowered.compile(device_assignment=devices)
    assert list(compiled.input_shardings[0][0].mesh.devices) == devices[:2]
    assert list(compiled.output_shardings.mesh.devices) == devices[2:]
    args = jax.tree.map(jax.device_put, (W, X), compiled.input_shardings[0])
    check(compiled(*args), encode_decode(W, X))


def test_too_few_devices_are_a_value_error():
    lowered = mw.jit(encode_decode, pair_config()).lower(W, X)
    with pytest.raises(ValueError, match="needs 4 devices .*, got 3"):
        lowered.compile(device_assignment=jax.devices()[:3])


@pytest.mark.parametrize(
    "options",
    [
        {"xla_cpu_enable_fast_math": False},
        {"m1": {"xla_cpu_enable_fast_math": False}},
    ],
)
def test_compiler_options_for_all_meshes_or_by_mesh(options):
    lowered = mw.jit(encode_decode, pair_config()).lower(W, X)
    compiled = lowered.compile(options)
    args = jax.tree.map(jax.device_put, (W, X), compiled.input_shardings[0])
    check(compiled(*args), encode_decode(W, X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m7": {"a": 1}}, "unknown 'm7'"),
        ({"m0": {"a": 1}, "b": 2}, r"options \(b\) beside meshes \(m0\)"),
    ],
)
def test_bad_compiler_options_are_value_errors(options, message):
    lowered = mw.jit(encode_decode, pair_config()).lower(W, X)
    with pytest.raises(ValueError, match=message):
        lowered.compile(options)


def test_compiled_tells_about_itself():
    compiled, args = compiled_pair()
    executable = compiled.mpmd_executable
    assert isinstance(compiled, jax.stages.Compiled)
    assert isinstance(executable, mw.Executable)
    assert compiled.peak_memory_bytes > 0
    assert set(compiled.memory_analysis()) == {"m0", "m1"}
    assert compiled.ifrt_ir_program_memory_stats == compiled.memory_analysis()
    assert compiled.cost_analysis()["m0"]["flops"] > 0
    assert compiled.in_avals[0][1].shape == (8, 4)
    assert compiled.out_info.sharding == compiled.output_shardings
    assert compiled.input_formats[0][0].sharding == compiled.input_shardings[0][0]
    assert compiled.output_formats.sharding == compiled.output_shardings
    assert executable.input_shardings() == list(compiled.input_shardings[0])
    assert executable.output_shardings() == [compiled.output_shardings]
    assert executable.input_shardings_tree == compiled.input_shardings[0]
    assert [f.sharding for f in executable.input_formats()] == (
        executable.input_shardings()
    )
    assert [f.sharding for f in executable.output_formats()] == (
        executable.output_shardings()
    )
    assert [aval.shape for aval in executable.out_avals] == [(8, 4)]
    assert "fragment_call" in compiled.as_text("mpmd")
    assert compiled.as_text().count("HloModule") == 2
    assert compiled.runtime_executable() is executable.runtime_executable()
    (out,) = executable.call(*args)
    check(out, encode_decode(W, X))
    assert compiled.args_info[0][0].shape == (4, 4)


@pytest.mark.parametrize("size", [1, 2])
def test_callbacks_inside_fragments_run(size):
    seen = []

    def f(x):
        def enc(a):
            jax.debug.callback(lambda v: seen.append(float(v)), a.sum())
            return a * 2

        return mw.named_computation(enc, name="enc")(x)

    topology = meshes(2, size)
    cfg = mw.make_config(topology, {"enc": "m0"})
    check(run(f, cfg, X), X * 2)
    jax.effects_barrier()
    assert seen == [float(X.sum())]


def test_failing_fragment_is_named_although_arguments_are_gone():
    def fail(v):
        raise KeyError("no more data")

    def f(x):
        def enc(a):
            return jax.pure_callback(fail, jax.typeof(a), a) * 2

        return mw.named_computation(enc, name="enc")(x)

    cfg = mw.make_config(meshes(2, 1), {"enc": "m0"})
    compiled = mw.jit(f, cfg, donate_argnums=0).lower(X).compile()
    x = jax.device_put(np.asarray(X), compiled.input_shardings[0][0])
    with pytest.raises(RuntimeError, match='(?s)"p0_enc.f" .*no more data'):
        jax.block_until_ready(compiled(x))
    check(run(encode_decode, pair_config(), W, X), encode_decode(W, X))
