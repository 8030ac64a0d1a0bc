"""The programs that scripts/hardware_table.py compiles: of files, and of examples."""

import contextlib
import importlib
import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import jax
from meshwright.programs import stages
from meshwright.runtime import read_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
TWINS = EXAMPLES / "twins"
# What each is run with, a step of it.
OPTIONS = {
    "mlp": [],
    "flax_model": [],
    "encoder_decoder": [],
    "gpt": ["--devices=2"],
    "two_towers": [],
}
FILES = [
    ROOT / "docs" / "first.mlir",
    ROOT / "docs" / "traffic.mlir",
    *sorted((ROOT / "test" / "programs").glob("*.mlir")),
    *sorted((ROOT / "test" / "programs" / "mpmd").glob("*.mlir")),
]
# Of this one all schedules: on four meshes, or with its stages on two.
SCHEDULED = "gpt_4_4_4"
_SPLIT = {"mpmd_split_bwd_fragments": True}
_MESH = re.compile(r"sdy\.mesh @mesh = <\[(.*?)\]>")


@dataclass
class Program:
    """A partitioned program.

    Attributes:
      name, schedule: of it.
      program, fragments: what `meshwright partition` writes.
      folder: where it is; None of one that was made in Python.
    """

    name: str
    schedule: str
    program: dict[str, Any]
    fragments: dict[str, str]
    folder: pathlib.Path | None = None


def names() -> list[str]:
    twins = (p.stem.removesuffix("_plain") for p in TWINS.glob("*_plain.py"))
    return [*(path.stem for path in FILES), *sorted(twins), *OPTIONS]


def programs(tools: pathlib.Path, wanted: list[str]) -> Iterator[Program]:
    """Programs of these names, each with the schedules it is compiled for."""
    for path in FILES:
        if path.stem in wanted:
            yield from _of_file(tools, path, _config(path), "")
    if SCHEDULED in wanted:
        (path,) = (path for path in FILES if path.stem == SCHEDULED)
        for schedule in _schedules(tools):
            has_place = False
            for config in _configs(path):
                for found in _of_file(tools, path, config, schedule):
                    has_place = True
                    yield found
                if has_place:
                    break
            else:
                print(f"{path.stem} {schedule}: no stages for it", flush=True)
    for name in sorted(set(wanted) - {path.stem for path in FILES}):
        yield from _of_example(name)


def _config(path: pathlib.Path) -> dict[str, Any]:
    """The configuration beside a file; without one, a mesh for all of the program."""
    beside = path.with_suffix(".json")
    if beside.exists():
        return json.loads(beside.read_text())
    found = _MESH.search(path.read_text())
    axes = re.findall(r'"(\w+)"=(\d+)', found[1]) if found else [("x", "1")]
    mesh = {axis: int(size) for axis, size in axes}
    return {"function": "main", "topology": {"m": mesh}}


def _configs(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Places for four stages: of their own, or two of them on each mesh."""
    config = _config(path)
    yield config
    meshes = dict(list(config["topology"].items())[:2])
    for places in ((0, 1, 0, 1), (0, 1, 1, 0)):
        for options in ({}, _SPLIT):
            stages = {f"stage{i}": [f"mesh{m}", i] for i, m in enumerate(places)}
            yield config | {
                "topology": meshes,
                "assignment": stages,
                "options": options,
            }


def _of_file(
    tools: pathlib.Path, path: pathlib.Path, config: dict[str, Any], schedule: str
) -> Iterator[Program]:
    with tempfile.TemporaryDirectory() as folder:
        out, written = pathlib.Path(folder) / "out", pathlib.Path(folder) / "c.json"
        written.write_text(json.dumps(config))
        command = [tools / "meshwright", "partition", path]
        command += ["--config", written, "-o", out]
        command += [f"--schedule={schedule}"] if schedule else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode == 0:
            yield Program(path.stem, schedule, *read_folder(out), out)
        elif not schedule:
            raise RuntimeError(f"{path}: {done.stderr.strip()}")


def _schedules(tools: pathlib.Path) -> list[str]:
    done = subprocess.run(
        [tools / "meshwright", "schedule"], capture_output=True, text=True, check=True
    )
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def _of_example(name: str) -> list[Program]:
    """What an example or a twin compiles while it trains here."""
    found: list[Program] = []
    load = stages.load

    def note(program, fragments, meshes, **options):
        found.append(Program(name, "", program, dict(fragments)))
        return load(program, fragments, meshes, **options)

    def update(option, value):
        # There are devices enough, and JAX has started them for earlier programs.
        if option != "jax_num_cpu_devices":
            set_option(option, value)

    folder = EXAMPLES if name in OPTIONS else TWINS
    path, set_option = [str(folder), *sys.path], jax.config.update
    with (
        jax.enable_x64(False),  # As users have it; only programs of files need more.
        mock.patch.object(stages, "load", note),
        mock.patch.object(sys, "path", path),
        mock.patch.object(jax.config, "update", update),
    ):
        if name not in OPTIONS:
            importlib.import_module(name).train()
        else:
            command = [name, "--steps=1", *OPTIONS[name]]
            with (
                mock.patch.object(sys, "argv", command),
                contextlib.redirect_stdout(sys.stderr),
                contextlib.suppress(SystemExit),
            ):
                runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")
    if not found:
        raise RuntimeError(f"{name} has compiled nothing")
    return found
