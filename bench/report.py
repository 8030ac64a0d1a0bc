#!/usr/bin/env python3
"""Runs the benches, and makes one report of them: Markdown, JSON and a plot.

    .venv/bin/python bench/report.py [--bin build/bin] [--only call,phases] [-o FOLDER]
        [--update] [--strict]

FOLDER gets report.md, report.json and ratios.svg. Ratios are compared with those of
bench/baseline.json, and worse ones by more than 5 % are marked; with --strict these
make the exit code 1, with --update what was measured becomes the baseline. Only ratios
are kept there: they hold on other machines, seconds do not. A bench that fails, or has
a ratio to mark, runs up to twice more: what disturbs one run hardly disturbs all, so
only what is worse each time is marked, and only what fails each time has failed.

What counts as a ratio, in what a bench prints:
- in JSON, a number whose key has the word "ratio", or "to" as in `step_to_loop`;
- in a row of text, a number with an x, as in `2.5x`, and all numbers after the word
  "growth". The words before the first decimal number are its name. A "-" represents a
  ratio of times that are too short to tell.
"""

import argparse
import dataclasses
import datetime
import importlib.util
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINE = ROOT / "bench" / "baseline.json"
ALLOWED = 0.05
MOST_RUNS = 3

from meshwright.core.files import whole_file  # noqa: E402

from bench.benches import BENCHES, Bench  # noqa: E402


@dataclasses.dataclass
class Run:
    """What a bench printed, and how it ended."""

    bench: Bench
    seconds: float
    code: int
    output: str
    errors: str
    load: float

    @property
    def ratios(self) -> dict[str, float]:
        return {name: v for name, v in self._found if math.isfinite(v)}

    @property
    def untold(self) -> set[str]:
        """Names of what is measured, and was too short for a ratio."""
        return {name for name, value in self._found if math.isnan(value)}

    @property
    def _found(self) -> list[tuple[str, float]]:
        return list(find_ratios(self.output))


@dataclasses.dataclass
class Change:
    """A ratio beside that of the baseline; `worse` is by how much, 0.1 for 10 %."""

    name: str
    ratio: float
    before: float | None
    worse: float

    @property
    def is_flagged(self) -> bool:
        return self.worse > ALLOWED


def find_ratios(text: str) -> Iterator[tuple[str, float]]:
    """NaN where there is a "-" in its place."""
    for line in text.splitlines():
        yield from _in_json(line) if line.startswith("{") else _in_row(line)


def _in_json(line: str) -> Iterator[tuple[str, float]]:
    try:
        data = json.loads(line)
    except ValueError:
        return
    # Texts and shapes tell lines of several apart.
    labels = [v for v in data.values() if isinstance(v, str)] if len(data) else []

    def walk(value, path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(inner, (*path, key))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            words = re.split(r"[_ ]", path[-1])
            if "ratio" in words or "to" in words:
                yield " ".join([*labels, *path]), float(value)

    yield from walk(data, ())


def _in_row(line: str) -> Iterator[tuple[str, float]]:
    words = line.split()
    values, is_after = [], False
    for word in words:
        is_after = is_after or word == "growth"
        number = word[:-1] if word.endswith("x") else word if is_after else ""
        if re.fullmatch(r"\d+(\.\d+)?", number):
            values.append(float(number))
        elif word == "-":
            values.append(math.nan)
    name = []
    for word, unit in zip(words, [*words[1:], ""], strict=False):
        if re.fullmatch(r"\d+\.\d+x?|growth", word):
            break
        if word.isdigit() and unit in ("s", "ms", "kB", "MB", "GB"):
            break
        name.append(word)
    for index, value in enumerate(values):
        place = f" [{index}]" if len(values) > 1 else ""
        yield " ".join(name).rstrip(":,") + place, value


def run(bench: Bench, tools: pathlib.Path) -> Run:
    script, *options = bench.command.format(bin=tools).split()
    start = time.monotonic()
    load = os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / script, *options],
        capture_output=True,
        text=True,
        errors="replace",
    )
    seconds = time.monotonic() - start
    return Run(bench, seconds, done.returncode, done.stdout, done.stderr, load)


