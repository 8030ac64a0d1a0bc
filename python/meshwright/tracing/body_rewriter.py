# SPDX-License-Identifier: Apache-2.0
"""Rewrites the bodies of a traced program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class BodyRewriter(ABC):
    """Rewrites the bodies of one program; equal calls share what is made of theirs."""

    def __init__(self) -> None:
        self._done: dict[int, Any] = {}
        # Identities count as long as what they are of is alive.
        self._alive: list[Any] = []

    @abstractmethod
    def concerns(self, jaxpr: Any) -> bool:
        """Whether there is something to rewrite in a jaxpr, or in what it applies."""

    @abstractmethod
    def rewrite(self, closed: Any) -> Any:
        """What a closed jaxpr becomes."""

    def body(self, closed: Any) -> Any:
        """A closed jaxpr rewritten; itself if there is nothing to rewrite."""
        if not self.concerns(closed.jaxpr):
            return closed
        if id(closed.jaxpr) not in self._done:
            self._alive.append(closed)
            self._done[id(closed.jaxpr)] = self.rewrite(closed)
        return self._done[id(closed.jaxpr)]
