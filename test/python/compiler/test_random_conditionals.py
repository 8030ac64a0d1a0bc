"""Random conditionals over states on several meshes give what `jax.jit` gives."""

import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES = {
    mesh: Mesh(jax.devices()[i : i + 1], "x") for i, mesh in enumerate(("a", "b", "c"))
}
CONFIG = mw.make_config(
    MESHES,
    {"f": "a", "g": "b", "h": "c"},
    partitioning_options={"mpmd_infer_transfers": True},
)
SIZE = 4

# Cheap and costly, of one value and of two, local and over everything.
STEPS = (
    lambda a, b: a + b,
    lambda a, b: jnp.sin(a) * 2 + 1,
    lambda a, b: a * b.sum(),
    lambda a, b: a @ b / SIZE,
    lambda a, b: a - jnp.sqrt((a * a).sum() + (b * b).sum()),
    lambda a, b: jnp.cumsum(a, axis=0) / SIZE,
    lambda a, b: jnp.sort(a, axis=0),
)


def branch(values, count, seed, depth=0):
    """Some of the values, and some computed from them, in a random way."""
    rng = random.Random(seed)
    pool = list(values)
    for _ in range(rng.randint(0, 7)):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.randrange(len(STEPS) + 1)
        if kind < len(STEPS):
            pool.append(STEPS[kind](a, b))
        elif depth < 2:
            seeds = rng.random(), rng.random()
            pool += jax.lax.cond(
                a.sum() > b.sum(),
                *(
                    functools.partial(branch, pool[:count], count, s, depth + 1)
                    for s in seeds
                ),
            )
    return [
        rng.choice(pool) if rng.random() < 0.6 else value for value in values[:count]
    ]


def make_program(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    names = [rng.choice("fgh") for _ in range(count)]
    seeds = [rng.random() for _ in range(rng.choice([2, 2, 3]))]
    rounds, predicate = rng.choice([1, 1, 2]), rng.randrange(3)

    def program(w, x):
        for _ in range(rounds):
            derived = [
                mw.named_computation(lambda a, x: jnp.tanh(a * x.sum()), name=name)(
                    leaf, x
                )
                for name, leaf in zip(names, w, strict=True)
            ]
            scale = [x[0], derived[0].sum(), sum(leaf.sum() for leaf in derived)]
            index = (scale[predicate] * 10).astype(jnp.int32) % len(seeds)
            values = [*w, *derived]
            w = jax.lax.switch(
                index, [functools.partial(branch, values, count, s) for s in seeds]
            )
        return w

    return program, count


@pytest.mark.parametrize("seed", range(8))
def test_random_conditionals(seed):
    program, count = make_program(seed)
    keys = jax.random.split(jax.random.key(seed), count + 1)
    w = [jax.random.normal(key, (SIZE, SIZE)) for key in keys[1:]]
    x = jax.random.normal(keys[0], (3,))
    ours, theirs = mw.jit(program, CONFIG)(w, x), jax.jit(program)(w, x)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=1e-4)
