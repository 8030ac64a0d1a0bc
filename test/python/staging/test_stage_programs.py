"""Marks in programs with loops, experts, shardings and modules; `auto` for NNX."""

import functools
import io

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[2 * i : 2 * i + 2], "x") for i in range(2)}
CONFIG = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def experts(ws, x):
    """Each device of a mesh has one expert, and sees all rows."""

    def one(w, x):
        return jax.lax.psum(jnp.tanh(x @ w[0]), "x")

    mesh = CONFIG.sharding_mesh
    return jax.shard_map(one, mesh=mesh, in_specs=(P("x"), P()), out_specs=P())(ws, x)


def loss(params, x, y):
    rows = NamedSharding(CONFIG.sharding_mesh, P("x"))
    first = jax.jit(lambda w, x: mw.stage_boundary(jnp.tanh(x @ w)), out_shardings=rows)
    h = first(params["in"], jax.lax.with_sharding_constraint(x, rows))
    return ((experts(params["experts"], h) - y) ** 2).mean()


def test_experts_and_shardings_inside_of_stages():
    draw = np.random.default_rng(0).standard_normal
    params = {"in": draw((4, 4), "f"), "experts": draw((2, 4, 4), "f")}
    x, y = draw((2, 8, 4), "f")
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2, batch_argnums=(1, 2))
    jitted = mw.jit(step, CONFIG)
    lowered = jitted.lower(params, x, y)
    assert lowered.function_mesh_assignment.input_meshes[0] == {
        "in": "m0",
        "experts": "m1",
    }
    found = jitted(params, x, y)
    with jax.set_mesh(MESHES["m0"]):
        close(found, jax.jit(step)(params, x, y))


def test_positions_that_are_put_together_of_numbers():
    def loss(weights, x):
        pairs = jnp.concatenate([jnp.arange(2.0), jnp.arange(2.0)])
        h = mw.stage_boundary(jnp.tanh((x + pairs) @ weights[0]))
        return ((h @ weights[1]) ** 2).mean()

    weights = [np.eye(4, dtype="f"), np.full((4, 4), 0.5, "f")]
    x = np.linspace(-1, 1, 32, dtype="f").reshape(8, 4)
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2, batch_argnums=1)
    wanted = jax.jit(jax.value_and_grad(loss))(weights, x)
    close(mw.jit(step, CONFIG)(weights, x), wanted)


@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.dots_saveable])
def test_recomputed_layers_that_read_a_mask_and_add_to_the_loss(policy):
    """The mask is of the first stage, the term is derived before any mark."""

    @functools.partial(jax.checkpoint, policy=policy)
    def layer(w, x, segments):
        h = jnp.tanh(x @ w["mix"])
        same = segments[:, :, None] == segments[:, None, :]
        scores = jnp.where(same, h @ h.swapaxes(1, 2), -1e9)
        x = x + jax.nn.softmax(scores) @ h
        gates = jax.nn.softmax(x @ w["gate"])
        return x + jnp.tanh(gates @ w["out"]), (gates**2).sum()

    def loss(layers, x, tokens):
        segments, balance = jnp.cumsum(tokens == 0, axis=1), 0.0
        for number, w in enumerate(layers):
            x = mw.stage_boundary(x) if number else x
            x, term = layer(w, x, segments)
            balance += term
        return (x**2).mean() + 0.1 * balance

    draw = np.random.default_rng(0)
    shapes = {"mix": (8, 8), "gate": (8, 4), "out": (4, 8)}
    layers = [
        {name: draw.normal(size=shape).astype("f") for name, shape in shapes.items()}
        for _ in MESHES
    ]
    x = draw.normal(size=(4, 3, 8)).astype("f")
    tokens = draw.integers(0, 3, (4, 3))
    gradient = jax.value_and_grad(loss)
    step = mw.pipeline.accumulate(gradient, 2, batch_argnums=(1, 2))
    jitted = mw.jit(step, CONFIG)
    lowered = jitted.lower(layers, x, tokens)
    places = [dict.fromkeys(shapes, mesh) for mesh in MESHES]
    assert lowered.function_mesh_assignment.input_meshes[0] == places
    assert lowered.function_mesh_assignment.output_meshes[1] == places
    close(jitted(layers, x, tokens), jax.jit(step)(layers, x, tokens))


