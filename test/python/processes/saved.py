"""Programs that are saved by several processes, or loaded by them.

saved.py VERB KIND FOLDER ...

The verb is save or load; `{process}` in the folder is the number of the process. All
are done in turn; of one that is refused the error is reported.
"""

import json
import sys

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

STAGES = {"apart": ("m0", "m1"), "spanning": ("m0", "wide", "m1")}


def make_meshes(kind: str) -> dict:
    """Of two processes `wide` has a device of each, and the others are within one."""
    devices = np.array(jax.devices()).reshape(2, 3)
    found = {"m0": devices[0, :2], "wide": devices[:, 2], "m1": devices[1, :2]}
    return {name: jax.sharding.Mesh(found[name], ("x",)) for name in STAGES[kind]}


def name_stages(kind: str) -> dict[str, str]:
    return {f"stage{i}": name for i, name in enumerate(STAGES[kind])}


def step(params, x):
    for name, w in params.items():
        x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=name)(w, x)
    return x.sum(), {name: w * 2 for name, w in params.items()}


def compile_here(kind: str, meshes: dict):
    names = name_stages(kind)
    params = {name: jax.ShapeDtypeStruct((8, 8), jnp.float32) for name in names}
    x = jax.ShapeDtypeStruct((4, 8), jnp.float32)
    config = mw.make_config(meshes, names, output_mesh_assignment=(None, dict(names)))
    return mw.jit(step, config).lower(params, x).compile()


compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: compiled.append(event) if "_compile_" in event else None
)


def run(verb: str, kind: str, folder: str) -> dict:
    compiled.clear()
    meshes = make_meshes(kind)
    folder = folder.format(process=jax.process_index())
    if verb == "save":
        program = compile_here(kind, meshes)
        program.save(folder)
    else:
        program = mw.load(folder, meshes)
    count = len(compiled)
    values = {n: np.eye(8, dtype=np.float32) * 0.5 for n in name_stages(kind)}
    given = jax.tree.map(
        mw.distributed.place,
        (values, np.ones((4, 8), np.float32)),
        program.input_shardings[0],
    )
    value, doubled = mw.distributed.fetch(program(*given))
    return {
        "compiled": count,
        "value": float(value),
        "doubled": {name: float(w.sum()) for name, w in doubled.items()},
    }


def try_to_run(*case: str) -> dict:
    try:
        return run(*case)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    words = iter(sys.argv[1:])
    report: dict = {"process": jax.process_index()}
    report["found"] = [
        try_to_run(*case) for case in zip(words, words, words, strict=True)
    ]
    print(json.dumps(report), flush=True)
