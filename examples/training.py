"""What the examples share: CPU devices, meshes, and a comparison with jax.jit."""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Examples also run from a checkout that is built but not installed.
sys.path += [str(ROOT / "python"), str(ROOT / "build" / "python")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

TOLERANCE = 1e-5


def parse(description: str, **options) -> argparse.Namespace:
    """Options of an example; `--steps` and `--json` are common to all."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", help="write the losses to this file")
    for name, arguments in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **arguments)
    return parser.parse_args()


def make_meshes(**axes: dict[str, int]) -> dict[str, Mesh]:
    """Meshes side by side on the first devices: make_meshes(a={"x": 2}, …).

    On a machine without enough accelerators, CPU devices stand in for them.
    """
    sizes = {name: int(np.prod(list(mesh.values()))) for name, mesh in axes.items()}
    needed = sum(sizes.values())
    # One to spare: its thread lets the collectives of the others go on.
    jax.config.update("jax_num_cpu_devices", max(needed + 1, 9))
    devices = jax.devices()
    if len(devices) < needed:
        devices = jax.devices("cpu")
    meshes, first = {}, 0
    for name, mesh in axes.items():
        grid = np.array(devices[first : first + sizes[name]])
        meshes[name] = Mesh(grid.reshape(tuple(mesh.values())), tuple(mesh))
        first += sizes[name]
    return meshes


def race(options, plain, partitioned, state, batches) -> int:
    """Trains twice from the same state, prints both losses, gives the exit code.

    Args:
      plain, partitioned: functions from (state, batch) to (state, loss).
      state: a pytree of NumPy arrays; copied for each side.
      batches: gives the batch of a step by its number.
    """
    sides = {"jax.jit": plain, "meshwright": partitioned}
    losses = {}
    for name, step in sides.items():
        current = jax.tree.map(np.array, state)
        found = []
        for number in range(options.steps):
            current, loss = step(current, batches(number))
            found.append(loss)
        losses[name] = [float(loss) for loss in found]

    print(f"{'step':>4} {'jax.jit':>12} {'meshwright':>12}")
    worst = 0.0
    for number, pair in enumerate(zip(*losses.values(), strict=True)):
        worst = max(worst, abs(pair[0] - pair[1]) / abs(pair[0]))
        print(f"{number:4} {pair[0]:12.6f} {pair[1]:12.6f}")
    print(f"largest relative difference: {worst:.1e}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(losses))
    return 0 if worst <= TOLERANCE else 1
