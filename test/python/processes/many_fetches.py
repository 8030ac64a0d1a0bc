"""Two programs over two processes, and more fetches between them than ids once had."""

import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

FETCHES, CALLS = 2100, 10
of_process = {d.process_index: d for d in jax.devices()}  # One of each.
MESHES = {f"m{p}": jax.sharding.Mesh([d], "x") for p, d in of_process.items()}
given = np.zeros((4, 4), np.float32)


def load(number):
    """A program that adds a number on m0, and takes the root on m1."""

    def function(x):
        h = mw.named_computation(lambda x: x + number, name="first")(x)
        return mw.named_computation(jnp.sqrt, name="second")(h)

    places = {"first": "m0", "second": "m1"}
    config = mw.make_config(MESHES, places, output_mesh_assignment="m1")
    compiled = mw.jit(function, config).lower(given).compile()
    return compiled, mw.distributed.place(given, compiled.input_shardings[0][0])


one, x = load(1.0)
first = one(x)
fetched = 0.0
for number in range(FETCHES):
    # Few arrays, which take longer.
    found = mw.fetch(number if number % 50 else first)
    fetched += (found == number) if number % 50 else float(found[0, 0])
other, y = load(4.0)
results = [(one(x), other(y)) for _ in range(CALLS)]
found = [[float(mw.fetch(each)[0, 0]) for each in pair] for pair in results]
report = {"process": jax.process_index(), "fetched": fetched, "found": found}
print(json.dumps(report), flush=True)
