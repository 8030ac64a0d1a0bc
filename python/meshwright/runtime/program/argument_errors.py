# SPDX-License-Identifier: Apache-2.0
"""What is said of arguments that a program does not take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .placement import Place


class ArgumentErrors:
    """The errors of a program that is called by itself, with positions.

    A wrapper between user and program replaces these by ones in the user's words.
    """

    def __init__(self, places: Sequence[Place], names: Sequence[str | None]):
        self._places, self._names = tuple(places), tuple(names)

    def name(self, position: int) -> str:
        """What messages call an argument."""
        name = self._names[position]
        return f"argument {position}" + (f" ({name})" if name else "")

    def count(self, found: int) -> Exception:
        """Another number of arguments."""
        return TypeError(f"the program takes {len(self._places)} arrays, got {found}")

    def kind(self, position: int, array: Any) -> Exception:
        """What is no array of plain elements."""
        return TypeError(
            f"{self.name(position)} is a {type(array).__module__}."
            f"{type(array).__qualname__}; expected a jax.Array (put NumPy arrays on "
            "their mesh with jax.device_put, take jax.random.key_data of keys)"
        )

    def type(self, position: int, array: Any) -> Exception:
        """Another shape, or other elements."""
        place = self._places[position]
        return TypeError(
            f"{self.name(position)} is {array.dtype}{list(array.shape)}; expected "
            f"{place.dtype}{list(place.shape)}"
        )

    def deleted(self, position: int, failure: str | None) -> Exception:
        """An array that is gone; `failure` is that of the call which took it."""
        if failure is not None:
            return self.lost(position, failure)
        return RuntimeError(
            f"{self.name(position)} was deleted or donated to an earlier "
            "call; pass the array that call returned"
        )

    def lost(self, position: int, failure: str) -> Exception:
        """An array that was donated to a call that failed."""
        return RuntimeError(
            f"{self.name(position)} was donated to a call that failed, and is gone; "
            f"restore it from a checkpoint or a copy. That call said: {failure}"
        )

    def misplaced(self, arrays: Any, positions: Sequence[int]) -> Exception:
        """Arrays on other devices, or split otherwise."""
        found, place = arrays[positions[0]].sharding, self._places[positions[0]]
        return ValueError(
            f"{self.name(positions[0])} has sharding {found} on devices "
            f"{_devices(found)}; expected {place.sharding} on mesh "
            f"{place.mesh.name!r}, devices {_devices(place.sharding)}; move it "
            "with jax.device_put"
        )

    def order(self, position: int, found: Any, expected: Any) -> Exception:
        """Elements in another order in memory."""
        return ValueError(
            f"{self.name(position)} has its dimensions in memory in the order "
            f"{found}, major to minor; expected {expected}; move it with "
            "jax.device_put and a jax.experimental.layout.Format"
        )

    def shared(self, position: int, other: int) -> Exception:
        """Two arrays of the same buffers, or one array twice; one is donated."""
        low, high = sorted((position, other))
        return ValueError(
            f"{self.name(low)} and {self.name(high)} share a "
            "buffer, and one of them is donated; pass a copy instead"
        )


def _devices(sharding: Any) -> str:
    return str(sorted(device.id for device in sharding.device_set))
