# SPDX-License-Identifier: Apache-2.0
"""What a recording is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Event:
    """One launch or copy of one run. Times are seconds since the recording began.

    Attributes:
      run: which run, from 0.
      item: position in the program's items; None for a step after the last.
      kind: `fragment`, `transfer` or `reshard`.
      name: the fragment's name, or `source -> target`.
      mesh: where it runs; of a transfer, where the value goes.
      origins: named computations that the fragment came from.
      bytes: global bytes of a transfer.
      flops: work of a fragment on its whole mesh, as the compiler has counted it.
      issued, issue_seconds: when the issuing thread came to it, for how long.
      start, stop: when the devices worked on it; `stop` is when it was done.
      error: what went wrong, if anything.
      process: the process that issued it. Of a transfer between two processes each
        has an event, the one that sends as well.
    """

    run: int
    item: int | None
    kind: str
    name: str
    mesh: str
    origins: list[str]
    bytes: int
    issued: float
    issue_seconds: float
    start: float = 0.0
    stop: float = 0.0
    error: str | None = None
    process: int = 0
    flops: float = 0.0
