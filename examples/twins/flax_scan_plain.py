"""A Flax Linen model whose layers are stacked by `nn.scan`."""

import flax.linen as nn
import jax
import numpy as np
import optax

VOCABULARY, LENGTH, WIDTH, LAYERS, BATCH = 16, 8, 8, 4, 8
OPTIMIZER = optax.adam(1e-2)


class Block(nn.Module):
    """Mixes positions, then features; gives what `nn.scan` wants."""

    @nn.compact
    def __call__(self, x, _):
        x = x + nn.Dense(LENGTH)(nn.LayerNorm()(x).swapaxes(1, 2)).swapaxes(1, 2)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(x))), None


class Model(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        stack = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
        layers = nn.scan(Block, length=LAYERS, **stack)(name="layers")
        x, _ = layers(x, None)
        return nn.Dense(VOCABULARY)(x)


def loss_of(params, batch):
    tokens, wanted = batch
    logits = Model().apply(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()


def train_step(params, state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def make_batch(seed):
    """Texts, and the same backwards."""
    shape = (BATCH, LENGTH)
    tokens = np.random.default_rng(seed).integers(0, VOCABULARY, shape)
    return tokens, tokens[:, ::-1]


def train(steps=20):
    params = jax.jit(Model().init)(jax.random.key(0), make_batch(0)[0])
    state = OPTIMIZER.init(params)
    step = jax.jit(train_step)
    losses = []
    for number in range(steps):
        params, state, loss = step(params, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
