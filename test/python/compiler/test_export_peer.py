"""Whole programs come out of export as the peer makes them.

Besides the programs as they are, variants with tensor parallelism inside each
stage: two axes per mesh, and annotations on the weights of the GPT layers that
split them by columns or by rows.
"""

import json
import random
import re

import pytest
from support import peer
from support.tools import PROGRAMS

# By the type of an argument: embedding and head are split by the vocabulary, of
# two matrices in a row the first by columns and the second by rows.
MEGATRON = {
    "128x64xf32": '[{"model"}, {}]',
    "64x128xf32": '[{}, {"model"}]',
    "64x256xf32": '[{}, {"model"}]',
    "256x64xf32": '[{"model"}, {}]',
    "64x64xf32": '[{"model"}, {}]',
    "64x192xf32": '[{}, {"model"}]',
    "2x17xi32": '[{"data"}, {}]',
}
TOKENS = {"2x17xi32": MEGATRON["2x17xi32"]}
OPEN = {name: text.replace("{}", "{?}") for name, text in MEGATRON.items()}
# Every matrix is split by rows over all devices, against the batch of the tokens.
FULLY_SHARDED = dict.fromkeys(MEGATRON, '[{"data", "model"}, {}]')
WITH_ONE = {name: text.replace("{}", '{"one"}') for name, text in MEGATRON.items()}

# Axes of each mesh, shardings of arguments and of results, donated arguments.
VARIANTS = {
    "tensor_parallel": ({"data": 2, "model": 4}, MEGATRON, {}, []),
    "open_dimensions": ({"data": 2, "model": 4}, OPEN, {}, []),
    "results_alike": ({"data": 2, "model": 4}, MEGATRON, MEGATRON, []),
    "results_only": ({"data": 2, "model": 4}, {}, MEGATRON, []),
    "data_parallel": ({"data": 2, "model": 4}, TOKENS, {}, []),
    "donated": ({"data": 2, "model": 4}, MEGATRON, MEGATRON, list(range(52))),
    "not_divisible": ({"data": 2, "model": 3}, MEGATRON, {}, []),
    "divisible_in_part": ({"data": 3, "model": 6}, MEGATRON, {}, []),
    "fully_sharded": ({"data": 2, "model": 4}, FULLY_SHARDED, {}, []),
    "axis_of_size_one": ({"data": 2, "model": 4, "one": 1}, WITH_ONE, {}, []),
}


def random_sharding(rng: random.Random, shape: str, axes: dict) -> str | None:
    """Some sharding of a tensor: sub-axes, open dimensions, priorities."""
    dims = shape.split("x")[:-1]
    if not dims or rng.random() < 0.4:
        return None
    free, parts = list(axes), []
    rng.shuffle(free)
    for _ in dims:
        used = []
        while free and rng.random() < 0.45:
            axis = free.pop()
            is_part = axes[axis] == 4 and rng.random() < 0.3
            used.append(f'"{axis}":(1)2' if is_part else f'"{axis}"')
        if rng.random() < 0.4:
            used.append("?")
        priority = f"p{rng.randint(0, 2)}" if used and rng.random() < 0.3 else ""
        parts.append("{" + ", ".join(used) + "}" + priority)
    return "[" + ", ".join(parts) + "]"


class RandomShardings:
    """In place of a dictionary: each look-up gives another sharding or none."""

    def __init__(self, rng: random.Random, axes: dict):
        self.rng, self.axes = rng, axes

    def get(self, shape: str) -> str | None:
        return random_sharding(self.rng, shape, self.axes)


def annotate(text: str, axes: dict, arguments, results) -> str:
    """Declares the mesh and annotates the signature of `@main`."""
    start = text.index("  func.func public @main(")
    end = text.index("\n", start)
    operands, returned = text[start:end].split(") -> (")

    def argument(match: re.Match) -> str:
        name, shape = match.groups()
        text = arguments.get(shape)
        if not text:
            return match[0]
        sharding = f"#sdy.sharding<@mesh, {text}>"
        return f"{name}: tensor<{shape}> {{sdy.sharding = {sharding}}}"

    def result(match: re.Match) -> str:
        shape, attributes = match.groups()
        text = results.get(shape)
        if not text:
            return match[0]
        sharding = f"#sdy.sharding<@mesh, {text}>"
        return f"tensor<{shape}> {{{attributes}, sdy.sharding = {sharding}}}"

    operands = re.sub(r"(%arg\d+): tensor<([^>]*)>", argument, operands)
    returned = re.sub(r"tensor<([^>]*)> \{(jax[^}]*)\}", result, returned)
    sizes = ", ".join(f'"{axis}"={size}' for axis, size in axes.items())
    mesh = f"  sdy.mesh @mesh = <[{sizes}]>\n"
    return text[:start] + mesh + operands + ") -> (" + returned + text[end:]


def count(text: str) -> dict[str, int]:
    """What a difference is most likely to show in."""
    return {
        "fragment calls": text.count("mpmd.fragment_call"),
        "transfers": text.count("mpmd.transfer"),
        "functions": text.count("func.func"),
        "donated arguments": text.count("jax.buffer_donor"),
        "aliased arguments": text.count("tf.aliasing_output"),
        "shardings": text.count("sdy.sharding"),
    }


def check(tools, folder, text: str, config: dict) -> None:
    program, settings = folder / "program.mlir", folder / "config.json"
    program.write_text(text)
    settings.write_text(json.dumps(config))
    tools.check("meshwright", "partition", program, "--config", settings, "-o", folder)
    ours = (folder / "partitioned.mlir").read_text()
    theirs, _ = peer.partition(peer.load(), text, config, "partition")
    assert count(ours) == count(theirs)
    assert ours.rstrip("\n") == theirs.rstrip("\n")


def read(name: str) -> tuple[str, dict]:
    source = PROGRAMS / "mpmd" / f"{name}.mlir"
    return source.read_text(), json.loads(source.with_suffix(".json").read_text())


@pytest.mark.parametrize("name", ["gpt_4_4_4", "gpt_8_4_8"])
def test_program_is_as_the_peer_makes_it(tools, tmp_path, name):
    check(tools, tmp_path, *read(name))


@pytest.mark.parametrize("name", VARIANTS)
def test_sharded_program_is_as_the_peer_makes_it(tools, tmp_path, name):
    axes, arguments, results, donate = VARIANTS[name]
    text, config = read("gpt_4_4_4")
    config["topology"] = {mesh: axes for mesh in config["topology"]}
    config["donate"] = donate
    check(tools, tmp_path, annotate(text, axes, arguments, results), config)


@pytest.mark.parametrize("seed", range(6))
def test_randomly_sharded_program_is_as_the_peer_makes_it(tools, tmp_path, seed):
    rng = random.Random(seed)
    axes = [{"data": 2, "model": 4}, {"a": 2, "b": 2, "c": 2}][seed % 2]
    text, config = read("gpt_4_4_4")
    config["topology"] = {mesh: axes for mesh in config["topology"]}
    config["donate"] = [index for index in range(52) if rng.random() < 0.5]
    shardings = RandomShardings(rng, axes)
    results = shardings if seed % 3 == 0 else {}
    check(tools, tmp_path, annotate(text, axes, shardings, results), config)
