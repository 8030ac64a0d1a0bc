"""Plain arrays [L, ...] under `pipeline.scan`, over the meshes of their stages."""

import functools
import logging

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

DEVICES = jax.devices()
TWO = {f"m{i}": Mesh(DEVICES[i : i + 1], "x") for i in range(2)}
WIDE = {"a": Mesh(DEVICES[:2], "x"), "b": Mesh(DEVICES[2:4], "x")}
STAGES = "mpmd_stages"


def block(x, layer):
    return x + jnp.tanh(x @ layer["w"] + layer["b"])


def run_scan(x, layers, stages):
    if stages:
        return mw.pipeline.scan(block, x, layers, num_stages=stages)
    return jax.lax.scan(lambda x, layer: (block(x, layer), None), x, layers)[0]


def make_loss(stages):
    def loss(params, x):
        x = run_scan(x @ params["embed"], params["layers"], stages)
        return ((x @ params["embed"].T) ** 2).mean()

    return loss


def make_step(tx, stages):
    def step(state, xs):
        params, opt = state
        gradient = jax.value_and_grad(make_loss(stages))
        value, grads = mw.pipeline.accumulate(gradient, 2)(params, xs)
        updates, opt = tx.update(grads, opt, params)
        return (optax.apply_updates(params, updates), opt), value

    return step


def parameters(layers=4):
    draw = np.random.default_rng(0).standard_normal
    params = {
        "embed": 0.5 * draw((3, 4), "f"),
        "layers": {
            "w": 0.5 * draw((layers, 4, 4), "f"),
            "b": np.zeros((layers, 4), "f"),
        },
    }
    return jax.tree.map(jnp.asarray, (params, draw((4, 3), "f")))


@functools.cache
def plain_gradient():
    """Of the loss without stages, which most tests compare with."""
    return jax.jit(jax.value_and_grad(make_loss(None)))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def train(tx, meshes, steps=2, **options):
    """Trains with stages and without; returns the state, and what lowers the step."""
    params, xs = parameters()
    theirs = params, tx.init(params)
    ours = jax.tree.map(jnp.array, theirs)
    config = mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    step = mw.jit(make_step(tx, 2), config, **options)
    plain = jax.jit(make_step(tx, None))
    for _ in range(steps):
        ours, value = step(ours, xs)
        theirs, wanted = plain(theirs, xs)
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
    close(ours, theirs)
    assert len(list(step._programs.values())[0]) == 1
    return ours, functools.partial(step.lower, ours, xs)


def test_state_lives_with_the_stages():
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.01))
    (params, opt), lower = train(tx, TWO, donate_argnums=0)
    lowered = lower()
    for found in (params["layers"], opt[1][0].mu["layers"], opt[1][0].nu["layers"]):
        for leaf in jax.tree.leaves(found):
            assert leaf.sharding.spec == P(STAGES)
            homes = [shard.data.device for shard in leaf.addressable_shards]
            assert homes == DEVICES[:2]
    meshes = lowered.function_mesh_assignment.input_meshes[0][0]["layers"]["w"]
    assert meshes.pieces == ("m0", "m1")
    # No layer, gradient or moment travels.
    program = lowered.partitioning_result.program
    moved = {
        tuple(program["values"][item["operand"]]["shape"])
        for item in program["items"]
        if item["kind"] == "transfer"
    }
    assert not moved & {(2, 4, 4), (4, 4, 4), (4, 4)}


@pytest.mark.parametrize(
    "tx",
    [
        optax.MultiSteps(optax.adam(0.01), 2),  # With a branch.
        optax.chain(optax.ema(0.9), optax.adaptive_grad_clip(0.1), optax.lamb(0.1)),
    ],
)
def test_optimizers(tx):
    (params, _), _ = train(tx, TWO)
    assert params["layers"]["w"].sharding.spec == P(STAGES)


def test_outputs_of_layers_stay_with_their_stages():
    """Such as a cache that each layer reads and writes."""

    def decode(layers, cache, x, at):
        def layer(x, each):
            weights, seen = each
            seen = jax.lax.dynamic_update_index_in_dim(seen, x @ weights["w"], at, 0)
            return x + jnp.tanh(seen.sum(0) @ weights["w"]), seen

        return mw.pipeline.scan(layer, x, (layers, cache), num_stages=2)

    layers, x = parameters()[0]["layers"], jnp.ones((2, 4))
    decoded = mw.jit(decode, mw.make_config(TWO), donate_argnums=1)
    caches = [jnp.zeros((4, 3, 2, 4)) for _ in range(2)]
    lowered = decoded.lower(layers, caches[0], x, 0)
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sorted(sent) == [4, x.nbytes]  # The position and the activation.
    for at in range(3):
        found, caches[0] = decoded(layers, caches[0], x, at)
        wanted, caches[1] = jax.jit(decode)(layers, caches[1], x, at)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(*caches, rtol=1e-5)
    assert caches[0].sharding.spec == P(STAGES)


