"""A mixture of experts: `shard_map` gives each of two devices half of them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

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
        for p in params:
            x = mix(mesh, p, x)
        return ((x - y) ** 2).mean()

    def train_step(params, state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        updates, state = OPTIMIZER.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    return train_step


def make_batch(seed):
    x = np.random.default_rng(seed).normal(size=(TOKENS, WIDTH)).astype(np.float32)
    return x, np.abs(x)


def train(steps=20):
    params = make_params()
    state = OPTIMIZER.init(params)
    step = jax.jit(make_step(Mesh(jax.devices()[:2], "experts")))
    losses = []
    for number in range(steps):
        params, state, loss = step(params, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