def compare(found: Run, baseline: dict[str, float]) -> list[Change]:
    """Each ratio beside the one before. A ratio of the baseline without one now counts
    as worse without bound."""
    changes = []
    for name, ratio in found.ratios.items():
        before = baseline.get(name)
        worse = 0.0
        if before and ratio:
            badness = found.bench.badness
            worse = badness(name, ratio) / badness(name, before) - 1
        changes.append(Change(name, ratio, before, worse))
    for name in baseline.keys() - found.ratios.keys() - found.untold:
        changes.append(Change(name, math.nan, baseline[name], math.inf))
    return changes


def measure(
    bench: Bench, tools: pathlib.Path, baseline: dict[str, float]
) -> tuple[Run, list[Change]]:
    """Runs a bench until nothing is wrong, or often enough to believe that it is.

    Returns:
      The last run, or one that did not fail if there is any; of each ratio the best
      change of all runs that are as good.
    """
    found = run(bench, tools)
    changes = compare(found, baseline)
    for _ in range(1, MOST_RUNS):
        if not found.code and not any(change.is_flagged for change in changes):
            break
        again = run(bench, tools)
        if again.code and not found.code:
            continue
        more = compare(again, baseline)
        if not found.code:
            more = _best_of_each([*changes, *more])
        found, changes = again, more
    return found, changes


def _best_of_each(changes: list[Change]) -> list[Change]:
    best: dict[str, Change] = {}
    for change in changes:
        known = best.setdefault(change.name, change)
        if change.worse < known.worse:
            best[change.name] = change
    return list(best.values())


def machine() -> dict:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit.stdout.strip() or "unknown",
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def percent(change: Change) -> str:
    if change.before is None:
        return "new"
    if math.isinf(change.worse):
        return "**gone**"
    text = f"{abs(change.worse):.0%} {'worse' if change.worse > 0 else 'better'}"
    return f"**{text}**" if change.is_flagged else text


def as_markdown(runs: list[Run], changes: dict[str, list[Change]], about: dict) -> str:
    flagged = [(n, c) for n, list_ in changes.items() for c in list_ if c.is_flagged]
    failed = [r.bench.name for r in runs if r.code]
    lines = ["# Benches", ""]
    lines.append(", ".join(f"{key} {value}" for key, value in about.items()) + ".")
    lines.append("Load is the number of processes that ran when a bench began.")
    lines += ["", f"More than {ALLOWED:.0%} worse than the baseline: {len(flagged)}."]
    lines += [f"- {name}: {c.name}: {percent(c)}" for name, c in flagged]
    lines += [f"- {name}: failed" for name in failed]
    lines += ["", "![ratios](ratios.svg)"]
    for each in runs:
        bench = each.bench
        lines += [
            "",
            f"## {bench.name}",
            "",
            f"{bench.about}: {bench.better} is better.",
        ]
        lines += [f"`{bench.command}` took {each.seconds:.0f} s, load {each.load:.1f}."]
        lines += ["", "| ratio | now | baseline | |", "| --- | --- | --- | --- |"]
        for c in changes[bench.name]:
            before = "" if c.before is None else f"{c.before:.2f}"
            name = c.name.replace("|", "\\|")
            lines.append(f"| {name} | {c.ratio:.2f} | {before} | {percent(c)} |")
        lines += ["", "```", each.output.strip("\n"), "```"]
        if each.code:
            lines += ["", f"It failed with code {each.code}:", "", "```"]
            lines += [*each.errors.strip().splitlines()[-20:], "```"]
    return "\n".join(lines) + "\n"


