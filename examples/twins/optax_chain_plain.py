"""A plain dict of parameters, and a chain of Optax: clipping, a schedule, AdamW."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH, LAYERS, BATCH = 8, 4, 16
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(0.5),
    optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-2, 5, 20)),
)


def make_params():
    random = np.random.default_rng(0)
    scale = 1 / np.sqrt(WIDTH)
    return {
        f"layer{i}": {
            "w": (scale * random.normal(size=(WIDTH, WIDTH))).astype(np.float32),
            "b": np.zeros(WIDTH, np.float32),
        }
        for i in range(LAYERS)
    }


def predict(params, x):
    for layer in params.values():
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def loss_of(params, batch):
    x, y = batch
    return ((predict(params, x) - y) ** 2).mean()


def train_step(params, state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    updates, state = OPTIMIZER.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def make_batch(seed):
    x = np.random.default_rng(seed).normal(size=(BATCH, WIDTH)).astype(np.float32)
    return x, np.sin(x[:, ::-1])


def train(steps=20):
    params = make_params()
    state = OPTIMIZER.init(params)
    step = jax.jit(train_step, donate_argnums=(0, 1))
    losses = []
    for number in range(steps):
        params, state, loss = step(params, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
