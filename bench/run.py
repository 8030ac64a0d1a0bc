#!/usr/bin/env python3
"""Measures Meshwright next to what jaxlib does with the same files.

    .venv/bin/python bench/run.py [--bin build/bin] [--repeat 5]

Two comparisons, best of several runs in one process each:

- parse + verify + print of `gpt_32_8_32.mlir`: `mpmd-opt` as a whole process,
  against `ir.Module.parse` and `str()` in jaxlib's Python, imports excluded;
- the phases, with 1F1B: the times `meshwright partition` reports, against the
  partitioner that is compiled into jaxlib (`support/peer.py`), parsing excluded;
  and the peak memory of the two processes, the peer's with its Python; also
  `meshwright partition` as a whole process, from the text to the files, against the
  peer's phases.

Prints a row per program with both times and their ratio, if ours is a millisecond or
more; above 1 is faster. Exit code 1 if all phases of `gpt_32_8_32` are not 10 times as
quick.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "test" / "programs" / "mpmd"
PHASES = ("import", "optimize", "shard", "export")
LEAST_RATIO = {"gpt_32_8_32": 10}  # Of all phases.


def best(seconds: list[float]) -> float:
    return min(seconds)


def time_process(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def parse_and_print(args: argparse.Namespace) -> None:
    from jaxlib.mlir import ir
    from support import numerics

    path = PROGRAMS / "gpt_32_8_32.mlir"
    text = path.read_text()
    theirs = []
    for _ in range(args.repeat):
        with numerics.make_context():
            start = time.perf_counter()
            str(ir.Module.parse(text))
            theirs.append(time.perf_counter() - start)
    ours = [time_process(args.bin / "mpmd-opt", path) for _ in range(args.repeat)]
    report("parse + print", path.stem, best(ours), best(theirs))


# A process starts with the peak memory of the one it was forked from, so both
# sides are forked from a small one, which ends its stderr with theirs in kB.
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def launch(*command: object) -> tuple[str, list[str], float]:
    """Standard output, lines of stderr, and peak memory in MB of a process."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *map(str, command)],
        capture_output=True,
        text=True,
    )
    *lines, peak = done.stderr.splitlines()
    if done.returncode:
        sys.exit("\n".join(lines))
    return done.stdout, lines, int(peak) / 1024


def run_ours(
    binary: pathlib.Path, path: pathlib.Path, output: str | None = None
) -> tuple[dict, float]:
    """Seconds per phase, and the peak memory of the process in MB. With "-" as
    output it writes the module alone, not the schedule, which has a line per value."""
    with tempfile.TemporaryDirectory() as folder:
        _, lines, memory = launch(
            binary / "meshwright",
            "partition",
            path,
            f"--config={path.with_suffix('.json')}",
            f"-o={output or folder}",
            "--time",
        )
    seconds = {}
    for words in map(str.split, lines):
        if words and words[0] in PHASES:
            seconds[words[0]] = float(words[-2])
    return seconds, memory


def time_partition(binary: pathlib.Path, path: pathlib.Path) -> float:
    """Seconds of the process, from its start to the last file."""
    with tempfile.TemporaryDirectory() as folder:
        return time_process(
            binary / "meshwright",
            "partition",
            path,
            f"--config={path.with_suffix('.json')}",
            f"-o={folder}/out",
        )


def run_peer(path: pathlib.Path, repeat: int) -> tuple[dict, float]:
    """The same of the peer; the memory is that of a single run."""
    command = [
        sys.executable,
        "-m",
        "support.peer",
        path,
        path.with_suffix(".json"),
        "--until=partition",
    ]
    stdout, _, memory = launch(*command)
    if repeat > 1:
        stdout, _, _ = launch(*command, f"--repeat={repeat}")
    return json.loads(stdout.splitlines()[-1])["seconds"], memory


def phases(args: argparse.Namespace) -> bool:
    """Returns whether all are as quick as they should be."""
    is_met = True
    for path in sorted(PROGRAMS.glob("*.mlir"), key=lambda p: p.stat().st_size):
        runs = [run_ours(args.bin, path) for _ in range(args.repeat)]
        ours = {phase: min(run[0][phase] for run in runs) for phase in PHASES}
        theirs, their_memory = run_peer(path, args.repeat)
        report("import", path.stem, ours["import"], theirs["import"])
        report("optimize", path.stem, ours["optimize"], theirs["optimize"])
        report(
            "shard + export",
            path.stem,
            ours["shard"] + ours["export"],
            theirs["partition"],
        )
        report("all phases", path.stem, sum(ours.values()), sum(theirs.values()))
        whole = [time_partition(args.bin, path) for _ in range(args.repeat)]
        report("whole process", path.stem, best(whole), sum(theirs.values()))
        memory = max(run[1] for run in runs)
        print(
            f"{'peak memory':<14} {path.stem:<12} {memory:7.0f} MB "
            f"{their_memory:7.0f} MB {their_memory / memory:6.2f}x",
            flush=True,
        )
        ratio = sum(theirs.values()) / sum(ours.values())
        least = LEAST_RATIO.get(path.stem, 0)
        if ratio < least:
            is_met = False
            print(
                f"missed: {path.stem} {ratio:.1f} times as quick, at least {least} "
                "wanted",
                file=sys.stderr,
            )
    return is_met


def report(what: str, program: str, ours: float, theirs: float) -> None:
    # The clock has tenths of a millisecond: below this it decides.
    ratio = f"{theirs / ours:.2f}x" if ours >= 1e-3 else "-"
    print(
        f"{what:<14} {program:<12} {ours:8.4f} s {theirs:8.4f} s {ratio:>7}", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    print(f"{'':<14} {'program':<12} {'ours':>10} {'jaxlib':>10} {'ratio':>7}")
    parse_and_print(args)
    return 0 if phases(args) else 1


if __name__ == "__main__":
    sys.exit(main())
