"""LoRA: small matrices are trained on a base that stays as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH, LAYERS, RANK, BATCH = 8, 4, 2, 16
OPTIMIZER = optax.adam(3e-2)


def draw(random, *shape):
    return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)


def make_weights():
    """The base, and for each layer a product of rank two that begins at zero."""
    random = np.random.default_rng(0)
    base = [draw(random, WIDTH, WIDTH) for _ in range(LAYERS)]
    down = [draw(random, WIDTH, RANK) for _ in range(LAYERS)]
    return [(a, np.zeros((RANK, WIDTH), np.float32)) for a in down], base


def predict(lora, base, x):
    for (a, b), w in zip(lora, base, strict=True):
        x = x + jnp.tanh(x @ w + x @ a @ b)
    return x


def loss_of(lora, base, batch):
    x, y = batch
    return ((predict(lora, base, x) - y) ** 2).mean()


def train_step(lora, state, base, batch):
    loss, grads = jax.value_and_grad(loss_of)(lora, base, batch)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(lora, updates), state, loss


def make_batch(seed):
    x = np.random.default_rng(seed).normal(size=(BATCH, WIDTH)).astype(np.float32)
    return x, 2 * np.roll(x, 1, -1)


def train(steps=20):
    lora, base = make_weights()
    state = OPTIMIZER.init(lora)
    step = jax.jit(train_step, donate_argnums=(0, 1))
    losses = []
    for number in range(steps):
        lora, state, loss = step(lora, state, base, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