def plot(changes: dict[str, list[Change]], file) -> None:
    """A dot per ratio, and a ring where the baseline has it, by bench."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = {name: [c for c in list_ if c.ratio > 0] for name, list_ in changes.items()}
    shown = {name: list_ for name, list_ in shown.items() if list_}
    rows = max(1, sum(map(len, shown.values())))
    figure, axis = pyplot.subplots(figsize=(9, 1 + 0.18 * rows), layout="constrained")
    at, labels = 0, []
    for name, list_ in shown.items():
        places = range(at, at + len(list_))
        axis.scatter([c.ratio for c in list_], places, s=16, label=name)
        known = [(c.before, y) for c, y in zip(list_, places, strict=True) if c.before]
        axis.scatter(*zip(*known, strict=True) if known else ([], []), s=36, **_RING)
        labels += [f"{name}: {c.name}"[:60] for c in list_]
        at += len(list_)
    axis.set_yticks(range(at), labels, fontsize=6)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.axvline(1, color="gray", linewidth=0.5)
    axis.set_xlabel("ratio; rings are the baseline")
    figure.savefig(file, format="svg", metadata={"Date": None})
    pyplot.close(figure)


_RING = {"facecolors": "none", "edgecolors": "gray", "linewidths": 0.7}


def read_baseline() -> dict:
    return json.loads(BASELINE.read_text()) if BASELINE.exists() else {}


def update_baseline(runs: list[Run], about: dict) -> None:
    """Puts what ran into the baseline, if it has ratios; others keep what they have."""
    baseline = read_baseline()
    for each in runs:
        if not each.code and each.ratios:
            entry = {"measured": about | {"load": round(each.load, 1)}}
            baseline[each.bench.name] = entry | {"ratios": each.ratios}
    with whole_file(BASELINE) as file:
        file.write(json.dumps(baseline, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--only", default="", help="names of benches, with commas")
    parser.add_argument(
        "-o", "--output", type=pathlib.Path, default=ROOT / "build" / "bench"
    )
    parser.add_argument("--update", action="store_true", help="make it the baseline")
    parser.add_argument("--strict", action="store_true", help="fail where worse")
    parser.add_argument("--list", action="store_true", help="say which there are")
    options = parser.parse_args()
    names = [bench.name for bench in BENCHES]
    options.only = [name for name in options.only.split(",") if name]
    for name in options.only:
        if name not in names:
            parser.error(f"there is no bench {name!r}; there are {', '.join(names)}")
    if not options.list and not importlib.util.find_spec("matplotlib"):
        parser.error("matplotlib is not installed: run scripts/deps.sh bench")
    return options


def main() -> int:
    options = arguments()
    chosen = [b for b in BENCHES if not options.only or b.name in options.only]
    if options.list:
        for bench in chosen:
            print(f"{bench.name:<12} {bench.about}")
        return 0
    about, baseline = machine(), {} if options.update else read_baseline()
    runs, changes = [], {}
    for bench in chosen:
        print(f"{bench.name}: {bench.command}", file=sys.stderr, flush=True)
        known = baseline.get(bench.name, {}).get("ratios", {})
        found, changes[bench.name] = measure(bench, options.bin.resolve(), known)
        runs.append(found)
        # What ends this one leaves what there is.
        write_report(options.output, runs, changes, about)
    if options.update:
        update_baseline(runs, about)
    flagged = [(n, c) for n, list_ in changes.items() for c in list_ if c.is_flagged]
    for name, change in flagged:
        print(f"{name}: {change.name}: {percent(change).strip('*')}")
    for each in runs:
        if each.code:
            print(f"{each.bench.name}: failed with code {each.code}")
    print(f"written: {options.output / 'report.md'}, report.json and ratios.svg")
    is_failed = any(each.code for each in runs)
    return 1 if is_failed or (options.strict and flagged) else 0


def write_report(
    folder: pathlib.Path,
    runs: list[Run],
    changes: dict[str, list[Change]],
    about: dict,
) -> None:
    """All three files, of the benches that have run."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / "report.md") as file:
        file.write(as_markdown(runs, changes, about))
    with whole_file(folder / "ratios.svg", "wb") as file:
        plot(changes, file)
    data = {
        each.bench.name: {
            "command": each.bench.command,
            "better": each.bench.better,
            "seconds": round(each.seconds, 1),
            "load": round(each.load, 1),
            "code": each.code,
            "ratios": each.ratios,
            "output": each.output,
        }
        for each in runs
    }
    with whole_file(folder / "report.json") as file:
        json.dump({"about": about, "benches": data}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
