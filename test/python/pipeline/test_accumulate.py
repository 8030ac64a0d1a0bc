"""`mw.pipeline.accumulate`: a function over microbatches, one call for each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.pipeline import accumulate
from support.schedule_training import stage_config

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MICROBATCHES, ROWS, WIDTH, RATE = 4, 2, 3, 0.1
SCHEDULES = {
    "GPipe": 2,
    "1F1B": 2,
    "ZeroBubbleH1": 2,
    "Interleaved1F1B": 4,
    "CircularWithReversedBackward": 4,
}


def make_config(schedule="1F1B", stages=2, **options):
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
    pipeline_schedule = mw.get_pipeline_schedule(schedule)
    return stage_config(
        schedule, meshes, stages, options, pipeline_schedule=pipeline_schedule
    )


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def make_weights(stages):
    return [draw(WIDTH, WIDTH, seed=stage) for stage in range(stages)]


def make_batch(seed=9, rows=ROWS):
    """This many rows for each microbatch."""
    rows *= MICROBATCHES
    return draw(rows, WIDTH, seed=seed), draw(rows, WIDTH, seed=seed + 1)


def layer(w, x):
    return jnp.tanh(x @ w)


def distance(x, y):
    return ((x - y) ** 2).mean()


def loss(weights, batch):
    x, y = batch
    for stage, w in enumerate(weights):
        x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
    return mw.named_computation(distance, name=f"stage{len(weights) - 1}")(x, y)


@functools.cache
def plain_gradient():
    """Of the whole batch: what most tests compare with."""
    return jax.jit(jax.value_and_grad(loss))


def close(ours, theirs, tolerance=1e-6):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, tolerance, tolerance),
        ours,
        theirs,
    )


def calls(lowered, mesh):
    """Direction of each fragment of a mesh that belongs to a stage, in order."""
    return "".join(
        "B" if any("(1)" in origin for origin in item["origins"]) else "F"
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call" and item["mesh"] == mesh and item["origins"]
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_training_is_that_of_the_whole_batch(schedule):
    stages = SCHEDULES[schedule]

    def make_step(gradient):
        def step(weights, batch):
            value, grads = gradient(weights, batch)
            return value, [w - RATE * g for w, g in zip(weights, grads, strict=True)]

        return step

    gradient = jax.value_and_grad(loss)
    ours = mw.jit(
        make_step(accumulate(gradient, MICROBATCHES)), make_config(schedule, stages)
    )
    plain = jax.jit(make_step(gradient))
    states = [make_weights(stages)] * 2
    for number in range(3):
        batch = make_batch(number)
        values = []
        for side, step in enumerate((plain, ours)):
            value, states[side] = step(states[side], batch)
            values.append(float(value))
        assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_gradients_in_one_step(schedule):
    """The second one, of weights that the first has changed, is scheduled as it."""
    stages = SCHEDULES[schedule]

    def make_step(gradient):
        def step(weights, batch):
            uphill = [
                w + RATE * g
                for w, g in zip(weights, gradient(weights, batch), strict=True)
            ]
            return gradient(uphill, batch)

        return step

    step = make_step(accumulate(jax.grad(loss), MICROBATCHES))
    args = make_weights(stages), make_batch()
    ours = mw.jit(step, make_config(schedule, stages))
    lowered = ours.lower(*args)  # The call runs the same.
    close(ours(*args), jax.jit(make_step(jax.grad(loss)))(*args))
    once = mw.jit(
        accumulate(jax.grad(loss), MICROBATCHES), make_config(schedule, stages)
    ).lower(*args)
    for mesh in ("m0", "m1"):
        assert calls(lowered, mesh) == 2 * calls(once, mesh)


def test_orders_are_those_of_the_schedule():
    step = accumulate(jax.grad(loss), MICROBATCHES)
    args = make_weights(2), make_batch()
    lowered = mw.jit(step, make_config("1F1B")).lower(*args)
    assert [calls(lowered, mesh) for mesh in ("m0", "m1")] == ["FFBFBFBB", "FBFBFBFB"]
    lowered = mw.jit(step, make_config("GPipe")).lower(*args)
    assert [calls(lowered, mesh) for mesh in ("m0", "m1")] == ["FFFFBBBB"] * 2


def additions_of(reduce, schedule):
    """Which calls the first two operands of a reduction of gradients come from."""
    config = make_config(schedule, 4 if schedule.startswith("Circ") else 2)
    stages = len(config.name_to_stage_assignment)
    step = mw.jit(accumulate(jax.grad(loss), MICROBATCHES, reduce=reduce), config)
    traced = step.trace(make_weights(stages), make_batch())
    eqns = traced.jaxpr.jaxpr.eqns
    counters = {
        var: eqn.params["call_counter"]
        for eqn in eqns
        if eqn.primitive.name == "mpmd_call"
        for var in eqn.outvars
    }
    # A loop gives what all microbatches give, one after the other.
    counters |= {
        var: at % MICROBATCHES
        for eqn in eqns
        if eqn.primitive.name == "mpmd_for"
        for at, var in enumerate(eqn.outvars)
    }
    first = next(eqn for eqn in eqns if eqn.primitive.name in ("add", "max"))
    return [counters[var] for var in first.invars]


def test_reductions_follow_the_backward_passes(tmp_path):
    assert additions_of(jnp.maximum, "1F1B") == [0, 1]
    assert additions_of("sum", "CircularWithReversedBackward") == [3, 2]
    file = tmp_path / "reversed.csv"
    file.write_text(
        "0F0,0F1,0F2,0F3,0B3,0B2,0B1,0B0\n1F0,1F1,1F2,1F3,1B3,1B2,1B1,1B0\n"
    )
    assert additions_of("mean", f"file:{file}") == [3, 2]


def test_a_microbatch_is_traced_once_whatever_it_closes_over():
    traces = []

    def counted(weights, batch):
        traces.append(1)
        return loss(weights, batch)

    step = accumulate(jax.grad(counted), MICROBATCHES)
    traced = mw.jit(step, make_config()).trace(make_weights(2), make_batch())
    assert len(traces) == 1
    (loop,) = (eqn for eqn in traced.jaxpr.eqns if eqn.primitive.name == "mpmd_for")
    assert [eqn.primitive.name for eqn in loop.params["jaxpr"].eqns] == ["mpmd_call"]
    traces.clear()
    config = make_config("CircularWithReversedBackward", 4)
    traced = mw.jit(step, config).trace(make_weights(4), make_batch())
    assert len(traces) == 1
    bodies = [
        eqn.params["jaxpr"]
        for eqn in traced.jaxpr.eqns
        if eqn.primitive.name == "mpmd_call"
    ]
    assert len(bodies) == MICROBATCHES
    assert all(body is bodies[0] for body in bodies)


def test_lists_and_several_arguments_are_microbatches():
    def error(weights, x, y, scale):
        return scale * loss(weights, (x, y))

    step = mw.jit(
        accumulate(jax.grad(error), MICROBATCHES, batch_argnums=(1, -2)),
        make_config(),
    )
    weights, (x, y) = make_weights(2), make_batch()
    parts = list(x.reshape(MICROBATCHES, ROWS, WIDTH))
    expected = jax.jit(jax.grad(error))(weights, x, y, 2.0)
    close(step(weights, parts, y, 2.0), expected)


def with_aux(weights, batch):
    return loss(weights, batch), {"mean": batch[0].mean(), "rows": batch[0][:, 0]}


def test_aux_is_stacked():
    step = mw.jit(
        accumulate(jax.value_and_grad(with_aux, has_aux=True), MICROBATCHES),
        make_config(),
    )
    weights, batch = make_weights(2), make_batch()
    (value, aux), grads = step(weights, batch)
    expected, expected_grads = plain_gradient()(weights, batch)
    close((value, grads), (expected, expected_grads))
    parts = batch[0].reshape(MICROBATCHES, ROWS, WIDTH)
    close(aux, {"mean": parts.mean((1, 2)), "rows": parts[:, :, 0]})


def test_reductions():
    def parts(w, x):
        return {"sum": w * x.sum(), "max": x.max(), "flags": x > 1, "count": x.shape[0]}

    x = jnp.arange(8.0)
    reduce = {"sum": "sum", "max": jnp.maximum, "flags": "stack", "count": "mean"}
    found = jax.jit(accumulate(parts, 4, reduce=reduce))(2.0, x)
    assert float(found["sum"]) == 56
    assert float(found["max"]) == 7
    assert found["flags"].shape == (4, 2)
    assert float(found["count"]) == 2
    value, aux = accumulate(
        lambda w, x: (w * x.sum(), x[0]), 2, reduce="sum", has_aux=True
    )(1.0, x)
    assert float(value) == 28
    assert aux.tolist() == [0, 4]
    middle = functools.partial(jnp.median, axis=0)
    for reduce, expected in [
        (middle, 3),
        (lambda stack: stack[-1], 6),
        (max, 6),
        (jnp.add, 12),
    ]:
        found = accumulate(lambda w, x: w * x[0], 4, reduce=reduce)(1.0, x)
        assert float(found) == expected
    flags = accumulate(lambda w, x: x > 1, 2, reduce="sum")(1.0, x)
    assert flags.tolist() == [1, 1, 2, 2]


def test_nnx_objects_may_be_microbatches():
    nnx = pytest.importorskip("flax.nnx")

    def steps(x):
        states = [nnx.state(nnx.Dict(a=nnx.Param(x[i]))) for i in range(4)]
        each = accumulate(lambda state: 2 * state["a"][...], 4, 0, "stack")(states)
        rows = accumulate(lambda row: row[...].sum(), 4, 0, "stack")(nnx.Param(x))
        return each, rows

    x = jnp.arange(4.0)
    close(jax.jit(steps)(x), (2 * x, x))
    close(steps(x), (2 * x, x))


@pytest.mark.parametrize("numbers", [(1, 2), (2, 1), (-1, 1)])
def test_arguments_may_be_named_in_any_order(numbers):
    step = accumulate(lambda w, x, y: (w * x - y).sum(), 2, numbers, "sum")
    x = jnp.arange(4.0)
    for found in (step(2.0, x, x + 5), jax.jit(step)(2.0, x, x + 5)):
        assert float(found) == -14


def test_references_of_the_program_are_written_to():
    def step(w, x):
        seen = jax.new_ref(jnp.float32(0))

        def error(w, x):
            seen[...] = 2 * seen[...] + x.sum()
            return w * x.sum()

        return accumulate(error, 4, reduce="sum")(w, x), seen[...]

    args = jnp.float32(2), jnp.arange(4.0)
    config = mw.make_config(make_config().topology)
    close(mw.jit(step, config)(*args), step(*args))


def test_derivatives_by_integers_are_those_of_jax():
    gradient = jax.grad(lambda p, x: (p["w"] * x).sum(), allow_int=True)
    step = accumulate(gradient, 2)
    args = {"w": jnp.float32(2), "n": jnp.int32(3)}, jnp.arange(4.0)
    for found in (step(*args), jax.jit(step)(*args)):
        assert found["n"].dtype == jax.dtypes.float0
        assert float(found["w"]) == 3


def test_random_keys_are_split():
    def noisy(weights, batch, key):
        x, y = batch
        keys = jax.random.split(key)

        def drop(w, x, key):
            return layer(w, x) * jax.random.bernoulli(key, 0.7, (ROWS, WIDTH))

        for stage, w in enumerate(weights):
            x = mw.named_computation(drop, name=f"stage{stage}")(w, x, keys[stage])
        return mw.named_computation(distance, name="stage1")(x, y)

    gradient = jax.value_and_grad(noisy)
    plain = jax.jit(gradient)
    weights, (x, y), key = make_weights(2), make_batch(), jax.random.key(7)

    step = mw.jit(accumulate(gradient, MICROBATCHES, rng_argnums=2), make_config())
    value, grads = step(weights, (x, y), key)
    runs = [
        plain(weights, batch, key)
        for batch, key in zip(
            zip(*(np.split(part, MICROBATCHES) for part in (x, y)), strict=True),
            jax.random.split(key, MICROBATCHES),
            strict=True,
        )
    ]
    expected = jax.tree.map(lambda *parts: sum(parts) / MICROBATCHES, *runs)
    close((value, grads), expected)


def test_a_gradient_that_a_module_keeps_is_that_of_the_last_microbatch():
    nnx = pytest.importorskip("flax.nnx")

    class Net(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jnp.asarray(draw(WIDTH, WIDTH)))
            self.last = nnx.Variable(jnp.zeros((WIDTH, WIDTH)))

    def gradient(model, x):
        grads = nnx.grad(lambda model, x: layer(model.w[...], x).sum())(model, x)
        model.last[...] = grads["w"][...]
        return model.last

    def step(model, x):
        return accumulate(gradient, MICROBATCHES)(model, x)

    models = [Net(), Net(), Net()]
    steps = [step, nnx.jit(step), mw.nnx.jit(step, make_config())]
    found = [
        (step(model, make_batch()[0])[...], model.last[...])
        for step, model in zip(steps, models, strict=True)
    ]
    close(found[1], found[0])
    close(found[2], found[0])


def test_state_of_nnx_modules_goes_from_one_to_the_next():
    nnx = pytest.importorskip("flax.nnx")
    counter = nnx.Variable(jnp.zeros(()))

    def count(_, x):
        counter[...] += x.sum()
        return counter

    # What is returned is read at once: 1, 1 + 2 and 1 + 2 + 3.
    total = accumulate(count, 3, reduce="sum")(0, jnp.arange(1.0, 4.0))
    assert float(total[...]) == 10

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.enc = nnx.Sequential(
                nnx.Linear(WIDTH, WIDTH, rngs=rngs), nnx.BatchNorm(WIDTH, rngs=rngs)
            )
            self.dec = nnx.Sequential(
                nnx.Dropout(0.2, rngs=rngs), nnx.Linear(WIDTH, WIDTH, rngs=rngs)
            )

        def __call__(self, x):
            h = mw.named_computation(self.enc, name="stage0")(x)
            return mw.named_computation(self.dec, name="stage1")(h)

    traces = []

    def error(model, batch):
        traces.append(1)
        x, y = batch
        return mw.named_computation(distance, name="stage1")(model(x), y)

    gradient = nnx.value_and_grad(error)

    def ours(model, batch):
        return accumulate(gradient, MICROBATCHES)(model, batch)

    def plain(model, batch):
        results = [
            gradient(model, part)
            for part in zip(*(np.split(a, MICROBATCHES) for a in batch), strict=True)
        ]
        return jax.tree.map(lambda *parts: sum(parts) / MICROBATCHES, *results)

    models = [Net(nnx.Rngs(0)), Net(nnx.Rngs(0))]
    steps = [nnx.jit(plain), mw.nnx.jit(ours, make_config())]
    for number in range(2):
        # What divides by the variance of two rows depends on how XLA rounds.
        batch = make_batch(number, rows=8)
        found = [step(m, batch) for step, m in zip(steps, models, strict=True)]
        close(jax.tree.leaves(found[1]), jax.tree.leaves(found[0]), 1e-5)
    states = [jax.tree.leaves(nnx.state(model)) for model in models]
    arrays = [
        [leaf for leaf in state if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)]
        for state in states
    ]
    close(arrays[1], arrays[0], 1e-5)
    assert models[1].dec.layers[0].rngs.count[...] == 2 * MICROBATCHES
    # Once under each: plain JAX has a loop in Python.
    assert len(traces) == MICROBATCHES + 1


def test_equinox_modules():
    eqx = pytest.importorskip("equinox")

    model = eqx.nn.MLP(WIDTH, WIDTH, 4, 2, key=jax.random.key(0))

    def error(model, batch):
        x, y = batch
        out = mw.named_computation(jax.vmap(model), name="stage0")(x)
        return mw.named_computation(distance, name="stage1")(out, y)

    gradient = eqx.filter_value_and_grad(error)
    step = mw.jit(accumulate(gradient, MICROBATCHES), make_config())
    value, grads = step(model, make_batch())
    expected, expected_grads = eqx.filter_jit(gradient)(model, make_batch())
    close((value, jax.tree.leaves(grads)), (expected, jax.tree.leaves(expected_grads)))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "staged"])
def test_a_gradient_from_outside_is_refused(wrap):
    total = wrap(jax.grad(accumulate(loss, MICROBATCHES)))
    with pytest.raises(TypeError, match="take the gradient inside: accumulate"):
        total(make_weights(2), make_batch())


def test_the_result_can_be_used_and_batched():
    step = accumulate(loss, MICROBATCHES)
    weights, batch = make_weights(2), make_batch()
    close(step(weights, batch), loss(weights, batch))
    both = jax.vmap(step, (0, None))([np.stack([w, 2 * w]) for w in weights], batch)
    close(both[0], loss(weights, batch))


def lowered_with_rows(batch, source, devices=2, axes=("data",)):
    """A step whose batch is split by rows, and its arguments."""
    shape = (devices,) if len(axes) == 1 else (2, devices // 2)
    found = np.array(jax.devices()[: 2 * devices]).reshape(2, *shape)
    meshes = {f"m{i}": Mesh(found[i], axes) for i in range(2)}
    config = mw.make_config(
        meshes,
        {f"stage{i}": f"m{i}" for i in range(2)},
        name_to_stage_assignment={f"stage{i}": i for i in range(2)},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
    )
    rows = NamedSharding(meshes["m0"], P(axes))
    step = accumulate(jax.value_and_grad(loss), MICROBATCHES)
    if source == "in_shardings":
        step = mw.jit(step, config, in_shardings=(None, rows))
        return step.lower(make_weights(2), batch), batch
    batch = jax.tree.map(lambda x: jax.device_put(x, rows), batch)
    return mw.jit(step, config).lower(make_weights(2), batch), batch


def splits(lowered, rows):
    """By which axes the rows of activations are split."""
    values = lowered.partitioning_result.program["values"]
    return {
        tuple(value["sharding"]["dims"][0])
        for value in values
        if value["shape"] == [rows, WIDTH]
    }


@pytest.mark.parametrize("source", ["in_shardings", "arrays"])
def test_microbatches_are_split_as_their_batch_is(source):
    lowered, batch = lowered_with_rows(make_batch(), source)
    assert splits(lowered, ROWS) == {("data",)}
    compiled = lowered.compile()
    weights = compiled.place(make_weights(2), make_batch())[0]
    found = compiled(weights, compiled.place(weights, batch)[1])
    close(found, plain_gradient()(make_weights(2), make_batch()))


def test_rows_are_split_by_as_many_axes_as_divide_them():
    lowered, _ = lowered_with_rows(make_batch(), "arrays", 4, ("a", "b"))
    assert splits(lowered, ROWS) == {("a",)}
    one_each = tuple(x[::ROWS] for x in make_batch())
    lowered, _ = lowered_with_rows(one_each, "arrays")
    assert splits(lowered, 1) == {()}


X = np.ones((8, 2), np.float32)
REFUSED = {
    "uneven": (lambda: accumulate(jnp.dot, 3)(X, X), "8 rows, .* evenly into 3"),
    "scalar": (lambda: accumulate(jnp.dot, 3)(X, 1.0), "no leading axis"),
    "lengths": (lambda: accumulate(jnp.dot, 2)(X, (X, X[:4])), "one leading axis"),
    "text": (lambda: accumulate(jnp.dot, 2)(X, "x"), "'x' of type str"),
    "list": (lambda: accumulate(jnp.dot, 2)(X, [X]), "a list of 1, .* 2 microbatches"),
    "types": (
        lambda: accumulate(jnp.dot, 2)(X, [X, X.astype(int)]),
        "may differ in their shapes alone",
    ),
    "position": (
        lambda: accumulate(jnp.dot, 2, batch_argnums=2)(X, X),
        "has 2, but the call has 2 positional",
    ),
    "key": (lambda: accumulate(jnp.dot, 2, rng_argnums=0)(X, X), "one random key"),
    "both": (
        lambda: accumulate(jnp.dot, 2, rng_argnums=1)(X, X),
        "both in batch_argnums and in rng_argnums",
    ),
    "aux": (
        lambda: accumulate(lambda w, x: (w, "x"), 2, has_aux=True)(X, X),
        r"result\[1\] .* 'x' of type str",
    ),
    "no_aux": (
        lambda: accumulate(lambda w, x: w, 2, has_aux=True)(X, X),
        "has_aux, but <lambda> returns",
    ),
    "prefix": (
        lambda: accumulate(lambda w, x: w, 2, reduce=("sum", "mean"))(X, X),
        "is no prefix",
    ),
    "reduce": (lambda: accumulate(jnp.dot, 2, reduce="men"), "'men'"),
    "count": (lambda: accumulate(jnp.dot, 0), "must be 1 or more"),
    "function": (lambda: accumulate(2, 2), "must be a function"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    run, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=f"accumulate: .*{message}"):
        run()


@pytest.mark.parametrize("reduce", ["mean", "sum", ("mean", "mean")])
def test_the_largest_values_of_layers_in_eight_bits_are_no_mean(reduce):
    channel = "_overwrite_with_gradient"

    @jax.custom_vjp
    def scaled(x, amax):
        return x

    scaled.defvjp(
        lambda x, amax: (x, jnp.abs(x).max()), lambda seen, ct: (ct, seen + 0 * ct[0])
    )

    def loss(params, x):
        h = mw.stage_boundary(scaled(params["w"] * x, params[channel]["amax"]))
        return (h * params["w"]).mean()

    params = {"w": jnp.ones(()), channel: {"amax": jnp.zeros(())}}
    x = jnp.arange(1.0, 5.0)
    step = accumulate(jax.value_and_grad(loss), MICROBATCHES, reduce=reduce)
    for run in (step, jax.jit(step), mw.jit(step, make_config())):
        _, grads = run(params, x)
        assert grads[channel]["amax"] == 4.0
        assert grads["w"] == (20.0 if reduce == "sum" else 5.0)