@pytest.mark.parametrize("masks", [jnp.multiply, lambda m, x: jnp.where(m > 0, x, 0)])
def test_a_loss_that_is_masked_as_its_input_was(masks):
    """The mask is made in the first stage; the backward pass begins in the last."""

    def loss(weights, x):
        mask = jnp.tanh(jnp.sign(x))
        hidden = mw.stage_boundary(jnp.tanh(masks(mask, x) @ weights[0]))
        return masks(mask, (jnp.tanh(hidden @ weights[1]) - x) ** 2).mean()

    weights = [np.eye(8, dtype="f") / 2] * 2
    x = np.linspace(-1, 1, 32, dtype="f").reshape(4, 8)
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)
    jitted = mw.jit(step, CONFIG)
    lowered = jitted.lower(weights, x)
    assert lowered.function_mesh_assignment.input_meshes[0] == list(MESHES)
    assert lowered.function_mesh_assignment.output_meshes[1] == list(MESHES)
    sent = [
        item["bytes"]
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "transfer"
    ]
    assert max(sent) <= x.nbytes  # No gradient of a weight.
    close(jitted(weights, x), jax.jit(step)(weights, x))


def test_a_head_that_reads_a_cast_table_is_in_the_last_stage(caplog):
    """The last activation is small beside the table, which the first stage has."""

    def model(table, weight, tokens):
        table = table.astype(jnp.bfloat16)
        x = mw.stage_boundary(jnp.tanh(table[tokens] @ weight))
        x = mw.stage_boundary(jnp.tanh(x @ weight))
        return jnp.einsum("bd,vd->bv", jnp.tanh(x @ weight), table)

    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(3)}
    args = [jnp.ones((128, 16)), jnp.ones((16, 16), jnp.bfloat16), jnp.arange(8)]
    lowered = mw.jit(model, mw.make_config(meshes)).lower(*args)
    assert lowered.function_mesh_assignment.output_meshes == "m2"
    assert "backward dependency" not in caplog.text


def test_loops_of_calls():
    def model(w, x):
        return jnp.tanh(mw.stage_boundary(jnp.tanh(x @ w)) @ w)

    def looped(w, xs):
        def body(total, index, x):
            return total + model(w, x).sum()

        return mw.enumerated_for(body, jnp.float32(0), xs)

    w = 0.5 * np.eye(4, dtype="f")
    xs = [np.full((2, 4), i, "f") for i in range(3)]
    close(mw.jit(looped, CONFIG)(w, xs), jax.jit(looped)(w, xs))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(8, 8, rngs=rngs) for _ in range(4)])
        self.drop = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        for layer in self.layers:
            x = self.drop(jnp.tanh(layer(x)))
        return x


def test_auto_for_nnx():
    x = jax.random.normal(jax.random.key(0), (4, 8))

    def step(model, optimizer, x):
        value, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(model, grads)
        return value

    def train(wrapped):
        model = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
        values = [wrapped(model, optimizer, x) for _ in range(3)]
        return values, nnx.state(model, nnx.Param), model.drop.rngs.count[...]

    jitted = mw.nnx.jit(step, mw.auto_config(MESHES))
    close(train(jitted), train(nnx.jit(step)))
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    out = io.StringIO()
    jitted.lower(model, optimizer, x).report(out)
    assert "Divided by cost\n" in out.getvalue()
    assert "stage 1 on m1" in out.getvalue()