def test_split_inside_of_a_stage():
    params, _ = parameters()
    where = jax.tree.map(lambda leaf: P("x") if leaf.ndim == 3 else P(), params)
    tx = optax.sgd(0.1)
    (params, _), _ = train(tx, WIDE, in_shardings=((where, None), None), tie_state=True)
    assert params["layers"]["w"].sharding.spec == P((STAGES, "x"))


def test_arrays_from_anywhere():
    params, xs = parameters()
    config = mw.make_config(TWO)
    gradient = mw.jit(jax.value_and_grad(make_loss(2)), config)
    wanted = plain_gradient()(params, xs)
    found = gradient(params, xs)
    close(found, wanted)
    assert found[1]["layers"]["w"].sharding.spec == P(STAGES)
    close(gradient(jax.tree.map(np.asarray, params), xs), wanted)
    compiled = gradient.lower(params, xs).compile()
    placed = compiled.place(params)
    assert placed["layers"]["w"].sharding == NamedSharding(
        Mesh(np.array(DEVICES[:2]).reshape(2, 1), (STAGES, "x")), P(STAGES)
    )
    # As a checkpoint is read.
    args = jax.device_put((params, xs), compiled.input_shardings[0])
    close(compiled(*args), wanted)
    close(mw.jit(jax.value_and_grad(make_loss(2)), config)(*args), wanted)
    # It is an array, for NumPy and jax.jit, and for other programs on the meshes.
    w, given = args[0]["layers"]["w"], params["layers"]["w"]
    close((w[1:3], w**2, jnp.sum(w)), (given[1:3], given**2, jnp.sum(given)))
    total = mw.jit(
        mw.named_computation(jnp.sum, name="sum"), mw.make_config(TWO, {"sum": "m1"})
    )
    close(total(w), given.sum())
    with pytest.raises(ValueError, match="expected P.*on meshes 'm0' and 'm1'"):
        compiled(params, args[1])
    shapes = [leaf.shape for leaf in jax.tree.leaves(compiled.in_avals)]
    assert shapes == [leaf.shape for leaf in jax.tree.leaves(args)]


def test_arrays_of_other_types():
    """What is over the meshes in one type has no pieces of another one."""

    def loss(w, x):
        def layer(x, w):
            return jnp.tanh(x @ w.astype(x.dtype))

        return mw.pipeline.scan(layer, x, w, num_stages=2).sum()

    def step(w, x):
        return w - jax.grad(loss)(w, x)

    ours, theirs = mw.jit(step, mw.make_config(TWO)), jax.jit(step)
    params, xs = parameters()
    w, x = params["layers"]["w"], xs @ params["embed"]
    for dtype in (jnp.float32, jnp.float16, jnp.bfloat16, jnp.float32):
        w = w.astype(dtype)
        wanted = theirs(np.asarray(w), x)
        w = ours(w, x)
        assert w.dtype == dtype and w.sharding.spec == P(STAGES)
        np.testing.assert_allclose(w.astype("f4"), wanted.astype("f4"), rtol=0.02)
    with pytest.raises(TypeError, match="'step' was called inside a JAX transf"):
        jax.jit(ours)(w, x)


def test_devices_that_meshes_share():
    lowered = mw.jit(make_loss(2), mw.make_config(TWO)).lower(*parameters())
    lowered.compile(device_assignment=[DEVICES[2], DEVICES[3]])
    with pytest.raises(ValueError, match="device_assignment: meshes share devices"):
        lowered.compile(device_assignment=[DEVICES[2], DEVICES[2]])


@pytest.mark.parametrize("where", ["argument", "in_shardings", "out_shardings"])
def test_fewer_layers_in_a_stage_than_devices(where):
    """Four layers may be split over four devices, two may not."""
    wide = {"a": Mesh(DEVICES[:4], "x"), "b": Mesh(DEVICES[4:8], "x")}
    params, xs = parameters()
    _, wanted = plain_gradient()(params, xs)
    rows = NamedSharding(wide["a"], P("x"))
    everywhere = {"embed": None, "layers": rows}
    options = {}
    if where == "argument":
        params["layers"] = jax.device_put(params["layers"], rows)
    else:
        options[where] = everywhere if where[0] == "o" else (everywhere, None)
    step = mw.jit(jax.grad(make_loss(2)), mw.make_config(wide), **options)
    found = step(params, xs)
    close(found, wanted)
    if where == "out_shardings":
        assert found["layers"]["w"].sharding == rows


