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


def note_first(error: BaseException, process: int, what: str) -> None:
    """Notes in an error that a run has failed in another process first."""
    if first_failure(error) is None:
        error.add_note(f"The run has failed in another process first: {what}")
        error._meshwright_first = process, what  # type: ignore[attr-defined]


def first_failure(error: BaseException) -> tuple[int, str] | None:
    """The process that `note_first` has noted, and what."""
    return getattr(error, "_meshwright_first", None)
