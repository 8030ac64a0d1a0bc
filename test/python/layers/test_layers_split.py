"""Programs whose stacked arrays are taken apart compute what they did in one piece."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from meshwright.jaxapi import frontend as compat
from meshwright.layers.plan import plan_layers
from meshwright.layers.split import split_layers
from meshwright.tracing.scopes import layers_of_stages

L, STAGES = 6, 3
KEY = jax.random.key(7)


def stages(w):
    """The slices of a pipeline's stages, which say where an array is cut."""
    size = L // STAGES
    with layers_of_stages():
        return [lax.slice_in_dim(w, k * size, (k + 1) * size) for k in range(STAGES)]


def used(w):
    return sum((part**2).sum() for part in stages(w))


@jax.custom_jvp
def doubled(x):
    return 2 * x


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * tangents[0]))

ROW = jnp.arange(4.0)
# Newer releases of JAX say for each argument of `jax.checkpoint` what may be shared.
PREVENT_CSE = inspect.signature(jax.checkpoint).parameters["prevent_cse"].annotation
EACH = (True, False) if "Sequence" in str(PREVENT_CSE) else True

# Functions of two arrays [6, 3, 4]; `pieces` of results that stay apart.
APART = {
    "arithmetic": lambda w, m: (0.9 * m + w, w / (jnp.sqrt(m * m) + 1e-8), -w, w**3),
    "compared": lambda w, m: (jnp.where(w > m, w, m), jnp.clip(w, -1, 1), w > 0),
    "types": lambda w, m: (w.astype(jnp.bfloat16), (w * 9).astype(jnp.int32)),
    "broadcast": lambda w, m: (w + jnp.ones(4), w * m[:, :1], jnp.zeros_like(w) + m),
    "a row each": lambda w, m: w * m.mean((1, 2), keepdims=True),
    "shapes": lambda w, m: (w.reshape(L, 12) + 1, w.swapaxes(1, 2) * 2, w[:, None] + 1),
    "other axes": lambda w, m: (w[:, 1:] + 1, jnp.flip(w, 2), jnp.cumsum(w, 1)),
    "joined": lambda w, m: (
        jnp.concatenate([w, m], 2),
        jnp.pad(w, [(0, 0), (1, 0), (0, 2)]),
    ),
    "products": lambda w, m: jnp.einsum("lij,lkj->lik", w, m),
    "reduced": lambda w, m: (w.sum(2), w.max(1), jnp.argmin(w, 2), (w > 0).any(1)),
    "nested": lambda w, m: jax.jit(lambda a: jax.nn.relu(doubled(a)) + m)(w),
    "recomputed": lambda w, m: jax.checkpoint(lambda a: jnp.sin(a) * m)(w),
    "recomputed with constants": lambda w, m: jax.checkpoint(
        jax.jit(lambda a, b: jnp.sin(a) * b + ROW), prevent_cse=EACH
    )(w, m),
    "branches": lambda w, m: lax.cond(
        w[0, 0, 0] > 0, lambda a, b: (a + b, b), lambda a, b: (a, a - b), w, m
    ),
    "gradients": lambda w, m: w - 0.1 * jax.grad(used)(w) + 0 * m,
}
WHOLE = {
    "sums of all": lambda w, m: (
        w.sum(),
        m.max(),
        (w * m).min(0),
        w.prod(),
        (w > 9).all(),
    ),
    "norms": lambda w, m: (jnp.linalg.norm(w), jnp.argmax(w, 0)),
}
MIXED = {
    "across": lambda w, m: (
        jnp.roll(w, 1, 0),
        jnp.cumsum(m, 0),
        w[::2],
        w[1:5],
        w[::-1],
    ),
    "by layer": lambda w, m: (w * jnp.arange(L)[:, None, None], w.at[0].set(0.0)),
    "sorted": lambda w, m: (jnp.sort(w, 0), w.reshape(-1), w.transpose(1, 0, 2)),
    "random": lambda w, m: (
        w + jax.random.normal(KEY, w.shape),
        jax.random.normal(jax.random.split(KEY, L)[2], (L,))[:, None, None] * m,
        jax.vmap(lambda k, a: a * jax.random.uniform(k))(jax.random.split(KEY, L), w),
    ),
    "loops": lambda w, m: (
        lax.fori_loop(0, 3, lambda i, a: a + m[i], w),
        lax.scan(lambda c, a: (c + a, c), m[0], w),
    ),
    "empty": lambda w, m: (w[2:2] + m[:0], lax.concatenate([w[:0], m], 0)),
    "unequal": lambda w, m: (
        lax.slice_in_dim(w, 1, 4) + 1,
        lax.concatenate([m[:4], w[:2]], 0),
    ),
}


def run(function, w, m):
    """Results in one piece, results of the program apart, and which were in pieces."""

    def program(w, m):
        return used(w), used(m), function(w, m)

    closed, shape = jax.make_jaxpr(program, return_shape=True)(w, m)
    plan = plan_layers(closed.jaxpr)
    sides = [
        [plan.cuts(atom) is not None for atom in atoms]
        for atoms in (closed.jaxpr.invars, closed.jaxpr.outvars)
    ]
    assert sides[0] == [True, True]
    apart = split_layers(closed, plan, *sides)
    assert str(apart)  # JAX finds the parameters that it prints.
    pieces = [*np.split(w, STAGES), *np.split(m, STAGES)]
    in_pieces = jax.jit(
        lambda *pieces: compat.eval_jaxpr(apart.jaxpr, apart.consts, *pieces)
    )
    outs = iter(in_pieces(*pieces))
    found = [
        np.concatenate([next(outs) for _ in range(STAGES)]) if flag else next(outs)
        for flag in sides[1]
    ]
    assert [value.shape for value in found] == [s.shape for s in jax.tree.leaves(shape)]
    wanted = jax.tree.leaves(jax.jit(program)(w, m))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(
            np.asarray(ours, np.float32), np.asarray(theirs, np.float32), rtol=2e-5
        )
    return sides[1][2:]


@pytest.mark.parametrize("name", [*APART, *WHOLE, *MIXED])
def test_results_are_the_same(name):
    random = np.random.default_rng(0)
    w, m = random.normal(size=(2, L, 3, 4)).astype(np.float32)
    flags = run((APART | WHOLE | MIXED)[name], w, m)
    if name in APART:
        assert all(flags)
    if name in WHOLE:
        assert not any(flags)
