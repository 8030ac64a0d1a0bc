"""A decoder like Gemma's that continues a prompt: prefill, then token by token."""

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, WIDTH, LAYERS, HEADS, SIZE, BATCH, LENGTH = 32, 16, 2, 4, 8, 2, 32


def make_params():
    random = np.random.default_rng(0)

    def draw(*shape):
        return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    def layer():
        return {
            "norms": 0.1 * draw(2, WIDTH),
            "q": draw(WIDTH, HEADS, SIZE),
            "kv": draw(WIDTH, 2, SIZE),  # One head of keys and values for all.
            "out": draw(HEADS * SIZE, WIDTH),
            "gates": draw(WIDTH, 2, 2 * WIDTH),
            "down": draw(2 * WIDTH, WIDTH),
        }

    layers = [layer() for _ in range(LAYERS)]
    return {"embed": draw(VOCABULARY, WIDTH), "layers": layers}


def normalize(x, scale):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * (1 + scale)


def rotate(x, positions):
    """Turns pairs of features by angles that grow with the position."""
    angles = positions[:, None] * 100.0 ** -jnp.linspace(0, 1, SIZE // 2)
    sin, cos = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attend(p, x, cache, start):
    positions = start + jnp.arange(x.shape[1])
    q = rotate(jnp.einsum("btd,dhs->bths", x, p["q"]), positions)
    k, v = jnp.moveaxis(jnp.einsum("btd,dns->bnts", x, p["kv"]), 1, 0)
    new = jnp.stack([rotate(k[:, :, None], positions)[:, :, 0], v])
    cache = jax.lax.dynamic_update_slice(cache, new, (0, 0, start, 0))
    scores = jnp.einsum("bths,bus->bhtu", q, cache[0]) / np.sqrt(SIZE)
    seen = jnp.arange(LENGTH) <= positions[:, None]
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    found = jnp.einsum("bhtu,bus->bths", weights, cache[1])
    return found.reshape(*x.shape[:2], -1) @ p["out"], cache


def extend(params, tokens, caches, start):
    """Reads tokens from position `start` on; gives the next one and its loss."""
    x = params["embed"][tokens] * np.sqrt(WIDTH)
    new = []
    for p, cache in zip(params["layers"], caches, strict=True):
        change, cache = attend(p, normalize(x, p["norms"][0]), cache, start)
        x = x + change
        gate, up = jnp.einsum("btd,dgh->gbth", normalize(x, p["norms"][1]), p["gates"])
        x = x + (jax.nn.gelu(gate) * up) @ p["down"]
        new.append(cache)
    logits = 30 * jnp.tanh(normalize(x[:, -1], 0.0) @ params["embed"].T / 30)
    return logits.argmax(-1), -jax.nn.log_softmax(logits).max(-1).mean(), new


def prefill(params, prompt):
    empty = [jnp.zeros((2, BATCH, LENGTH, SIZE))] * LAYERS
    return extend(params, prompt, empty, 0)


def decode(params, token, caches, position):
    return extend(params, token[:, None], caches, position)


def train(steps=20):
    """Nothing is trained here: these are the losses of the tokens that it chose."""
    params = make_params()
    prompt = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, 6))
    token, loss, caches = jax.jit(prefill)(params, prompt)
    step = jax.jit(decode, donate_argnums=2)
    losses = [loss]
    for position in range(6, 5 + steps):
        token, loss, caches = step(params, token, caches, position)
        losses.append(loss)
    return [float(loss) for loss in losses]


if __name__ == "__main__":
    print(train())
