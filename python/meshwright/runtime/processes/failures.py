# SPDX-License-Identifier: Apache-2.0
"""Errors that say what became of another process."""

from __future__ import annotations

from collections.abc import Sequence


class ProcessError(RuntimeError):
    """Another process is missing, differs from this one, or has failed."""


class GroupError(ProcessError):
    """Processes cannot be connected in this run any more: all have to start again."""


class ProcessFailure(ProcessError):
    """A process is gone, and this one may go on without it (`mw.elastic.regroup`).

    Attributes:
      processes: numbers of all that are gone.
      meshes: names of the meshes, of programs that were compiled, that had devices of
        theirs.
    """

    def __init__(self, text: str, processes: Sequence[int], meshes: Sequence[str]):
        super().__init__(text)
        self.processes, self.meshes = tuple(processes), tuple(meshes)

    def __reduce__(self):
        return type(self), (str(self), self.processes, self.meshes)
