# SPDX-License-Identifier: Apache-2.0
"""A fragment as the devices of one mesh run it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(eq=False)
class Loaded:
    """An executable on the devices of one mesh; shared by equal fragments.

    Attributes:
      seconds: that it took to compile or to load.
      copied: whether it was compiled for an equal fragment on another mesh.
      cached: whether it came from the disk.
      code: what it was loaded from; None if it was compiled, or gives that itself.
    """

    executable: Any
    devices: tuple
    seconds: float
    copied: bool = False
    cached: bool = False
    code: bytes | None = None

    def __post_init__(self) -> None:
        # XLA's executables for CPUs lose their functions' code when they are loaded.
        if not any(device.platform == "cpu" for device in self.devices[:1]):
            self.code = None

    def memory_stats(self) -> Any | None:
        """XLA's account of arguments, results and temporaries on each device."""
        try:
            return self.executable.get_compiled_memory_stats()
        except jax.errors.JaxRuntimeError:  # Not every backend keeps one.
            return None

    def hlo_text(self) -> str:
        """Optimized HLO, as the backend runs it."""
        modules = self.executable.hlo_modules()
        return "\n\n".join(module.to_string() for module in modules)

    def cost(self) -> dict[str, float]:
        """What the backend says that it costs; nothing if it does not say."""
        try:
            found = self.executable.cost_analysis()
        except jax.errors.JaxRuntimeError:
            return {}
        costs = dict(found[0] if isinstance(found, list) else found or {})
        seconds = costs.get("optimal_seconds", 0)
        if not (math.isfinite(seconds) and seconds > 0):
            # Some releases count a second less for each of certain copies.
            costs.pop("optimal_seconds", None)
        return costs

    @property
    def is_oversized(self) -> bool:
        """Whether its compiler found that it alone does not fit."""
        return getattr(self.executable, "is_oversized", False)
