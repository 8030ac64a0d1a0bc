# SPDX-License-Identifier: Apache-2.0
"""The compiler: texts in, texts out."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import progress
from ..core.fragments import FragmentInfo, FragmentOrigin, SplitFragmentType
from ..core.version import __version__
from . import diagnostics

_PACKAGE = os.path.dirname(os.path.dirname(__file__))

IMPORT = 1
OPTIMIZE = 2
PARTITION = 4

_SPLIT_TYPES = {
    "keep_transferred": SplitFragmentType.KEEP_TRANSFERRED,
    "drop_transferred": SplitFragmentType.DROP_TRANSFERRED,
}


def _extension() -> Any:
    """The compiler. Raises ImportError, with a remedy, if it is not there, cannot be
    loaded, or belongs to another release."""
    try:
        import _meshwright
    except ImportError as error:
        advice = (
            "install the wheel, or build it and put build/python on PYTHONPATH; "
            "`meshwright doctor` says more"
        )
        if sys.platform == "linux" and platform.libc_ver()[0] != "glibc":
            advice = (
                "it needs a Linux with glibc, and this one has another C library "
                "(musl?); use an image of Debian, Ubuntu, Fedora or the like"
            )
        raise ImportError(
            f"meshwright's compiler cannot be loaded: {error}; {advice}"
        ) from error
    if _meshwright.version != __version__:
        raise ImportError(
            f"meshwright {__version__} in {_PACKAGE} has found the "
            f"compiler of meshwright {_meshwright.version} in {_meshwright.__file__}: "
            "two copies are installed; uninstall one, or take it off PYTHONPATH"
        )
    return _meshwright


_NAMES = re.compile(
    r'mpmd\.(?:named_computation<|named_tensor [^\n]*? name=)"((?:[^"\\]|\\.)*)"'
)
_ESCAPES = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")


def _unescape(text: str) -> str:
    """What a string in a module stands for: it escapes UTF-8 byte by byte."""

    def byte_of(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 16)]) if len(code) == 2 else code

    return _ESCAPES.sub(byte_of, text.encode()).decode(errors="replace")


def names_in(module: str) -> set[str]:
    """Names of all computations and tensors in the text of a module."""
    return {_unescape(name) for name in _NAMES.findall(module)}


def partition(
    module: str | bytes,
    config: Mapping[str, Any],
    *,
    phases: int = IMPORT | OPTIMIZE | PARTITION,
    merge_rules: Sequence[str] = (),
    schedule_rules: Sequence[str] = (),
) -> Any:
    """Runs phases of the partitioner over a module.

    Args:
      module: text or bytecode of a module, with locations.
      config: keys of the configuration file (docs/config.md).
      phases: which phases to run, a bit set.
      merge_rules: rules in the compiler's syntax.
      schedule_rules: rules in the compiler's syntax.

    Returns:
      The extension's result: `bytecode`, `module` (the text of it, printed anew
      each time), `io`, `diagnostics` (which are logged), if it imported also
      `fragment_info`, behind the last phase `program` and `fragments`.

    Raises:
      RuntimeError: the program cannot be partitioned. The text is the first
        error with its place in the user's source.
    """
    extension = _extension()
    try:
        with progress.waiting("partitioning"):
            result = extension.partition(
                module,
                json.dumps(config),
                phases,
                list(merge_rules),
                list(schedule_rules),
            )
    except extension.PartitionError as error:
        explained = extension.PartitionError(
            diagnostics.explain(error.diagnostics) or str(error)
        )
        explained.diagnostics = error.diagnostics
        explained.meshwright_place = diagnostics.place_of_error(error.diagnostics)
        raise explained from None
    diagnostics.report(result.diagnostics)
    schedule = config.get("options", {}).get("mpmd_pipeline_schedule", "None")
    if phases == IMPORT | OPTIMIZE | PARTITION and schedule.lower() != "none":
        diagnostics.report_idle_schedule(schedule, config["topology"], module)
    return result


def explain_sharding(
    module: str,
    config: Mapping[str, Any],
    value: str,
    merge_rules: Sequence[str] = (),
    schedule_rules: Sequence[str] = (),
) -> tuple[str, str]:
    """Which annotations the shardings of a value come from, or of all if it is empty.

    Args:
      module, config, merge_rules, schedule_rules: as for `partition`.
      value: what `meshwright explain-sharding` takes as `--value`.

    Returns:
      An array of values as JSON, and a text for people.

    Raises:
      ValueError: there is no such value, or none is sharded.
    """
    extension = _extension()
    try:
        return extension.explain_sharding(
            module, json.dumps(config), value, list(merge_rules), list(schedule_rules)
        )
    except extension.PartitionError as error:
        raise ValueError(str(error)) from None


def splits_backward(schedule: str) -> bool:
    """Whether a schedule has a place for weight gradients that are apart.

    Args:
      schedule: the compiler's name of it, or `file:PATH`.

    Raises:
      ValueError: there is no such schedule, or the file is none.
    """
    return _extension().splits_backward(schedule)


def place_stages(schedule: str, meshes: int, stages: int) -> dict[int, int]:
    """The position of the mesh of each stage, by stage.

    Raises:
      ValueError: the schedule has no place for so many stages.
    """
    return _extension().place_stages(schedule, meshes, stages)


def fragment_infos(result: Any) -> list[FragmentInfo]:
    """Descriptions of the fragments that importing a program made."""
    return [
        FragmentInfo(
            origins=tuple(FragmentOrigin(*origin) for origin in info["origins"]),
            stage_id=info["stage_id"],
            call_counter=info["call_counter"],
            split_type=_SPLIT_TYPES.get(info["split_type"]),
            mesh_name=info["mesh_name"],
        )
        for info in result.fragment_info
    ]


def simulate(
    module: bytes, device: str, profile: str, costs: list[str], processes: int
) -> tuple[str, str, list[str]]:
    """Simulates a partitioned module.

    Args:
      module: its bytecode.
      device: a name, or a file of devices.
      profile: JSON of a recording, or nothing.
      costs: what custom calls do.
      processes: how many issue the program.

    Returns:
      JSON with items, a table for people, and notes on what was guessed.

    Raises:
      ValueError: an unknown device, a profile that cannot be read, or a program
        that cannot be simulated.
    """
    return _extension().simulate(module, device, profile, costs, processes)


def draw(text: str, path: str, format: str | None, title: str, recording: str) -> bytes:
    """Draws a simulation or a program.

    Args:
      text: JSON of either.
      path: of the file that it will be; its ending may say the format.
      format: its name, or None.
      title: what stands above.
      recording: JSON of a run to be drawn beside, or nothing.

    Returns:
      The contents of the file.

    Raises:
      ValueError: an unknown format, or a recording that cannot be read.
    """
    return _extension().draw(text, format or "", path, title, recording)