def test_what_is_reported_of_gradients():
    """A callback is on one mesh, and so is an array that it is given."""
    seen = []

    def step(params, xs):
        grads = jax.grad(make_loss(2))(params, xs)
        jax.debug.callback(seen.append, grads["layers"]["w"])
        return grads

    params, xs = parameters()
    found = mw.jit(step, mw.make_config(TWO))(params, xs)
    jax.effects_barrier()
    close(found, plain_gradient()(params, xs)[1])
    close(seen, [found["layers"]["w"]])
    assert found["layers"]["b"].sharding.spec == P(STAGES)


def test_donated_arrays_are_gone():
    params, xs = parameters()
    step = mw.jit(make_step(optax.sgd(0.1), 2), mw.make_config(TWO), donate_argnums=0)
    given = params, optax.sgd(0.1).init(params)
    first, _ = step(given, xs)
    second, _ = step(first, xs)
    for state in (given, first):
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(state))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(second))
    with pytest.raises(RuntimeError, match=r"args\[0\]\[0\]\['.*has been deleted"):
        step(first, xs)


@pytest.mark.parametrize(
    ("layers", "meshes", "is_joint"),
    [
        (4, ["m0", "m0", "m1", "m1"], True),  # Two stages make one piece.
        (4, ["m0", "m1", "m0", "m1"], False),
        (6, ["m0", "m0", "m1", "m1"], False),  # Four layers and two.
    ],
)
def test_where_one_array_can_be(layers, meshes, is_joint, caplog):
    params, xs = parameters(layers)
    config = mw.make_config(TWO, stage_to_mesh=meshes)
    with caplog.at_level(logging.INFO, "meshwright"):
        found = mw.jit(jax.value_and_grad(make_loss(4)), config)(params, xs)
    close(found, plain_gradient()(params, xs))
    sharding = found[1]["layers"]["w"].sharding
    assert (STAGES in sharding.mesh.axis_names) == is_joint
    assert ("arrays of stacked layers are on one mesh" in caplog.text) != is_joint


def test_nothing_is_reported_of_what_was_only_tried(caplog):
    """The rows of `b` go to their stages in no form that one array can have."""
    params, xs = parameters(3)
    del params["layers"]["w"]

    def loss(params, x):
        layers = params["layers"]
        x = jnp.tanh(x @ params["embed"] + layers["b"][0] + layers["b"][2])
        x = mw.stage_boundary(x) @ params["embed"].T
        x = jnp.tanh(x @ params["embed"] + layers["b"][1]) @ params["embed"].T
        return (x**2).mean()

    tx = optax.adamw(0.1)

    def step(state, x):
        params, opt = state
        grads = mw.pipeline.accumulate(jax.grad(loss), 2)(params, x)
        updates, opt = tx.update(grads, opt, params)
        return optax.apply_updates(params, updates), opt

    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(TWO, pipeline_schedule=schedule)
    state = params, tx.init(params)
    with caplog.at_level(logging.INFO, "meshwright"):
        ours = mw.jit(step, config, tie_state=True)(state, xs)
    close(ours, jax.jit(step)(state, xs))
    assert "arrays of stacked layers are on one mesh" in caplog.text
    assert not [r for r in caplog.records if r.levelno > logging.INFO]


def test_an_assigned_array_stays_whole():
    params, xs = parameters()
    config = mw.make_config(
        TWO, input_mesh_assignment=("m1", None), output_mesh_assignment=(None, "m1")
    )
    found = mw.jit(jax.value_and_grad(make_loss(2)), config)(params, xs)
    close(found, plain_gradient()(params, xs))
    assert found[1]["layers"]["w"].sharding.mesh == TWO["m1"]


