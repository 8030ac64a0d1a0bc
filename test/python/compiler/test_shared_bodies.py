"""What fragments share is not seen: programs have the same text without it.

Runs the printed pipeline of random programs as it is, with bodies of two ops and more
shared, and without the passes that share. In between, `mpmd-unshare-bodies` shows what
there is after a phase. More of them: `test_shared_bodies.py FIRST COUNT`.
"""

import json
import pathlib
import random
import re
import sys
import tempfile

import pytest
from support import random_programs
from support.tools import ROOT, Tools

PHASES = ("import", "optimize", "shard", "export")
SHARING = (
    "mpmd-share-bodies",
    "mpmd-unshare-bodies",
    "mpmd-lift-argument-constraints",
    "mpmd-sink-argument-constraints",
)
CALL = "stablehlo.custom_call @mpmd.shared_body("


def repeat(program: random_programs.Program, count: int) -> random_programs.Program:
    """What @main does, once for each of several microbatches."""
    signature = re.search(
        r"func\.func public @main\((.*)\) -> \((.*)\) \{", program.text
    )
    arguments, results = signature[1], signature[2]
    tensor = random_programs.T
    inputs = re.findall(r"%\w+", arguments)
    width = results.count(tensor)
    lines = [f"func.func public @main({arguments}) -> ({results}) {{"]
    sums = []
    for number in range(count):
        values = [*inputs[number % len(inputs) :], *inputs[: number % len(inputs)]]
        lines.append(
            f"  %call{number}{f':{width}' if width > 1 else ''} = mpmd.call "
            f"@step({', '.join(values)}) {{call_counter = {number} : ui32}} : "
            f"({', '.join([tensor] * len(inputs))}) -> ({results})"
        )
        calls = [f"%call{number}"] if width == 1 else []
        calls = calls or [f"%call{number}#{i}" for i in range(width)]
        for i, call in enumerate(calls):
            if number:
                lines.append(
                    f"  %sum{number}_{i} = stablehlo.add {sums[i]}, {call} : {tensor}"
                )
                calls[i] = f"%sum{number}_{i}"
        sums = calls
    lines += [f"  return {', '.join(sums)} : {results}", "}", ""]
    bare = re.sub(r" \{sdy\.sharding = [^}]*\}\]?>?\}?", "", arguments)
    bare = ", ".join(f"{value}: {tensor}" for value in re.findall(r"%\w+", bare))
    step = f"func.func private @step({bare}) -> ({results}) {{"
    text = program.text.replace(signature[0], "\n".join(lines) + step, 1)
    return random_programs.Program(text, program.config)


OPERAND = re.compile(
    r"^( +)%\w+ = stablehlo\.[a-z]+ (%[\w#]+)(, %[\w#]+)? : "
    r"\(?tensor<4xf32>(\) -> .*)?$"
)
CONSTRAINTS = ('[{"x"}]', '[{"x"}]', "[{}]", "[{?}]", '[{"x", ?}]')


def constrain(
    program: random_programs.Program, rng: random.Random
) -> random_programs.Program:
    """The program with constraints on what some operations read."""
    lines = []
    for number, line in enumerate(program.text.splitlines()):
        found = OPERAND.match(line)
        if found and rng.random() < 0.3:
            name, sharding = f"%held{number}", rng.choice(CONSTRAINTS)
            lines.append(
                f"{found[1]}{name} = sdy.sharding_constraint {found[2]} "
                f"<@mesh, {sharding}> : {random_programs.T}"
            )
            line = line[: found.start(2)] + name + line[found.end(2) :]
        lines.append(line)
    text = "\n".join([*lines, ""])
    if random_programs.MESH not in text:
        text = random_programs.MESH + text
    return random_programs.Program(text, program.config)


def make(seed: int) -> random_programs.Program:
    rng = random.Random(f"shared {seed}")
    program = repeat(random_programs.generate_whole(seed), rng.randint(2, 4))
    options = program.config["options"]
    for option in ("hoist_invariants", "defer_reductions", "split_bwd_fragments"):
        if rng.random() < 0.3:
            options[f"mpmd_{option}"] = True
    return constrain(program, rng) if rng.random() < 0.4 else program


def split(pipeline: str) -> list[str]:
    """The passes of `builtin.module(...)`, those of functions as one."""
    parts, depth = [""], 0
    for letter in pipeline.strip().removeprefix("builtin.module(")[:-1]:
        depth += (letter in "({[<") - (letter in ")}]>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def does_share(part: str) -> bool:
    return part.startswith(SHARING)


def cut(passes: list[str], until: list[str]) -> list[str]:
    """The passes of a phase that goes on, with what it shares put back."""
    rest = [part for part in until if not does_share(part)]
    taken = []
    for part in passes:
        if not rest:
            break
        if not does_share(part):
            assert part == rest.pop(0)
        taken.append(part)
    assert not rest
    return [*taken, "mpmd-unshare-bodies"]


def check(tools, folder: pathlib.Path, seed: int) -> bool:
    """Whether bodies were shared; raises where that changes a text."""
    program = make(seed)
    source, settings = folder / "program.mlir", folder / "program.json"
    source.write_text(program.text)
    settings.write_text(json.dumps(program.config))

    def plan(phase: str) -> list[str]:
        arguments = ("partition", source, "--config", settings, "--print-pipeline")
        return split(tools.check("meshwright", *arguments, f"--until={phase}"))

    def opt(passes: list[str]):
        # Bodies of random programs are small.
        text = ",".join(passes).replace("min-ops=8", "min-ops=2")
        pipeline = f"--pass-pipeline=builtin.module({text})"
        shown = "--mlir-print-ir-after=mpmd-share-bodies"
        return tools.run("mpmd-opt", source, pipeline, shown)

    phase = random.Random(f"phase {seed}").choice(PHASES[:-1])
    passes = plan("export")
    shared = False
    for variant in (passes, cut(passes, plan(phase))):
        with_sharing = opt(variant)
        without = opt([part for part in variant if not does_share(part)])
        shared |= CALL in with_sharing.stderr
        assert with_sharing.returncode == without.returncode, with_sharing.stderr
        assert with_sharing.stdout == without.stdout
    return shared


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_sharing_is_not_seen(tools, tmp_path, first):
    shared = [check(tools, tmp_path, seed) for seed in range(first, first + 4)]
    assert any(shared)


def main() -> None:
    first, count = map(int, sys.argv[1:])
    tools = Tools(ROOT / "build" / "bin")
    with tempfile.TemporaryDirectory() as folder:
        shared = sum(
            check(tools, pathlib.Path(folder), seed)
            for seed in range(first, first + count)
        )
    print(f"{count} programs have the same texts; {shared} share bodies")


if __name__ == "__main__":
    main()
