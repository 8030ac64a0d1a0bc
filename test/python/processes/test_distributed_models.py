"""Models of other forms over processes, and what a process keeps of a large one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.launching import launch, reports, reports_of_each


def test_a_process_keeps_no_more_when_others_have_more_meshes():
    first, second = reports(launch(2, 1, "growth.py"))
    two, eight = first["found"]
    assert len(eight["compiled"]) == len(two["compiled"])
    # Of the weights of others, which the script has too, there are only shells.
    others = 6
    assert eight["steps"] == two["steps"] + others
    assert eight["kept"] == two["kept"] + 2 * others
    # They have 96 MB of weights; what allocators and threads keep is up to 20 MB.
    assert eight["bytes"] < two["bytes"] + (64 << 20)
    assert len(second["found"][1]["compiled"]) > len(second["found"][0]["compiled"])


@pytest.fixture(scope="module")
def others(tmp_path_factory) -> dict:
    cache = str(tmp_path_factory.mktemp("cache"))
    scripts = ("pipelines.py", "stacked.py")
    return reports_of_each(2, 2, *scripts, MESHWRIGHT_CACHE_DIR=cache)


@pytest.mark.parametrize("kind", ["sequences", "towers"])
def test_sequences_in_chunks_and_towers_train_over_processes(kind, others):
    for report in others["pipelines.py"]:
        differences = report["found"][kind]
        assert len(differences) == 2
        assert max(differences) <= 1e-5


@pytest.mark.usefixtures("x32")
def test_stacked_layers_are_in_the_processes_of_their_stages(others):
    """Each process has the layers of its stage, trained as one array is."""
    first, second = others["stacked.py"]
    assert (first["rows"], second["rows"]) == ([0], [2])
    assert first["spec"] == second["spec"] == ["mpmd_stages"]
    w = np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32)
    x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)

    @jax.jit
    def step(w):
        def loss(w):
            h = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, w)[0]
            return (h**2).mean()

        return w - 0.1 * jax.grad(loss)(w)

    for _ in range(3):
        w = step(w)
    found = np.reshape(first["values"] + second["values"], w.shape)
    np.testing.assert_allclose(found, w, rtol=1e-5)
