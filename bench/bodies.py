#!/usr/bin/env python3
"""What partitioning takes of more microbatches, and of a large program.

    .venv/bin/python bench/bodies.py [--bin build/bin]

Programs are GPT training steps. Those with sums of gradients after the calls are
traced by `bench/curve.py` for three microbatches; more are written by repeating what
`@main` does for the third. Such sums are operations of the program, and of the function
for the last microbatch of each stage. Those with sums inside are what
`mw.pipeline.accumulate` makes: a loop. Prints

- growth: time and memory of four times the microbatches, by those of one time, sums
  after (64 layers in 16 stages, 64 and 256 microbatches); time is that of processors in
  the process itself, without the kernel's, which clears pages that a smaller program
  does not need; memory is all that the compiler holds, the operands and shardings of
  each call above all; both are those of the process less those of a run that only
  parses and prints;
- bodies, calls: the same of the bytes that ops take, in bodies (those of fragments and
  of functions that they share) and outside of them, where each call and its operands
  are; sums inside (16 layers in 4 stages, 16 and 64 microbatches). Bytes are those of
  MLIR's operations, operands and results, counted in what each phase leaves and where
  there are most; attributes are there once for all;
- ops: the ops in bodies after each phase by those of the functions that come out of
  the export phase, with sums after and the same program sizes: what is there once in
  the result is there once before;
- folder: the peak of a run that writes the folder, by that of one that writes the
  module alone (64 layers in 16 stages, 256 microbatches);
- large: seconds of all phases, and the peak, of 128 layers in 16 stages with 512
  microbatches, and how often they fit into the bounds.

Exit code 1 if a bound is missed: 4.5 times the time, 1.2 times the memory of bodies,
4.5 times all memory, 1.2 times the ops of the result, 1.2 times the memory with the
folder, 20 s, 3 GiB.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent

from bench import run  # noqa: E402

MOST_TIME, MOST_MEMORY, MOST_BODIES, MOST_FOLDER, MOST_OPS = 4.5, 4.5, 1.2, 1.2, 1.2
MOST_SECONDS, MOST_MEGABYTES = 20, 3 * 1024
# Of MLIR's Operation, OpOperand and OpResult; an argument of a block is an object.
OP_BYTES, OPERAND_BYTES, RESULT_BYTES, ARGUMENT_BYTES = 64, 32, 16, 48

OPENS_BODY = re.compile(r"mpmd\.fragment<|func\.func private @shared_body")
OPENS_FUNCTION = re.compile(r"func\.func @(?!main)|func\.func private")

TRACE = """
import json, os, pathlib, sys
layers, stages, path = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
os.environ["JAX_NUM_CPU_DEVICES"] = str(2 * stages)
from bench import curve
if sys.argv[4] == "after":
    text, config, _ = curve.trace(layers, stages, int(sys.argv[5]))
else:
    text, config, _ = curve.trace(layers, stages, int(sys.argv[5]), inside=True)
