"""The first program of the README runs as it is written."""

import re

import jax
import numpy as np
from support.tools import ROOT


def test_the_first_program_gives_what_jax_gives():
    text = (ROOT / "README.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(program, names)
    params, x, meshes = names["params"], names["x"], names["meshes"]
    assert {mesh.size for mesh in meshes.values()} == {4}
    value, gradients = names["value"], names["gradients"]
    for loss in (names["step"], jax.value_and_grad(names["loss"])):
        expected = jax.jit(loss)(params, x)
        for mine, plain in zip(
            jax.tree.leaves((value, gradients)), jax.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(np.asarray(mine), np.asarray(plain), rtol=1e-5)
    first, second = gradients
    assert first.sharding.mesh == meshes["m1"]
    assert second.sharding.mesh == meshes["m2"]