def test_what_is_done_across_layers():
    """Whatever a step does with stacked arrays, its results are those of one array."""
    params, xs = parameters()

    def step(params, x, stages):
        value, grads = jax.value_and_grad(make_loss(stages))(params, x)
        g, w = grads["layers"]["w"], params["layers"]["w"]
        return (
            value,
            w - 0.1 * g / jnp.maximum(1, jnp.max(jnp.abs(g))),
            jnp.roll(g, 1, axis=0) + jnp.cumsum(w, axis=0),
            (g.reshape(4, 16) @ jnp.ones((16, 2)), g.transpose(0, 2, 1), g.sum((1, 2))),
            jnp.where(jnp.arange(4)[:, None, None] > 1, g, 0.0),
            jax.lax.cond(value > 0, lambda a, b: (a, b), lambda a, b: (b, a), g, w),
            jax.checkpoint(jax.nn.relu)(g) + jnp.einsum("lij,lkj->lik", g, w),
            (g[1:3], g[::2], jnp.linalg.norm(g), jnp.argmax(g, axis=0)),
        )

    found = mw.jit(lambda p, x: step(p, x, 2), mw.make_config(TWO))(params, xs)
    close(found, jax.jit(lambda p, x: step(p, x, None))(params, xs))


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_key_for_each_layer(where):
    """Keys are stacked, too: given as an array, or split in the step."""
    params, xs = parameters()

    def noisy(x, layer):
        part, key = layer
        return block(x, part) * jax.random.bernoulli(key, 0.9, x.shape)

    def loss(params, key, x, stages):
        keys = jax.random.split(key, 4) if where == "inside" else key
        layers, x = (params["layers"], keys), x @ params["embed"]
        if stages:
            x = mw.pipeline.scan(noisy, x, layers, num_stages=stages)
        else:
            x, _ = jax.lax.scan(lambda x, layer: (noisy(x, layer), None), x, layers)
        return (x**2).mean()

    key = jax.random.key(0)
    key = jax.random.split(key, 4) if where == "outside" else key
    found = mw.jit(
        lambda *args: jax.value_and_grad(loss)(*args, 2), mw.make_config(TWO)
    )(params, key, xs)
    plain = jax.jit(lambda *args: jax.value_and_grad(loss)(*args, None))
    close(found, plain(params, key, xs))
    assert found[1]["layers"]["w"].sharding.spec == P(STAGES)


def test_arguments_by_keyword_and_static_ones():
    params, xs = parameters()

    def step(scale, *, params, x, squared):
        value, grads = jax.value_and_grad(make_loss(2))(params, x)
        return (value**2 if squared else value) * scale, grads

    options = {"static_argnames": "squared", "static_argnums": 0}
    jitted = mw.jit(step, mw.make_config(TWO), donate_argnames="params", **options)
    given = jax.tree.map(jnp.array, params)
    value, grads = jitted(3, params=given, x=xs, squared=True)
    wanted, slopes = plain_gradient()(params, xs)
    close((value, grads), (3 * wanted**2, slopes))
    assert given["layers"]["w"].is_deleted()
    # What one program gives is what another may be given.
    where = jitted.lower(3, params=params, x=xs, squared=True).compile()
    where = where.output_shardings[1]
    plain = mw.jit(
        jax.value_and_grad(make_loss(2)),
        mw.make_config(TWO),
        in_shardings=(where, None),
        out_shardings=(None, where),
    )
    close(plain(params, xs), (wanted, slopes))


def test_layers_of_nnx_modules():
    """Variables of modules that `nnx.vmap` stacked hold what spans the meshes."""

    @nnx.split_rngs(splits=4)
    @nnx.vmap
    def make_layers(rngs):
        return nnx.Linear(3, 3, rngs=rngs)

    def make(stages):
        layers = make_layers(nnx.Rngs(0))
        return layers, nnx.Optimizer(layers, optax.adam(0.1), wrt=nnx.Param), stages

    def train_step(layers, optimizer, x, stages):
        def loss(layers, x):
            graph, params = nnx.split(layers)

            def apply(h, part):
                return jnp.tanh(nnx.merge(graph, part)(h))

            if stages:
                h = mw.pipeline.scan(jax.checkpoint(apply), x, params, num_stages=2)
            else:
                h = jax.lax.scan(lambda h, p: (apply(h, p), None), x, params)[0]
            return (h**2).mean()

        value, grads = nnx.value_and_grad(loss)(layers, x)
        optimizer.update(layers, grads)
        return value

    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    jitted = mw.nnx.jit(train_step, mw.make_config(TWO), static_argnums=3)
    ours, theirs = make(2), make(0)
    for _ in range(2):
        found = jitted(*ours[:2], x, 2)
        wanted = nnx.jit(train_step, static_argnums=3)(*theirs[:2], x, 0)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    kernel = ours[0].kernel[...]
    assert kernel.sharding.spec == P(STAGES)
    close(kernel, theirs[0].kernel[...])