path.write_text(text)
path.with_suffix(".json").write_text(json.dumps(config))
"""


def trace(
    layers: int,
    stages: int,
    path: pathlib.Path,
    sums: str = "after",
    microbatches: int = 3,
) -> None:
    """Writes the program, and its configuration beside it. In a process of its own:
    the number of devices is one of a process."""
    command = [sys.executable, "-c", TRACE, str(layers), str(stages), str(path)]
    command += [sums, str(microbatches)]
    subprocess.run(command, check=True, cwd=ROOT / "bench")


def repeat(text: str, microbatches: int) -> str:
    """The program for more microbatches: `@main` begins with the calls of the first
    two and their sums; a call and its sums follow, then the return."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "func.func public @main" in line)
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("    return"))
    third = [i for i in range(start, end) if " = mpmd.call @" in lines[i]][2]
    block = lines[third:end]
    tokens = re.findall(r"%arg(\d+)\)? ?\{call_counter = 2", lines[third])[0]
    name, width = re.match(r"    %(\d+):(\d+) = ", block[0]).groups()
    first, width = int(name), int(width)
    before = first - width  # The sums of the first two.

    signature = lines[start]
    kind = re.search(rf"%arg{tokens}: (tensor<\w+>)", signature)[1]
    more = "".join(
        f", %arg{int(tokens) + n}: {kind}" for n in range(1, microbatches - 2)
    )
    head = signature.replace(f"%arg{tokens}: {kind}", f"%arg{tokens}: {kind}{more}", 1)
    body = []
    for number in range(2, microbatches):
        call = first + (number - 2) * (width + 1)
        sums = before if number == 2 else call - width

        def renamed(found, call=call, sums=sums):
            value = int(found[1])
            return (
                f"%{value - first + call if value >= first else value - before + sums}"
            )

        body.append(
            re.sub(r"%(\d+)", renamed, block[0])
            .replace(f"%arg{tokens})", f"%arg{int(tokens) + number - 2})")
            .replace("call_counter = 2 ", f"call_counter = {number} ")
        )
        body += [re.sub(r"%(\d+)", renamed, line) for line in block[1:]]
    last = call - first
    result = re.sub(r"%(\d+)", lambda found: f"%{int(found[1]) + last}", lines[end])
    return (
        "\n".join([*lines[:start], head, *lines[start + 1 : third], *body, result])
        + "\n"
        + "\n".join(lines[end + 1 :])
        + "\n"
    )


class Cost(NamedTuple):
    """Seconds of all phases, and of processors more than only parsing and printing
    takes; the peak, and that of only parsing and printing, in MB."""

    phases: float
    processors: float
    memory: float
    parsed: float


def measure(args, path: pathlib.Path, microbatches: int) -> Cost:
    program = write_repeated(path, microbatches)

    def partition():
        seconds, memory = run.run_ours(args.bin, program, output="-")
        return sum(seconds.values()), memory

    def parse():
        return run.launch(args.bin / "mpmd-opt", program, "-o", "/dev/null")[-1]

    found, used = zip(*(used_by(partition) for _ in range(args.repeat)), strict=True)
    phases, peaks = zip(*found, strict=True)
    parsed, parsing = used_by(parse)
    return Cost(min(phases), min(used) - parsing, min(peaks), parsed)


