# SPDX-License-Identifier: Apache-2.0
"""What a user says of a tower: where its stages are, and in which order they run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Tower:
    """A chain of stages with meshes and a schedule of its own.

    Attributes:
      meshes: names of meshes, in the order of the tower's pipeline. Towers may share
        them.
      schedule: a schedule of one chain, by either of its names, which schedule `Towers`
        keeps among the stages of this tower.

    Example: two stages in the order of GPipe, for `make_config(..., towers=)`.

      >>> {"vision": Tower(["m0", "m1"], "GPipe")}["vision"].schedule
      'GPipe'
    """

    meshes: Sequence[str]
    schedule: str = "1F1B"
