"""A training step of experts for any schedule that overlaps forwards and backwards.

Each device of a mesh has experts, whose rows come and go by `all_to_all`. With shared
weights a stage also has a matrix on all devices, of whose gradient each has a part, and
something that is made of it alone, so that reductions can wait and work be done once.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw
from support.schedule_training import count_copies, stage_config

MESHES, DEVICES, ROWS, WIDTH = 4, 2, 4, 8
#: The schedules that pair, and how many stages they have.
PAIRED = {
    "DualPipe": 8,
    "DualPipeV": 8,
    "Combined1F1B": 4,
    "CombinedInterleaved1F1B": 8,
}
#: Those that train with shared weights, and options for them, over processes: one with
#: two copies of the model, whose gradients are summed, and one with a single one.
SHARED = ("DualPipe", "CombinedInterleaved1F1B")
#: Those that may, by times and memory.
SEARCHED = {"auto": 4}


def make_topology() -> dict[str, Mesh]:
    devices = np.array(jax.devices()[: MESHES * DEVICES]).reshape(MESHES, DEVICES)
    return {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}


def experts(mesh, w, x):
    """Rows go to the device of their expert, and come back."""

    def own(w, x):
        x = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        x = jnp.tanh(x @ w[0])
        return jax.lax.all_to_all(x, "x", 0, 1, tiled=True)

    specs = {"in_specs": (P("x"), P("x")), "out_specs": P("x")}
    return x + jax.shard_map(own, mesh=mesh, **specs)(w, x)


def distance(x, y):
    return ((x - y) ** 2).mean()


def apply_layer(mesh, w, x):
    x = experts(mesh, w["experts"], x)
    if "shared" in w:
        x = jnp.tanh(x @ jnp.tanh(w["shared"] @ w["shared"]))
    return x


def make_step(mesh, stages, copies, microbatches, log=None):
    of_copy = [list(part) for part in np.split(np.arange(stages), copies)]

    def layer(stage, w, x):
        if log is not None and stage == 0:
            io_callback(log, None, x[0, 0])
        return apply_layer(mesh, w, x)

    def loss(mine, weights, x, y):
        for w, stage in zip(weights, mine, strict=True):
            named = mw.named_computation(
                functools.partial(layer, stage), name=f"stage{stage}"
            )
            x = named(w, x)
        return mw.named_computation(distance, name=f"stage{mine[-1]}")(x, y)

    gradients = [jax.value_and_grad(functools.partial(loss, mine)) for mine in of_copy]

    def step(weights, xs, ys):
        sums, total = [None] * copies, 0.0
        for m in range(microbatches):
            copy = m * copies // microbatches
            mine = [weights[s] for s in of_copy[copy]]
            found, grads = mw.call(gradients[copy], call_counter=m)(mine, xs[m], ys[m])
            total = total + found
            if sums[copy] is not None:
                grads = jax.tree.map(jnp.add, sums[copy], grads)
            sums[copy] = grads
        grads = sums[0]
        if copies == 2:
            both = jax.tree.map(lambda a, b: mw.reduce(a + b), *sums)
            grads = 2 * both
        return total, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step


def make_inputs(stages, copies, microbatches, shared=False):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    def draw_stage():
        w = {"experts": draw(DEVICES, WIDTH // 2, WIDTH // 2)}
        return w | ({"shared": draw(WIDTH, WIDTH) / 4} if shared else {})

    weights = copies * [draw_stage() for _ in range(stages // copies)]
    xs, ys = ([draw(ROWS, WIDTH) for _ in range(microbatches)] for _ in range(2))
    return weights, xs, ys


def lower(
    schedule,
    microbatches=8,
    log=None,
    topology=None,
    shared=False,
    plan=None,
    **options,
):
    """The step, by a schedule or by a `plan` in a file that has the same stages."""
    topology = topology or make_topology()
    stages, copies = (PAIRED | SEARCHED)[schedule], count_copies(schedule)
    pipeline = mw.get_pipeline_schedule(plan or schedule)
    options = {"mpmd_infer_cross_mesh_reductions": True, **options}
    config = stage_config(
        schedule, topology, stages, options, pipeline_schedule=pipeline
    )
    mesh = next(iter(topology.values()))
    split, whole = (NamedSharding(mesh, spec) for spec in (P("x"), P()))
    weights, xs, ys = make_inputs(stages, copies, microbatches, shared)
    of_weights = [
        {name: {"experts": split, "shared": whole}[name] for name in w} for w in weights
    ]
    step = make_step(mesh, stages, copies, microbatches, log)
    train = mw.jit(
        step, config, in_shardings=(of_weights, split, split), donate_argnums=0
    )
    return train.lower(weights, xs, ys)


def train(lowered, schedule, microbatches=8, steps=2, shared=False):
    """Losses and weights of a few steps; over processes, on each of them."""
    return train_compiled(lowered.compile(), schedule, microbatches, steps, shared)


def train_compiled(compiled, schedule, microbatches=8, steps=2, shared=False):
    weights, xs, ys = make_inputs(
        (PAIRED | SEARCHED)[schedule], count_copies(schedule), microbatches, shared
    )
    place = compiled.input_shardings[0]
    weights, xs, ys = mw.distributed.place((weights, xs, ys), place)
    losses = []
    for _ in range(steps):
        given = weights
        loss, weights = compiled(weights, xs, ys)
        assert all(w.is_deleted() for w in jax.tree.leaves(given))
        losses.append(loss)
    return mw.fetch((losses, weights))


@functools.cache
def _plain_gradient(apply):
    """The gradient of a microbatch by layers [stage, ...], without meshes."""
    mesh = Mesh(np.array(jax.local_devices()[:DEVICES]), "x")

    def loss(layers, x, y):
        x, _ = jax.lax.scan(lambda x, w: (apply(mesh, w, x), None), x, layers)
        return distance(x, y)

    return jax.jit(jax.value_and_grad(loss))


def sum_plainly(apply, weights, xs, ys):
    """The sums of the losses and of the gradients of all microbatches, on no device.

    Stages are trips of a loop, whose body is traced and compiled once.
    """
    layers = jax.tree.map(lambda *leaves: np.stack(leaves), *weights)
    found = [
        jax.device_get(_plain_gradient(apply)(layers, x, y))
        for x, y in zip(xs, ys, strict=True)
    ]
    loss, grads = jax.tree.map(lambda *leaves: sum(leaves), *found)
    leaves, tree = jax.tree.flatten(grads)
    return loss, [tree.unflatten(part) for part in zip(*leaves, strict=True)]


@functools.cache
def train_plainly(stages, copies, microbatches=8, steps=2, shared=False):
    """The losses and weights of the same steps; of all copies, which stay the same,
    one is trained."""
    weights, xs, ys = make_inputs(stages, copies, microbatches, shared)
    weights, losses = weights[: stages // copies], []
    for _ in range(steps):
        loss, grads = sum_plainly(apply_layer, weights, xs, ys)
        losses.append(loss)
        weights = jax.tree.map(lambda w, g: w - np.float32(0.1) * g, weights, grads)
    return losses, copies * weights


def find_pairs(lowered):
    program = lowered.partitioning_result.program
    return [item for item in program["items"] if "overlapped" in item]


def assert_close(found, expected, tolerance=1e-5):
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=tolerance, atol=tolerance),
        found,
        expected,
    )
