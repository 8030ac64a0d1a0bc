"""Reductions over concatenated weights are put together of those over the weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.jaxapi import frontend as compat
from meshwright.staging.flatten import Flattener

REDUCTIONS = {
    "sum": jnp.sum,
    "prod": jnp.prod,
    "max": jnp.max,
    "min": jnp.min,
    "and": lambda v: (v > 0).all(),
    "or": lambda v: (v > 0).any(),
    "xor": lambda v: jax.lax.reduce_xor((v > 0).astype(jnp.uint8), (0,)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_of_pieces_are_put_together(name):
    ws = [np.array(w, np.float32) for w in ([0.5, -2.0], [3.0, 4.0, 0.25])]

    def reduced(*ws):
        return REDUCTIONS[name](2 * jnp.concatenate(ws))

    closed = jax.make_jaxpr(reduced)(*ws)
    flat = Flattener(closed, lambda eqn: True, None).flatten(0)
    assert flat.is_in_pieces
    eqns = [item.eqn for item in flat.items]
    made = compat.remade(closed, invars=flat.invars, eqns=eqns, outvars=flat.outs)
    assert f"{made}".count(f"reduce_{name}") == 2
    run = jax.jit(lambda *ws: compat.eval_jaxpr(made.jaxpr, made.consts, *ws))
    (found,) = run(*ws)
    np.testing.assert_array_equal(found, jax.jit(reduced)(*ws))