def test_stage_that_was_put_elsewhere_by_name():
    """A named computation with a mesh stays by itself, one without is in its stage."""

    def named(w, x):
        x = mw.named_computation(jnp.tanh, name="free")(x @ w)
        x = mw.stage_boundary(x)
        return mw.named_computation(lambda x: (x**2).mean(), name="err")(x @ w)

    config = mw.make_config(MESHES, {"err": "m0"})
    step = jax.value_and_grad(named)
    w, x = 0.5 * np.eye(4, dtype="f"), np.ones((2, 4), "f")
    jitted = mw.jit(step, config)
    lowered = jitted.lower(w, x)
    origins = {
        origin: item["mesh"]
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call"
        for origin in item["origins"]
    }
    assert origins["err"] == "m0" and origins["stage1"] == "m1"
    assert "free" not in origins
    close(jitted(w, x), jax.jit(step)(w, x))


def test_stage_that_was_put_elsewhere_by_path():
    def named(w, x):
        x = mw.stage_boundary(jnp.tanh(x @ w))
        return mw.named_computation(lambda x: (x**2).mean(), name="err")(x @ w)

    config = mw.make_config(MESHES, mw.pipeline.by_path({"err": "m0"}))
    w, x = 0.5 * np.eye(4, dtype="f"), np.ones((2, 4), "f")
    found = mw.jit(named, config)(w, x)
    assert found.sharding.mesh == MESHES["m0"]
    close(found, jax.jit(named)(w, x))


def test_references_between_stages():
    """Reads and writes of a `jax.Ref` keep their order, whatever their stages are."""

    def model(w, x):
        ref = jax.new_ref(x)
        before = ref[...]
        ref[...] = jnp.tanh(x @ w)
        h = mw.stage_boundary(ref[...])
        ref[...] += h @ w
        return (ref[...] * before).sum()

    step = mw.pipeline.accumulate(jax.value_and_grad(model), 2)
    w = 0.5 * np.eye(4, dtype="f")
    x = np.arange(16, dtype="f").reshape(4, 4) / 16
    close(mw.jit(model, CONFIG)(w, x), jax.jit(model)(w, x))
    close(mw.jit(step, CONFIG)(w, x), jax.jit(step)(w, x))


def test_random_numbers_without_a_key_are_drawn_once():
    def model(w, x):
        mask = jax.jit(lambda: jax.lax.rng_uniform(0.5, 1.5, (2, 4)))()
        h = mw.stage_boundary(jnp.tanh(x @ w) * mask)
        return (h @ w * mask).sum(), mask

    def replayed(w, x, mask):
        return ((jnp.tanh(x @ w) * mask) @ w * mask).sum()

    w, x = 0.5 * np.eye(4, dtype="f"), np.ones((2, 4), "f")
    step = jax.value_and_grad(model, has_aux=True)
    (value, mask), grad = mw.jit(step, CONFIG)(w, x)
    wanted = jax.jit(jax.value_and_grad(replayed))(w, x, np.asarray(mask))
    close((value, grad), wanted)


def test_no_mesh_for_stages():
    meshes = {f"{name}/cpu": mesh for name, mesh in MESHES.items()}
    schedule = mw.PipelineSchedule(schedule_merge_rule_builders=[lambda *_: ([], [])])
    config = mw.make_config(meshes, pipeline_schedule=schedule)
    with pytest.raises(ValueError, match="all meshes of the topology end in /cpu"):
        mw.jit(lambda x: mw.stage_boundary(x + 1) * 2, config).lower(1.0)


@pytest.mark.parametrize("schedule", ["ZeroBubbleV", "DualPipeV"])
def test_schedules_in_the_form_of_a_v(schedule):
    def deep(ws, x, y):
        for number, w in enumerate(ws):
            x = jnp.tanh((mw.stage_boundary(x) if number else x) @ w)
        return ((x - y) ** 2).mean()

    config = mw.make_config(
        MESHES, pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )
    step = mw.pipeline.accumulate(jax.value_and_grad(deep), 8, batch_argnums=(1, 2))
    ws = [0.5 * np.eye(4, dtype="f") + np.float32(0.1 * n) for n in range(4)]
    x = np.arange(64, dtype="f").reshape(16, 4) / 64
    jitted = mw.jit(step, config)
    lowered = jitted.lower(ws, x, x + 1)
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1", "m1", "m0"]
    wanted = jax.jit(jax.value_and_grad(deep))(ws, x, x + 1)
    close(jitted(ws, x, x + 1), wanted)