def used_by(call: Callable) -> tuple[Any, float]:
    """What it returns, and the seconds of processors in the processes it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = call()
    return result, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@dataclasses.dataclass
class Weight:
    """Of a program: the ops in bodies, and the bytes of ops in them and of the rest."""

    ops: int = 0
    bodies: int = 0
    calls: int = 0


def count_bytes(line: str) -> int:
    """Those of the operation that a line begins."""
    results, equals, rest = line.partition(" = ")
    if not equals:
        results, rest = "", line
    wide = re.findall(r":(\d+)", results)
    numbers = results.count("%") + sum(int(width) - 1 for width in wide)
    arguments = len(re.findall(r"%\w+: ", rest))
    operands = rest.count("%") - arguments
    opens = OP_BYTES * (" = " in line or "return" in line)
    return (
        opens
        + numbers * RESULT_BYTES
        + operands * OPERAND_BYTES
        + arguments * ARGUMENT_BYTES
    )


def weigh(text: str, *, is_result: bool = False) -> Weight:
    """Counts no edges, which come and go within a phase, as ops in bodies, nor what
    represents a shared body. In a result all functions but `@main` are bodies."""
    weight, end = Weight(), ""
    opens = OPENS_FUNCTION if is_result else OPENS_BODY
    for line in text.splitlines():
        if end and line.startswith(end):
            end = ""
        elif not end or "@mpmd.shared_body" in line:
            weight.calls += count_bytes(line)
            if line.endswith("{") and opens.search(line):
                end = line[: len(line) - len(line.lstrip())] + "}"
        elif line.lstrip().startswith("mpmd.return"):
            weight.calls += count_bytes(line)
        else:
            weight.bodies += count_bytes(line)
            weight.ops += " = " in line and "sdy.data_flow_edge" not in line
    return weight


def weigh_by_phase(args, program: pathlib.Path) -> dict[str, list[Weight]]:
    """By phase, each dump of the whole program."""
    folder = program.with_suffix(".dump")
    command = [args.bin / "meshwright", "partition", program, "-o", "-", "--config"]
    command += [program.with_suffix(".json"), "--set", f"mpmd_dump={folder}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    dumps = sorted(
        folder.glob("main/*/builtin_module_*/*.mlir"),
        key=lambda dump: (dump.parent, int(dump.name.split("_")[0])),
    )
    weights: dict[str, list[Weight]] = {}
    for dump in dumps:
        phase = dump.parent.parent.name.split("-")[1]
        weights.setdefault(phase, []).append(weigh(dump.read_text()))
    weights["result"] = [weigh(done.stdout, is_result=True)]
    return weights


def write_repeated(path: pathlib.Path, microbatches: int) -> pathlib.Path:
    program = path.with_name(f"{path.stem}_{microbatches}.mlir")
    program.write_text(repeat(path.read_text(), microbatches))
    program.with_suffix(".json").write_text(path.with_suffix(".json").read_text())
    return program


def weigh_programs(args, path: pathlib.Path, hold) -> None:
    few, many = 16, 64
    size = f"16 layers, 4 stages, {few} to {many} microbatches"
    by_count = []
    for microbatches in (few, many):
        inside = path.with_name(f"inside_{microbatches}.mlir")
        trace(16, 4, inside, "inside", microbatches)
        by_count.append(weigh_by_phase(args, inside))
    for phase in ("import", "shard"):
        small, large = (weights[phase] for weights in by_count)
        for what in ("bodies", "calls"):
            growth = max(getattr(weight, what) for weight in large) / max(
                getattr(weight, what) for weight in small
            )
            print(f"{size}, {phase}, bytes of {what} {growth:.2f}")
            if what == "bodies":
                hold(f"memory of bodies, {phase}", growth, MOST_BODIES)
    trace(16, 4, path)
    for microbatches in (few, many):
        weights = weigh_by_phase(args, write_repeated(path, microbatches))
        for phase in ("import", "shard"):
            ratio = weights[phase][-1].ops / weights["result"][0].ops
            print(
                f"16 layers, 4 stages, {microbatches} microbatches, {phase}, ops in "
                f"bodies by those of the result {ratio:.2f}"
            )
            hold(f"ops in bodies, {phase}, {microbatches}", ratio, MOST_OPS)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    missed = []

    def hold(what: str, value: float, most: float) -> None:
        if value > most:
            missed.append(f"{what}: {value:.2f}, at most {most} wanted")

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mlir"
        trace(64, 16, path)
        small, large = (measure(args, path, count) for count in (64, 256))
        time = large.processors / small.processors
        memory = (large.memory - large.parsed) / (small.memory - small.parsed)
        print(f"64 layers, 16 stages, 64 to 256 microbatches, time growth {time:.2f}")
        print(
            f"64 layers, 16 stages, 64 to 256 microbatches, memory growth {memory:.2f}"
        )
        hold("time of four times the microbatches", time, MOST_TIME)
        hold("memory of four times the microbatches", memory, MOST_MEMORY)
        _, with_folder = run.run_ours(args.bin, path.with_name(f"{path.stem}_256.mlir"))
        folder_growth = with_folder / large.memory
        print(f"64 layers, 16 stages, 256 microbatches, folder {folder_growth:.2f}")
        hold("memory with the folder", folder_growth, MOST_FOLDER)
        weigh_programs(args, path, hold)
        trace(128, 16, path)
        args.repeat = 1
        cost = measure(args, path, 512)
        seconds, megabytes = cost.phases, cost.memory
        print(
            json.dumps(
                {
                    "program": "128 layers, 16 stages, 512 microbatches",
                    "seconds": round(seconds, 2),
                    "megabytes": round(megabytes),
                    "seconds_ratio": round(seconds / MOST_SECONDS, 3),
                    "memory_ratio": round(megabytes / MOST_MEGABYTES, 3),
                }
            )
        )
        hold("seconds of the large program", seconds, MOST_SECONDS)
        hold("megabytes of the large program", megabytes, MOST_MEGABYTES)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
