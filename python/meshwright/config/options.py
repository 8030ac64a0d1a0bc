# SPDX-License-Identifier: Apache-2.0
"""Partitioning options as users give them, and with what a schedule needs."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import Any

from ..compiler import native
from ..compiler.schedules import compiler_name
from ..core.config import SCHEDULE_OPTION, PartitioningOptions
from ..core.fragments import PipelineSchedule
from ..core.names import unknown_name

_logger = logging.getLogger(__name__)


# For programs that only run forwards, and known to the commands alone: what trains
# always sends gradients to earlier meshes.
_FORWARD_ONLY_OPTION = "mpmd_fail_on_backward_deps"


@functools.cache
def _option_types() -> dict[str, tuple[str, int]]:
    """By name: bool, int, text, schedule, or pairs of indices; and the least number."""
    options = native.extension().options()
    return {
        key: (kind, least)
        for _, key, kind, *_, least in options
        if key != _FORWARD_ONLY_OPTION
    }


def boolean_options() -> tuple[str, ...]:
    """The names of all options that are switched on or off."""
    return tuple(name for name, (kind, _) in _option_types().items() if kind == "bool")


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_option(key: str, value: Any) -> None:
    kind, least = _option_types()[key]
    if kind == "schedule":
        compiler_name(f"partitioning_options: {key}", value)
        return
    if kind == "bool":
        is_right, expected = isinstance(value, bool), "a bool"
    elif kind == "text":
        is_right, expected = isinstance(value, str), "a str"
    elif kind == "int":
        is_right = isinstance(value, int) and not isinstance(value, bool)
        is_right = is_right and value >= least
        expected = f"an int of {least} or more"
    else:
        is_right = isinstance(value, Sequence) and all(
            isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_index, pair))
            for pair in value
        )
        expected = "a list of pairs (input, output) of indices"
    if not is_right:
        raise ValueError(
            f"partitioning_options: {key} must be {expected}, got {value!r} of type "
            f"{type(value).__name__}"
        )


def check_options(options: PartitioningOptions | None) -> None:
    for key, value in (options or {}).items():
        if key not in _option_types():
            known = _option_types()
            raise ValueError(unknown_name("partitioning_options", key, known))
        _check_option(key, value)


def with_compiler_name(options: PartitioningOptions) -> PartitioningOptions:
    """The options with the compiler's name of the schedule."""
    if SCHEDULE_OPTION not in options:
        return options
    name = compiler_name(SCHEDULE_OPTION, options[SCHEDULE_OPTION])
    return {**options, SCHEDULE_OPTION: name}


def validate_and_merge_partitioning_options(
    pipeline_required_options: PartitioningOptions | PipelineSchedule | None,
    user_provided_options: PartitioningOptions | None,
) -> PartitioningOptions | None:
    """The user's options plus those that a schedule cannot do without.

    Logs a warning for each option that is added. `make_config` merges options in the
    same way without warnings, since its caller has asked for the schedule.

    Args:
      pipeline_required_options: a schedule, or its `required_mpmd_options`.
      user_provided_options: what `make_config` takes as `partitioning_options`.

    Returns:
      All options; `user_provided_options` itself if the schedule requires none.

    Raises:
      ValueError: an unknown option or value, or options that the user set to
        another value than the schedule requires; the text lists all of them.
    """
    merged = merge_options(pipeline_required_options, user_provided_options)
    for key in set(merged or ()) - set(user_provided_options or ()):
        _logger.warning(
            "partitioning option %s is set to %r, as required by pipeline schedule",
            key,
            merged[key],
        )
    return merged


def merge_options(
    required: PartitioningOptions | PipelineSchedule | None,
    user_options: PartitioningOptions | None,
) -> PartitioningOptions | None:
    """`validate_and_merge_partitioning_options`, without its warnings."""
    if isinstance(required, PipelineSchedule):
        required = required.required_mpmd_options
    required = dict(required or {})
    check_options(user_options)
    if not required:
        return user_options
    check_options(required)
    given = dict(user_options or {})
    named = with_compiler_name(given)
    conflicts = [
        f"{key} is {given[key]!r} but must be {value!r}"
        for key, value in with_compiler_name(required).items()
        if key in named and named[key] != value
    ]
    if conflicts:
        raise ValueError(
            "partitioning_options: in conflict with what pipeline_schedule requires: "
            + "; ".join(conflicts)
        )
    added = {key: value for key, value in required.items() if key not in given}
    if added:
        _logger.info("pipeline_schedule sets partitioning options: %s", added)
    return {**given, **added}
