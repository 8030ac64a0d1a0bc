"""The fragments of one device of all programs in the tree, compiled by IREE.

Each program is partitioned onto meshes of one device. Its fragments, as portable
artifacts without what only JAX reads, are compiled by IREE, and give the numbers that
XLA gives (docs/other-compilers.md). `--co` lists the programs.
"""

import collections
import json
import os
import re
import subprocess
import sys

import pytest
from support import iree_cpu, numerics
from support.tools import PROGRAMS, ROOT

# The largest difference to XLA, relative to the largest number of the result: both sum
# up in another order, and round what is bfloat16 at other places.
BOUND, BOUND_OF_BF16 = 1e-4, 5e-2
# Programs that have no fragment of one device.
SEVERAL_DEVICES = {
    "sharded_transformer_step": "its shardings are of a mesh of eight devices",
    "shard_map_collectives": "its collectives are over eight devices",
}
# (program, fragment): what IREE 3.13 says of it.
REFUSED = {
    # The gradient of max pooling, whose windows overlap.
    ("resnet_train_step", "p0_inferred.step"): "stablehlo.select_and_scatter",
}
# The runtime for CPUs has place for 32 buffers of a kernel: what needs more compiles,
# and does not run.
TOO_MANY_BUFFERS = "OUT_OF_RANGE; binding count"

WHOLE = {"topology": {"m": {"x": 1}}, "assignment": {}}
EXAMPLES = {
    "mlp": [],
    "gpt": [],
    "encoder_decoder": [],
    "flax_model": [],
    "actor_learner": [],
}


def one_device(config):
    """A configuration for meshes of one device each."""
    meshes = config["topology"].items()
    return {**config, "topology": {m: dict.fromkeys(axes, 1) for m, axes in meshes}}


def in_files():
    """Programs by their names, with their configurations."""
    for path in sorted(PROGRAMS.glob("*.mlir")):
        yield path.stem, path, WHOLE
    for path in [
        *sorted((PROGRAMS / "mpmd").glob("*.mlir")),
        ROOT / "docs" / "first.mlir",
        ROOT / "docs" / "traffic.mlir",
    ]:
        config = json.loads(path.with_suffix(".json").read_text())
        yield path.stem, path, one_device(config)


FILES = {name: (path, config) for name, path, config in in_files()}
CASES = [
    pytest.param(name, marks=pytest.mark.skip(SEVERAL_DEVICES[name]))
    if name in SEVERAL_DEVICES
    else name
    for name in [*FILES, *(f"example {name}" for name in EXAMPLES)]
]
counts = collections.Counter()


def write_example(name, folder, tools):
    """What the compiler is given by an example."""
    package = os.pathsep.join(
        [str(ROOT / "python"), os.environ["MESHWRIGHT_EXTENSION"]]
    )
    subprocess.run(
        [
            sys.executable,
            ROOT / "test" / "iree" / "example_programs.py",
            ROOT / "examples" / f"{name}.py",
            folder,
            *EXAMPLES[name],
        ],
        env={**os.environ, "PYTHONPATH": package},
        check=True,
        capture_output=True,
    )
    for program in sorted(folder.glob("*.mlir")):
        text = tools.check("mpmd-opt", program, "--mlir-print-debuginfo")
        program.write_text(re.sub(r"(sdy\.mesh .*)", shrink, text))
        yield program, json.loads(program.with_suffix(".json").read_text())


def shrink(mesh):
    """The line of a mesh, with one device."""
    return re.sub(r"=\d+", "=1", mesh[0])


def fragments(tools, program, config, folder):
    """(name, text, portable artifact) of each fragment."""
    config_file = folder / "config.json"
    config_file.write_text(json.dumps(config))
    for kind, option in ("text", "--plain"), ("portable", "--portable"):
        out = f"-o={folder / kind}"
        config_option = f"--config={config_file}"
        tools.check(
            "meshwright", "partition", program, config_option, out, "--plain", option
        )
    for text in sorted((folder / "text" / "fragments").iterdir()):
        artifact = folder / "portable" / "fragments" / f"{text.stem}.mlirbc"
        yield text.stem, text.read_text(), artifact.read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_fragments_compile_and_have_the_numbers_of_xla(name, tools, tmp_path):
    if name in FILES:
        programs = [FILES[name]]
    else:
        programs = write_example(name.removeprefix("example "), tmp_path, tools)
    refused, wrong = {}, {}
    for number, (program, config) in enumerate(programs):
        folder = tmp_path / str(number)
        folder.mkdir()
        for fragment, text, artifact in fragments(tools, program, config, folder):
            counts["all"] += 1
            arguments = [
                # Indices that are in range in all programs: what one out of range
                # gives is the compiler's choice.
                array % 2 if array.dtype.kind in "iu" else array
                for array in numerics.random_arguments(text)
            ]
            try:
                binary = iree_cpu.compile(artifact)
                counts["compiled"] += 1
                results = iree_cpu.execute(binary, arguments)
            except iree_cpu.Refused as reason:
                if TOO_MANY_BUFFERS in str(reason):
                    counts["not run"] += 1
                    continue
                refused[name, fragment] = str(reason)
                continue
            wanted = numerics.run(text, arguments)
            difference = numerics.largest_difference(wanted, results)
            if difference > (BOUND_OF_BF16 if "bf16" in text else BOUND):
                wrong[fragment] = difference
    listed = {key: why for key, why in REFUSED.items() if key[0] == name}
    print(dict(counts))
    assert refused.keys() == listed.keys()
    for key, operation in listed.items():
        assert operation in refused[key]
    assert not wrong


def test_at_least_nine_of_ten_compile():
    if not counts["all"]:
        pytest.skip("no fragments were compiled in this run")
    assert counts["compiled"] >= 0.9 * counts["all"]
