# SPDX-License-Identifier: Apache-2.0
"""The names of schedules: the compiler's own, and those of the registry."""

from __future__ import annotations

__all__ = [
    "FILE_PREFIX",
    "PIPELINE_SCHEDULE_NAMES",
    "REGISTRY_NAMES",
    "find_schedule_name",
]

# In place of a name: `file:` and the path of a CSV file (docs/schedules.md).
FILE_PREFIX = "file:"

# The registry's name of each schedule, and the compiler's.
REGISTRY_NAMES = {
    "NONE": "None",
    "GPIPE": "GPipe",
    "ONE_FWD_ONE_BWD": "1F1B",
    "GPIPE_BUT_1F1B_FOR_LAST_MESH": "GPipeBut1F1BForLastMesh",
    "CIRCULAR": "Circular",
    "CIRCULAR_WITH_REVERSED_BACKWARD": "CircularWithReversedBackward",
    "ZERO_BUBBLE_H1": "ZeroBubbleH1",
    "ZERO_BUBBLE_H2_ZERO_TX_LATENCY": "ZeroBubbleH2ZeroTxLatency",
    "ZERO_BUBBLE_H2_HALF_TX_LATENCY": "ZeroBubbleH2HalfTxLatency",
    "ZERO_BUBBLE_H2_FULL_TX_LATENCY": "ZeroBubbleH2FullTxLatency",
    "PARALLEL_PIPELINES_WITH_WRAP_AROUND": "ParallelPipelinesWithWrapAround",
    "EAGER_1F1B": "Eager1F1B",
    "INTERLEAVED_1F1B": "Interleaved1F1B",
    "LOOPED_BFS": "LoopedBFS",
    "INTERLEAVED_ZERO_BUBBLE": "InterleavedZeroBubble",
    "ZERO_BUBBLE_V": "ZeroBubbleV",
    "V_HALF": "VHalf",
    "V_MIN": "VMin",
    "DUAL_PIPE_V": "DualPipeV",
    "DUAL_PIPE": "DualPipe",
    "AUTO": "auto",
}
PIPELINE_SCHEDULE_NAMES = tuple(REGISTRY_NAMES.values())


def _key(name: str) -> str:
    """What is left of a registry name without its word breaks."""
    return name.replace("ONE_FWD_ONE_BWD", "1F1B").replace("_", "").casefold()


_BY_KEY = {_key(name): name for name in PIPELINE_SCHEDULE_NAMES}


def find_schedule_name(name: object) -> str | None:
    """The compiler's name of a schedule.

    Args:
      name: its name for the compiler (`ZeroBubbleV`) or in the registry
        (`ZERO_BUBBLE_V`, in capitals, wherever words are thought to end).

    Returns:
      One of `PIPELINE_SCHEDULE_NAMES`, or None for any other name.

    Example:

      >>> find_schedule_name("INTERLEAVED_ONE_FWD_ONE_BWD")
      'Interleaved1F1B'
    """
    if not isinstance(name, str):
        return None
    if name in PIPELINE_SCHEDULE_NAMES:
        return name
    if name == "none":  # What the command line lists.
        return "None"
    return _BY_KEY.get(_key(name)) if name.isupper() else None
