"""Layers with caches of which what comes after the last one chooses rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

STAGES, WIDTH, BEAMS, LENGTH = 3, 8, 4, 16
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(STAGES)}


def beam(hidden, position):
    """Which of all continuations to go on with, and what each continues."""
    del position
    found, at = jax.lax.top_k(jax.nn.log_softmax(hidden).reshape(-1), BEAMS)
    return found, lambda new, _: new[at // WIDTH]


def accept(hidden, position):
    """Keeps a cache up to the tokens that are as guessed."""
    kept = position + (hidden.argmax(-1) == 0).sum()
    at = jnp.arange(LENGTH)[:, None]
    return kept, lambda new, old: jnp.where(at <= kept, new, old)


def decode(is_marked, choose, weights, caches, x, position):
    new = []
    for number, (w, cache) in enumerate(zip(weights, caches, strict=True)):
        if number and is_marked:
            x = mw.stage_boundary(x)
        row = jnp.tanh(x @ w)
        cache = jax.lax.dynamic_update_slice(cache, row[:, None], (0, position, 0))
        seen = jnp.arange(LENGTH) <= position + jnp.arange(1)[:, None]
        x = x + jnp.where(seen[..., None], cache, 0).mean(1)
        new.append(cache)
    result, chosen = choose(x, position)
    return result, jax.tree.map(chosen, new, caches), position + 1


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("choose", [beam, accept])
def test_a_cache_that_is_chosen_of_stays_with_its_layer(choose, is_marked, caplog):
    draw = np.random.default_rng(0).standard_normal
    weights = [draw((WIDTH, WIDTH)).astype("f") for _ in range(STAGES)]
    caches = [np.zeros((BEAMS, LENGTH, WIDTH), "f") for _ in weights]
    arguments = weights, caches, draw((BEAMS, WIDTH)).astype("f"), 3

    def step(*arguments):
        return decode(is_marked, choose, *arguments)

    make_config = mw.make_config if is_marked else mw.auto_config
    lowered = mw.jit(step, make_config(MESHES)).lower(*arguments)
    places = lowered.function_mesh_assignment
    homes = places.input_meshes[0]
    assert homes == [f"m{i}" for i in range(STAGES)]
    assert homes == places.input_meshes[1] == places.output_meshes[1]
    assert places.input_meshes[3] == places.output_meshes[2] == "m0"
    sent = [cost["bytes_transferred"] for cost in lowered.cost_analysis().values()]
    assert sum(sent) < caches[0].nbytes
    assert "Detected backward dependency" in caplog.text
    compiled = lowered.compile()
    found = jax.tree.leaves(compiled(*compiled.place(*arguments)))
    wanted = jax.tree.leaves(jax.jit(step)(*arguments))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
