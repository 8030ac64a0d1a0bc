"""Stacked layers in stages: `pipeline.scan` in place of `jax.lax.scan`."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
TWO = dict(list(MESHES.items())[:2])
TX = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.01))


def block(x, layer):
    return x + jnp.tanh(x @ layer["w"] + layer["b"])


def pair(x, layer):
    x = block(x, layer)
    return x, jnp.abs(x).mean()


def make_loss(stages, scan=None):
    def loss(params, x, y):
        x = x @ params["embed"]
        if scan:
            x, sizes = scan(pair, x, params["layers"])
        else:
            x, sizes = mw.pipeline.scan(pair, x, params["layers"], num_stages=stages)
        return ((x @ params["embed"].T - y) ** 2).mean() + 0.1 * sizes.mean()

    return loss


def make_step(loss):
    def step(state, xs, ys):
        params, opt = state
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss), 4, batch_argnums=(1, 2)
        )(params, xs, ys)
        updates, opt = TX.update(grads, opt, params)
        return (optax.apply_updates(params, updates), opt), value

    return step


def arguments(layers=8):
    draw = np.random.default_rng(0).standard_normal
    params = {
        "embed": 0.5 * draw((3, 4), "f"),
        "layers": {
            "w": 0.5 * draw((layers, 4, 4), "f"),
            "b": np.zeros((layers, 4), "f"),
        },
    }
    xs, ys = draw((2, 8, 3), "f")
    return (params, init(params)), xs, ys


def init(params):
    """The state of the optimizer, which begins with zeros."""
    shapes = jax.eval_shape(TX.init, params)
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("schedule", "meshes", "layers"),
    [
        ("1F1B", MESHES, 8),
        ("Interleaved1F1B", TWO, 6),  # Two stages of two layers, two of one.
    ],
)
def test_training_equals_lax_scan(schedule, meshes, layers):
    state, xs, ys = arguments(layers)
    config = mw.make_config(
        meshes, pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )
    step = mw.jit(make_step(make_loss(4)), config, donate_argnums=0)
    plain = jax.jit(make_step(make_loss(4, jax.lax.scan)))
    ours = theirs = state
    for _ in range(3):
        ours, mine = step(ours, xs, ys)
        theirs, value = plain(theirs, xs, ys)
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    close(ours, theirs)


def test_gradients_of_layers_are_sent_once():
    """Where an array is on one mesh, each stage sends the sum of its gradients."""
    (params, _), xs, ys = arguments(4)
    gradient = jax.value_and_grad(make_loss(4))
    # The layers of a mesh are not next to each other.
    config = mw.make_config(TWO, stage_to_mesh=["m0", "m1", "m0", "m1"])

    def layers_sent(microbatches):
        step = mw.pipeline.accumulate(gradient, microbatches, batch_argnums=(1, 2))
        program = mw.jit(step, config).lower(params, xs, ys)
        program = program.partitioning_result.program
        moved = [
            program["values"][item["operand"]]["shape"]
            for item in program["items"]
            if item["kind"] == "transfer" and item["to"] == "m0"
        ]
        return moved.count([1, 4, 4])

    assert [layers_sent(2), layers_sent(4)] == [2, 2]


def test_parts_stay_where_their_stages_are():
    (params, _), xs, ys = arguments(6)
    split = {**params, "layers": mw.pipeline.parts(params["layers"], 4)}
    state = split, init(split)
    loss = make_loss(None)
    config = mw.make_config(TWO, stage_to_mesh=["m0", "m1", "m0", "m1"])
    step = mw.jit(make_step(loss), config, donate_argnums=0)
    meshes = step.lower(state, xs, ys).function_mesh_assignment
    for tree in (meshes.input_meshes[0], meshes.output_meshes[0]):
        for found in (tree[0]["layers"]["w"], tree[1][1][0].mu["layers"]["b"]):
            assert found.pieces == ("m0", "m1", "m0", "m1")
    ours, theirs = state, (params, init(params))
    plain = jax.jit(make_step(make_loss(4, jax.lax.scan)))
    for _ in range(2):
        ours, mine = step(ours, xs, ys)
        theirs, value = plain(theirs, xs, ys)
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    w = ours[0]["layers"]["w"]
    assert (w.shape, w.dtype, w.ndim, w.size) == ((6, 4, 4), jnp.float32, 3, 96)
    close(mw.pipeline.whole(ours), theirs)
    # Without mw.jit, too, and under transformations.
    value, wanted = jax.jit(jax.value_and_grad(plain_loss))(params, xs, ys)
    close(loss(split, xs, ys), value)
    grads = jax.jit(jax.grad(loss))(split, xs, ys)
    close(mw.pipeline.whole(grads), wanted)
    with pytest.raises(
        ValueError, match=r"parts of \[2, 2, 1, 1\] layers.*split them with"
    ):
        jax.jit(make_loss(3))(split, xs, ys)


def test_parts_are_used_as_the_array():
    array = jnp.arange(1, 13, dtype=jnp.float32).reshape(6, 2)
    split = mw.pipeline.parts(array, num_stages=4)
    row = jnp.array([3, 5], jnp.float32)
    column = jnp.arange(6, dtype=jnp.float32)[:, None]

    def results(w):
        return [
            *(w + 2, 2 - w, w * row, 2 / w, w**2, -w, w - column, w * w[:1], w + w),
            *(w.astype(jnp.int32), w[4], w[-1], w[1:3], jnp.sum(w), jnp.dot(w, row)),
        ]

    for found in (results(split), jax.jit(results)(split)):
        close(mw.pipeline.whole(found), results(array))
        kinds = [isinstance(value, mw.pipeline.Parts) for value in found]
        assert kinds == [True] * 10 + [False] * 5
    other = mw.pipeline.parts(array, num_stages=3)
    close(split + other, array + array)
    assert len(split) == 6 and len(list(split)) == 6
    with pytest.raises(IndexError):
        split[6]
    with pytest.raises(TypeError):
        split + jnp.ones((6, 3))

    # A step of plain descent, as one writes it for an array.
    def step(w, x):
        loss = lambda w: mw.pipeline.scan(lambda h, w: jnp.tanh(h * w), x, w).sum()  # noqa: E731
        return w - 0.1 * jax.grad(loss)(w)

    config = mw.make_config(TWO, stage_to_mesh=["m0", "m1"])
    halves = mw.pipeline.parts(array, num_stages=2)
    found = mw.jit(step, config, tie_state=True)(halves, row)
    assert [piece.sharding.mesh for piece in found.pieces] == [*TWO.values()]
    close(mw.pipeline.whole(found), mw.pipeline.whole(step(halves, row)))


def test_parts_beside_numpy_and_more_dimensions():
    array = jnp.arange(1, 13, dtype=jnp.float32).reshape(6, 2)
    split = mw.pipeline.parts(array, num_stages=4)

    def results(w):
        whole = np.arange(12, dtype=np.float32).reshape(6, 2)
        return [np.float32(2) * w, whole - w, whole[:1] ** w, w + np.ones((1, 1, 2))]

    for found in (results(split), jax.jit(results)(split)):
        close(mw.pipeline.whole(found), results(array))
        kinds = [isinstance(value, mw.pipeline.Parts) for value in found]
        assert kinds == [True] * 3 + [False]
    rows = np.asarray(array)
    close(
        [rows.T @ split, rows == split, np.exp(split)],
        [rows.T @ rows, True, np.exp(rows)],
    )
    total = np.zeros_like(rows)
    total += split
    close([total, np.add.reduce(split)], [rows, rows.sum(0)])
    again = mw.pipeline.parts({"w": split}, num_stages=3)["w"]
    assert [piece.shape for piece in again.pieces] == [(2, 2)] * 3
    close(mw.pipeline.whole(again), array)


def test_parts_of_keys():
    keys = jax.random.split(jax.random.key(0), 3)
    split = mw.pipeline.parts(keys, num_stages=2)
    assert jnp.array_equal(mw.pipeline.whole(split), keys)

    def step(keys):
        return mw.pipeline.scan(
            lambda x, key: x + jax.random.normal(key), 0.0, keys, num_stages=2
        )

    close(step(split), step(keys))
    close(jax.jit(step)(split), step(keys))


def plain_loss(params, x, y):
    return make_loss(4, jax.lax.scan)(params, x, y)


def test_remat_of_the_block_and_plain_results():
    weights = 0.5 * np.random.default_rng(0).standard_normal((6, 4, 4), "f")
    x = np.ones((2, 4), "f")

    def layer(x, w):
        return jnp.tanh(x @ w)

    def loss(weights, x, scan):
        return (scan(jax.checkpoint(layer), x, weights) ** 2).sum()

    def ours(block, x, weights):
        return mw.pipeline.scan(block, x, weights, num_stages=3, unroll=2)

    def theirs(block, x, weights):
        return jax.lax.scan(lambda x, w: (block(x, w), None), x, weights)[0]

    three = mw.make_config(dict(list(MESHES.items())[:3]))
    found = mw.jit(jax.value_and_grad(lambda w, x: loss(w, x, ours)), three)(weights, x)
    plain = jax.jit(jax.value_and_grad(lambda w, x: loss(w, x, theirs)))
    wanted = plain(weights, x)
    close(found, wanted)
    close(loss(weights, x, ours), wanted[0])
    close(jax.jit(lambda w, x: loss(w, x, ours))(weights, x), wanted[0])


@pytest.mark.parametrize(
    ("stacked", "stages", "message"),
    [
        (jnp.ones((2, 3)), 3, "from 1 to the number of layers, 2, got 3"),
        (jnp.ones((2, 3)), 0, "got 0"),
        ({"a": jnp.ones((2, 3)), "b": jnp.ones((4, 3))}, 2, r"\['b'\]: 4"),
        (jnp.float32(1), 1, "is a scalar"),
        ({}, 1, "holds no array"),
    ],
)
def test_bad_layers(stacked, stages, message):
    with pytest.raises(ValueError, match=message):
        mw.pipeline.scan(lambda x, w: x, 0.0, stacked, num_stages=stages)


def test_bad_block():
    with pytest.raises(TypeError, match="must give the next x"):
        mw.pipeline.scan(lambda x, w: (x, x, x), 0.0, jnp.ones(2), num_stages=1)
    with pytest.raises(TypeError):
        mw.pipeline.scan(lambda x, w: x, 0.0, jnp.ones(2), num_stages=1.5)
    with pytest.raises(TypeError, match="num_stages is missing"):
        mw.pipeline.scan(lambda x, w: x, 0.0, jnp.ones(2))
