#!/usr/bin/env python3
"""What it takes to outlive a process, and what being ready for it costs.

    .venv/bin/python bench/elastic.py [--only cost|left|again] [--blocks 16]
        [--width 128]

The example's GPT, a stage in each of four processes on CPU devices of this machine.

cost    Blocks of 20 steps in turns, in this order and in the other: bare; with copies
        of the state in the memory of two processes every 20 steps; and each of the 20
        recorded, in a block of its own. Ratios to the bare block of the same turn:
        medians, and between them and the quarters how far they vary. By the clock,
        until the last loss is there, and in CPU time of all processes, until the
        copies are written, too; the load of the machine matters less to it. What a
        recorded step costs is divided by 20, since one of 20 is recorded for the
        report on stragglers: less than the machine lets one measure by itself.
left    Process 1 is killed. Seconds until each of the others has its ProcessFailure,
        and until the first step of those that are left, with a plan made ahead and the
        state from copies.
again   Process 1 is killed, and all are started again (`--restart`). Seconds until the
        next step, as a ratio to those from the first start to the first step.

Prints one line of JSON. Exit code 1 if copies take more than 1.03 or recordings more
than 1.01 of the CPU time, a failure is known after more than a second, or the step
after a restart takes longer than the first one did.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
PROCESSES, EVERY, VICTIM = 4, 20, 1
BOUNDS = {"copies": 1.03, "recorded": 1.01}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["cost", "left", "again"])
    parser.add_argument("--blocks", type=int, default=16, help="of each kind")
    parser.add_argument("--width", type=int, default=128, help="of the model")
    parser.add_argument("--worker", choices=["cost", "left", "again"])
    return parser.parse_args()


# In the workers.


class Training:
    """The GPT on some processes, whose devices are shared out to its stages."""

    def __init__(self, processes, width: int):
        import gpt
        import jax
        import numpy as np

        import meshwright as mw

        gpt.WIDTH = width
        symbols, self._batch = gpt.make_batches(gpt.TEXT.read_text())
        params = gpt.make_params(len(symbols))
        zeros = jax.tree.map(np.zeros_like, params)
        state = params, zeros, zeros, np.float32(0)
        devices = [d for d in jax.devices() if d.process_index in processes]
        stages = range(gpt.STAGES)
        config = mw.make_config(
            {f"mesh{s}": jax.sharding.Mesh([devices[s]], "data") for s in stages},
            {f"stage{s}": f"mesh{s}" for s in stages},
            name_to_stage_assignment={f"stage{s}": s for s in stages},
            partitioning_options={
                "mpmd_infer_transfers": True,
                "mpmd_infer_cross_mesh_reductions": True,
            },
            pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
        )
        step = mw.jit(gpt.train_step, config, donate_argnums=0)
        self._compiled = step.lower(state, self._batch(0)).compile()
        shardings = self._compiled.input_shardings[0]
        self.state = mw.distributed.place(state, shardings[0])
        # The same one each time: making it is no part of a step.
        self._data = mw.distributed.place(self._batch(0), shardings[1])

    def step(self):
        self.state, loss = self._compiled(self.state, self._data)
        return loss


def measure_cost(options: argparse.Namespace) -> None:
    import meshwright as mw

    mw.distributed.initialize()
    training = Training(mw.elastic.members(), options.width)
    copies = mw.elastic.Copies(every=EVERY)

    def bare(first: int):
        for _ in range(EVERY):
            loss = training.step()
        return loss

    def copied(first: int):
        for number in range(first, first + EVERY):
            loss = training.step()
            copies.save(number, training.state)
        return loss

    def recorded(first: int):
        for _ in range(EVERY):
            with mw.profile(merge=False):
                loss = training.step()
        return loss

    kinds = {"bare": bare, "copies": copied, "recorded": recorded}
    seconds: dict[str, list] = {kind: [] for kind in kinds}
    cpu: dict[str, list] = {kind: [] for kind in kinds}
    for number in range(options.blocks + 1):
        for kind in list(kinds) if number % 2 else reversed(kinds):
            block = kinds[kind]
            began, used = time.perf_counter(), time.process_time()
            mw.fetch(block(number * EVERY))
            passed = time.perf_counter() - began
            copies._queue.join()
            if number:  # The first is to warm up.
                # Short lines: a pipe takes long ones in parts, between which others
                # may come.
                seconds[kind].append(round(passed, 6))
                cpu[kind].append(round(time.process_time() - used, 6))
    print(json.dumps({"seconds": seconds, "cpu": cpu}), flush=True)


def measure_left(options: argparse.Namespace) -> None:
    import jax

    import meshwright as mw

    mw.distributed.initialize(recoverable=True)
    me, everyone = jax.process_index(), mw.elastic.members()
    left = tuple(process for process in everyone if process != VICTIM)
    # The three have six devices, for four stages.
    smaller, training = Training(left, options.width), Training(everyone, options.width)
    copies, found = mw.elastic.Copies(every=EVERY), {}
    try:
        for number in range(EVERY + 6):
            mw.fetch(training.step())
            copies.save(number, training.state)
            if number == EVERY + 5 and me == VICTIM:
                print(json.dumps({"killed": time.monotonic()}), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        while True:
            mw.fetch(training.step())
    except mw.elastic.ProcessFailure:
        found["known"] = time.monotonic()
    mw.elastic.regroup()
    state, step = copies.restore(smaller.state)
    smaller.state = state
    mw.fetch(smaller.step())
    found |= {"next step": time.monotonic(), "from step": step}
    print(json.dumps(found), flush=True)


def measure_again(options: argparse.Namespace) -> None:
    import jax

    import meshwright as mw

    mw.distributed.initialize()
    training = Training(mw.elastic.members(), options.width)
    mw.fetch(training.step())
    name = "next step" if mw.elastic.attempt() else "first step"
    print(json.dumps({name: time.monotonic()}), flush=True)
    if jax.process_index() == VICTIM and not mw.elastic.attempt():
        print(json.dumps({"killed": time.monotonic()}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


# In the one that starts them.


def launch(worker: str, options: argparse.Namespace) -> list[dict]:
    """What the processes print."""
    paths = [ROOT / "python", ROOT / "build" / "python", ROOT / "examples"]
    paths += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    with tempfile.TemporaryDirectory() as caches:  # What was compiled helps no other.
        done = subprocess.run(
            [
                *(sys.executable, "-m", "meshwright.launch", "-n", str(PROCESSES)),
                *("--restart", "1", "--devices-per-process", "2", "--no-prefix"),
                *("--timeout", "300"),
                *(__file__, "--worker", worker, "--width", str(options.width)),
                *("--blocks", str(options.blocks)),
            ],
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                "MESHWRIGHT_CACHE_DIR": caches,
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    lines = done.stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def summarize_cost(reports: list[dict]) -> dict:
    """Ratios to bare blocks, and seconds of a step."""
    found: dict = {"blocks": len(reports[0]["cpu"]["bare"])}
    for what, of_all in (("cpu", sum), ("seconds", max)):
        times = {
            kind: [
                of_all(each)
                for each in zip(*(r[what][kind] for r in reports), strict=True)
            ]
            for kind in reports[0][what]
        }
        bare = times.pop("bare")
        found[f"step, {what}"] = round(statistics.median(bare) / EVERY, 5)
        for kind, values in times.items():
            ratios = [value / of for value, of in zip(values, bare, strict=True)]
            if kind == "recorded":
                ratios = [1 + (ratio - 1) / EVERY for ratio in ratios]
            low, middle, high = statistics.quantiles(ratios, n=4)
            found[f"{kind}, {what}"] = round(middle, 4)
            found[f"{kind}, {what}, range"] = [round(low, 4), round(high, 4)]
    return found


def summarize_left(reports: list[dict]) -> dict:
    (killed,) = [r["killed"] for r in reports if "killed" in r]
    others = [report for report in reports if "known" in report]
    found = {
        name: round(max(report[name] for report in others) - killed, 2)
        for name in ("known", "next step")
    }
    return found | {"steps lost": EVERY + 5 - others[0]["from step"]}


def summarize_again(reports: list[dict], began: float) -> dict:
    (killed,) = [r["killed"] for r in reports if "killed" in r]
    first = max(r["first step"] for r in reports if "first step" in r) - began
    again = max(r["next step"] for r in reports if "next step" in r) - killed
    found = {"first step": round(first, 2), "next step": round(again, 2)}
    return found | {"ratio": round(again / first, 3)}


def main() -> int:
    options = arguments()
    if options.worker:
        globals()[f"measure_{options.worker}"](options)
        return 0
    report: dict = {}
    if options.only in (None, "cost"):
        report["cost"] = summarize_cost(launch("cost", options))
    if options.only in (None, "left"):
        report["left"] = summarize_left(launch("left", options))
    if options.only in (None, "again"):
        began = time.monotonic()
        report["again"] = summarize_again(launch("again", options), began)
    print(json.dumps(report))
    cost = report.get("cost", {})
    above = [k for k, bound in BOUNDS.items() if cost.get(f"{k}, cpu", 0) > bound]
    late = report.get("left", {}).get("known", 0) > 1
    late |= report.get("again", {}).get("ratio", 0) > 1
    return 1 if above or late else 0


if __name__ == "__main__":
    sys.exit(main())
