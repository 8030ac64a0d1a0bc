"""The fragments of one device of all programs in the tree, compiled by IREE.

Each program is partitioned onto meshes of one device. Its fragments, as portable
artifacts without what only JAX reads, are compiled by IREE, and give the numbers that
XLA gives (docs/other-compilers.md). `--co` lists the programs.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys

import numpy as np
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
    "twins/experts": "its collectives are over two devices",
}
# The runtime for CPUs has place for 32 buffers of a kernel: what needs more compiles,
# and does not run.
TOO_MANY_BUFFERS = "OUT_OF_RANGE; binding count"
# (program, fragment): what IREE 3.13 says of it.
REFUSED = {
    # The gradient of max pooling, whose windows overlap.
    ("resnet_train_step", "p0_inferred.step"): "stablehlo.select_and_scatter",
    # The gradients of 32 microbatches, added up in one kernel.
    **{
        ("gpt_32_8_32", f"p{23 - stage}_stage{stage}_bwd_call31.step"): TOO_MANY_BUFFERS
        for stage in range(8)
    },
}

WHOLE = {"topology": {"m": {"x": 1}}, "assignment": {}}
# With their arguments; {folder} is an empty one.
EXAMPLES = {
    "mlp": ["--steps=1"],
    "gpt": ["--steps=1"],
    "encoder_decoder": ["--steps=1"],
    "flax_model": ["--steps=1"],
    "actor_learner": ["--steps=1"],
    "resume": ["--steps=1", "--checkpoints={folder}/checkpoints"],
    **{
        f"twins/{path.stem}": []
        for path in sorted((ROOT / "examples" / "twins").glob("*.py"))
        if not path.stem.endswith("_plain")
    },
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
    for name in [*FILES, *EXAMPLES]
]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a fragment; `refused` is empty where it ran."""

    compiled: bool
    refused: str = ""
    difference: float = 0.0


# Of each text that a fragment has, whatever its name: many have one in common.
outcomes: dict[str, Outcome] = {}
# Of each program: a text for each of its fragments.
texts: dict[str, list[str]] = {}


def write_example(name, folder, tools):
    """What the compiler is given by an example, for one device a mesh."""
    package = os.pathsep.join(
        [str(ROOT / "python"), os.environ["MESHWRIGHT_EXTENSION"]]
    )
    subprocess.run(
        [
            sys.executable,
            ROOT / "test" / "iree" / "example_programs.py",
            ROOT / "examples" / f"{name}.py",
            folder,
            *(word.format(folder=folder) for word in EXAMPLES[name]),
        ],
        env={**os.environ, "PYTHONPATH": package, "JAX_NUM_CPU_DEVICES": "4"},
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


def judge(text, artifact):
    """The outcome of a fragment; what its text had before counts for it, too."""
    arguments = [
        # Indices that are in range in all programs: what one out of range gives is the
        # compiler's choice.
        array % 2 if array.dtype.kind in "iu" else array
        for array in numerics.random_arguments(text)
    ]
    # So is how often a sum counts where it begins, if that is not 0.
    for start in re.findall(r"init: %arg(\d+)\) applies stablehlo.add", text):
        arguments[int(start)] = np.zeros_like(arguments[int(start)])
    compiled = False
    try:
        binary = iree_cpu.compile(artifact)
        compiled = True
        results = iree_cpu.execute(binary, arguments)
    except iree_cpu.Refused as reason:
        return Outcome(compiled, str(reason))
    wanted = numerics.run(text, arguments)
    return Outcome(compiled, "", numerics.largest_difference(wanted, results))


@pytest.mark.parametrize("name", CASES)
def test_fragments_compile_and_have_the_numbers_of_xla(name, tools, tmp_path):
    programs = [FILES[name]] if name in FILES else write_example(name, tmp_path, tools)
    refused, wrong, seen = {}, {}, []
    for number, (program, config) in enumerate(programs):
        folder = tmp_path / str(number)
        folder.mkdir()
        for fragment, text, artifact in fragments(tools, program, config, folder):
            key = re.sub(r"\Amodule @\S+", "module", text)
            if key not in outcomes:
                outcomes[key] = judge(text, artifact)
            seen.append(key)
            outcome = outcomes[key]
            if outcome.refused:
                refused[name, fragment] = outcome.refused
            if outcome.difference > (BOUND_OF_BF16 if "bf16" in text else BOUND):
                wrong[fragment] = outcome.difference
    assert seen
    texts[name] = seen
    print(row(name))
    listed = {key: why for key, why in REFUSED.items() if key[0] == name}
    assert refused.keys() == listed.keys(), refused
    for key, reason in listed.items():
        assert reason in refused[key]
    assert not wrong


def row(name):
    """A line of the page's table."""
    found = [outcomes[key] for key in texts[name]]
    compiled = sum(outcome.compiled for outcome in found)
    ran = sum(not outcome.refused for outcome in found)
    return f"| `{name}` | {len(found)} | {len(set(texts[name]))} | {compiled} | {ran} |"


def test_the_page_has_this_table_and_nine_of_ten_compile():
    if set(texts) != {*FILES, *EXAMPLES} - set(SEVERAL_DEVICES):
        pytest.skip("not all programs were tried in this run")
    found = [outcomes[key] for program in texts.values() for key in program]
    compiled = sum(outcome.compiled for outcome in found)
    assert compiled >= 0.9 * len(found)
    page = (ROOT / "docs" / "other-compilers.md").read_text()
    table = [row(name) for name in sorted(texts)]
    ran = sum(not outcome.refused for outcome in found)
    distinct = sum(len(set(program)) for program in texts.values())
    total = f"| all | {len(found)} | {distinct} | {compiled} | {ran} |"
    assert "\n".join([*table, total]) in page
