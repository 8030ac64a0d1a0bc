"""A mixture of experts: a layer is a stage, and `shard_map` splits it inside."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import meshwright as mw

WIDTH, HIDDEN, EXPERTS, LAYERS, TOKENS = 8, 8, 4, 2, 32
OPTIMIZER = optax.adam(1e-2)


def make_params():
    random = np.random.default_rng(0)

    def draw(*shape):
        return (0.5 * random.normal(size=shape)).astype(np.float32)

    return [
        {
            "router": draw(WIDTH, EXPERTS),
            "up": draw(EXPERTS, WIDTH, HIDDEN),
            "down": draw(EXPERTS, HIDDEN, WIDTH),
        }
        for _ in range(LAYERS)
    ]


def run_experts(x, gates, up, down):
    """On one device: all tokens, and the experts that it has."""
    hidden = jax.nn.gelu(jnp.einsum("td,edh->eth", x, up))
    found = jnp.einsum("te,eth,ehd->td", gates, hidden, down)
    return jax.lax.psum(found, "experts")


def mix(mesh, p, x):
    """Sends each token to its best expert, and adds what that makes of it."""
    scores = jax.nn.softmax(x @ p["router"])
    gates = jnp.where(scores == scores.max(-1, keepdims=True), scores, 0)
    specs = (P(), P(None, "experts"), P("experts"), P("experts"))
    mixed = jax.shard_map(run_experts, mesh=mesh, in_specs=specs, out_specs=P())
    return x + mixed(x, gates, p["up"], p["down"])


def make_step(mesh):
    def loss_of(params, batch):
        x, y = batch
        for number, p in enumerate(params):
            x = mix(mesh, p, mw.stage_boundary(x) if number else x)
        return ((x - y) ** 2).mean()

    def train_step(params, state, batch):
        gradient = mw.pipeline.accumulate(jax.value_and_grad(loss_of), 4)
        loss, grads = gradient(params, batch)
        updates, state = OPTIMIZER.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    return train_step


def make_batch(seed):
    x = np.random.default_rng(seed).normal(size=(TOKENS, WIDTH)).astype(np.float32)
    return x, np.abs(x)


def train(steps=20):
    params = make_params()
    state = OPTIMIZER.init(params)
    devices = np.array(jax.devices()[: 2 * LAYERS]).reshape(LAYERS, 2)
    meshes = {f"m{i}": Mesh(row, "experts") for i, row in enumerate(devices)}
    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(meshes, pipeline_schedule=schedule)
    step = mw.jit(make_step(config.sharding_mesh), config)
    losses = []
    for number in range(steps):
        params, state, loss = step(params, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
