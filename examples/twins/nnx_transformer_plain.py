"""A transformer in Flax NNX with dropout, and gradients of two microbatches."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

VOCABULARY, LENGTH, WIDTH, LAYERS, BATCH, MICROBATCHES = 16, 8, 8, 2, 4, 2


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norms = nnx.List([nnx.LayerNorm(WIDTH, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(2, WIDTH, decode=False, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        mask = nnx.make_causal_mask(x[..., 0])
        x = x + self.dropout(self.attention(self.norms[0](x), mask=mask))
        return x + self.dropout(self.down(nnx.gelu(self.up(self.norms[1](x)))))


class Transformer(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def loss_of(model, tokens):
    logits, wanted = model(tokens)[:, :-1], tokens[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()


def train_step(model, optimizer, tokens):
    gradient = nnx.value_and_grad(loss_of)
    parts = [gradient(model, part) for part in jnp.split(tokens, MICROBATCHES)]
    loss, grads = jax.tree.map(lambda *part: sum(part) / MICROBATCHES, *parts)
    optimizer.update(model, grads)
    return loss


def train(steps=20):
    model = Transformer(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    step = nnx.jit(train_step)
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, LENGTH))
    return [float(step(model, optimizer, tokens)) for _ in range(steps)]


if __name__ == "__main__":
    print(train())
