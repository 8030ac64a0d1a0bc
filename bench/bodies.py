#!/usr/bin/env python3
"""What partitioning takes of more microbatches, and of a large program.

    .venv/bin/python bench/bodies.py [--bin build/bin]

Programs are GPT training steps as `bench/curve.py` traces them, for three
microbatches; more are written by repeating what `@main` does for the third. Prints

- growth: time and memory of four times the microbatches, by those of one time
  (64 layers in 16 stages, 64 and 256 microbatches); memory is what bodies and the
  operands, edges and shardings of their fragments take: the peak of the process less
  that of a run that only parses and prints;
- ops: the same of the ops in bodies, those of fragments and of functions that they
  share, without edges and calls, behind each phase and where there are most (16 layers
  in 4 stages, 16 and 64 microbatches);
- folder: the peak of a run that writes the folder, by that of one that writes the
  module alone (64 layers in 16 stages, 256 microbatches);
- large: seconds of all phases, and the peak, of 128 layers in 16 stages with 512
  microbatches, and how often they fit into the bounds.

Exit code 1 if a bound is missed: 4.5 times the time, 1.2 times the memory, also with
the folder, 20 s, 3 GiB.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

import run  # noqa: E402

MOST_TIME, MOST_MEMORY, MOST_FOLDER, MOST_OPS = 4.5, 1.2, 1.2, 1.2
MOST_SECONDS, MOST_MEGABYTES = 20, 3 * 1024

OPENS_BODY = re.compile(r"mpmd\.fragment<|func\.func private @shared_body")

TRACE = """
import json, os, pathlib, sys
layers, stages, path = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
os.environ["JAX_NUM_CPU_DEVICES"] = str(2 * stages)
import curve
text, config, _ = curve.trace(layers, stages, 3)
path.write_text(text)
path.with_suffix(".json").write_text(json.dumps(config))
"""


def trace(layers: int, stages: int, path: pathlib.Path) -> None:
    """Writes the program for three microbatches, and its configuration beside it.
    In a process of its own: the number of devices is one of a process."""
    command = [sys.executable, "-c", TRACE, str(layers), str(stages), str(path)]
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


def measure(args, path: pathlib.Path, microbatches: int) -> tuple[float, float, float]:
    """Seconds of all phases, the peak, and that of only parsing and printing, in MB."""
    program = path.with_name(f"{path.stem}_{microbatches}.mlir")
    program.write_text(repeat(path.read_text(), microbatches))
    program.with_suffix(".json").write_text(path.with_suffix(".json").read_text())
    runs = [run.run_ours(args.bin, program, output="-") for _ in range(args.repeat)]
    _, _, parsed = run.launch(args.bin / "mpmd-opt", program, "-o", "/dev/null")
    seconds = min(sum(seconds.values()) for seconds, _ in runs)
    return seconds, min(memory for _, memory in runs), parsed


def count_in_bodies(text: str) -> int:
    """The ops in fragments and shared bodies, but for what stands in for others."""
    count, end = 0, ""
    for line in text.splitlines():
        if end:
            if line.startswith(end):
                end = ""
            elif " = " in line and "sdy.data_flow_edge" not in line:
                count += "@mpmd.shared_body" not in line
        elif line.endswith("{") and OPENS_BODY.search(line):
            end = line[: len(line) - len(line.lstrip())] + "}"
    return count


def count_by_phase(args, path: pathlib.Path, microbatches: int) -> dict[str, list[int]]:
    """By phase, the ops in bodies in each dump of the whole program."""
    program = path.with_name(f"{path.stem}_{microbatches}.mlir")
    program.write_text(repeat(path.read_text(), microbatches))
    folder = program.with_suffix(".dump")
    command = [args.bin / "meshwright", "partition", program, "-o", "-"]
    command += ["--config", path.with_suffix(".json"), "--set", f"mpmd_dump={folder}"]
    subprocess.run(command, check=True, capture_output=True)
    dumps = sorted(
        folder.glob("main/*/builtin_module_*/*.mlir"),
        key=lambda dump: (dump.parent, int(dump.name.split("_")[0])),
    )
    counts: dict[str, list[int]] = {}
    for dump in dumps:
        phase = dump.parent.parent.name.split("-")[1]
        counts.setdefault(phase, []).append(count_in_bodies(dump.read_text()))
    return counts


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
        time = large[0] / small[0]
        memory = (large[1] - large[2]) / (small[1] - small[2])
        print(f"64 layers, 16 stages, 64 to 256 microbatches, time growth {time:.2f}")
        print(
            f"64 layers, 16 stages, 64 to 256 microbatches, bodies growth {memory:.2f}"
        )
        hold("time of four times the microbatches", time, MOST_TIME)
        hold("memory of four times the microbatches", memory, MOST_MEMORY)
        trace(16, 4, path)
        few, many = (count_by_phase(args, path, count) for count in (16, 64))
        for phase in ("import", "shard"):
            ends = many[phase][-1] / few[phase][-1]
            most = max(many[phase]) / max(few[phase])
            print(f"16 layers, 4 stages, 16 to 64 microbatches, {phase} ops {ends:.2f}")
            hold(
                f"ops in bodies of four times the microbatches, {phase}", most, MOST_OPS
            )
        _, with_folder = run.run_ours(args.bin, path.with_name(f"{path.stem}_256.mlir"))
        folder_growth = with_folder / large[1]
        print(f"64 layers, 16 stages, 256 microbatches, folder {folder_growth:.2f}")
        hold("memory with the folder", folder_growth, MOST_FOLDER)
        trace(128, 16, path)
        args.repeat = 1
        seconds, megabytes, _ = measure(args, path, 512)
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
