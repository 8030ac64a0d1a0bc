"""The first program of the README runs as it stands."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from support.tools import ROOT


def test_the_first_program_gives_what_jax_gives():
    text = (ROOT / "README.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {
        "params": [jnp.full((8, 16), 0.1), jnp.full((16, 4), 0.2)],
        "xs": [jnp.arange(32.0).reshape(4, 8) * i / 32 for i in range(4)],
    }
    devices = jax.devices
    jax.devices = lambda *backend: devices(*backend)[:8]
    try:
        exec(program, names)
    finally:
        jax.devices = devices
    expected = jax.jit(jax.value_and_grad(names["loss"]))(names["params"], names["xs"])
    got = (names["value"], names["gradients"])
    for mine, plain in zip(
        jax.tree.leaves(got), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(plain), rtol=1e-6)
