# SPDX-License-Identifier: Apache-2.0
"""What a compiler says of a fragment for devices that are not here.

Its executable can be asked, serialized, and nothing else. The answers are kept in place
of it: they are small, equal for all meshes that are arranged alike, and can be read
from the disk, where the executable itself could not be loaded.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import re
import types
import zlib
from typing import Any

import jax

from ...jaxapi import runtime as jax_runtime
from ...jaxapi.layouts import parse_layout
from ..program.source import Source

# What `CompiledMemoryStats` has, as far as a release has it.
_STATS = tuple(
    f"{where}{what}_size_in_bytes"
    for where in ("", "host_")
    for what in ("generated_code", "argument", "output", "alias", "temp")
)


class Answers:
    """Takes the place of an executable: its methods, but not those that run it."""

    def __init__(self, found: dict[str, Any], code: bytes):
        self._found = found
        # Compressed: that of a TPU takes megabytes, and may never be wanted.
        self._code = code

    @classmethod
    def of(cls, executable: Any) -> Answers:
        """Asks an executable everything."""
        stats = executable.get_compiled_memory_stats()
        try:
            cost = executable.cost_analysis()
        except jax.errors.JaxRuntimeError:  # Those of GPUs do not say.
            cost = {}
        texts = [module.to_string() for module in executable.hlo_modules()]
        shardings = [
            None if side is None else [_packed(s.SerializeToString()) for s in side]
            for side in (
                executable.get_parameter_shardings(),
                executable.get_output_shardings(),
            )
        ]
        layouts = [
            [str(layout) for layout in side]
            for side in jax_runtime.compiled_layouts(executable)
        ]
        found = {
            "stats": {name: getattr(stats, name, 0) for name in _STATS},
            "cost": dict(cost[0] if isinstance(cost, list) else cost or {}),
            "text": _packed(zlib.compress("\n\n".join(texts).encode(), 1)),
            "shardings": shardings,
            "layouts": layouts,
        }
        code = b""
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            code = zlib.compress(executable.serialize(), 1)
        return cls(found, code)

    @classmethod
    def oversized(cls, source: Source, needed: int) -> Answers:
        """What is known of a fragment that the compiler finds too large.

        Args:
          needed: bytes that it would take, with its arguments and results.
        """
        sides = source.signature.arguments, source.signature.results
        found = {
            "stats": dict.fromkeys(_STATS, 0),
            "cost": {},
            "text": _packed(zlib.compress(b"", 1)),
            "shardings": [None, None],
            "layouts": [[None] * len(side) for side in sides],
            "needed": needed,
        }
        return cls(found, b"")

    def divide(self, argument_bytes: int, output_bytes: int) -> None:
        """What of an oversized fragment are arguments and results; the rest is not."""
        rest = max(0, self._found["needed"] - argument_bytes - output_bytes)
        self._found["stats"] |= {
            "argument_size_in_bytes": argument_bytes,
            "output_size_in_bytes": output_bytes,
            "temp_size_in_bytes": rest,
        }

    @property
    def is_oversized(self) -> bool:
        """Whether the compiler found that the fragment alone does not fit."""
        return "needed" in self._found

    @classmethod
    def read(cls, data: bytes) -> Answers:
        """What `serialize` wrote. Raises ValueError if it is something else."""
        head, separator, code = data.partition(b"\n")
        found = json.loads(head)
        if not separator or not isinstance(found, dict) or "stats" not in found:
            raise ValueError("it does not hold answers of a compiler")
        return cls(found, code)

    def serialize(self) -> bytes:
        """The answers, a line, and the executable's code after it."""
        return json.dumps(self._found).encode() + b"\n" + self._code

    @property
    def code(self) -> bytes:
        """The executable, serialized; nothing if its compiler does not give it."""
        return zlib.decompress(self._code) if self._code else b""

    def get_compiled_memory_stats(self) -> Any:
        return types.SimpleNamespace(**self._found["stats"])

    def cost_analysis(self) -> dict[str, float]:
        return dict(self._found["cost"])

    def hlo_modules(self) -> list[Any]:
        text = zlib.decompress(_unpacked(self._found["text"])).decode()
        return [types.SimpleNamespace(to_string=lambda: text)]

    def get_parameter_shardings(self) -> list[Any] | None:
        return self._shardings(0)

    def get_output_shardings(self) -> list[Any] | None:
        return self._shardings(1)

    def _shardings(self, side: int) -> list[Any] | None:
        packed = self._found["shardings"][side]
        if packed is None:
            return None
        return [jax_runtime.parse_sharding(_unpacked(text)) for text in packed]

    @functools.cached_property
    def _layouts(self) -> list[list[Any]]:
        return [
            [None if text is None else parse_layout(text) for text in side]
            for side in self._found["layouts"]
        ]

    def get_parameter_layouts(self) -> list[Any]:
        return self._layouts[0]

    def get_output_layouts(self) -> list[Any]:
        return self._layouts[1]


_TOO_LARGE = re.compile(
    r"\(([\d.]+)([KMGT]?)\) exceeds available HBM"
    r"|Used ([\d.]+)([KMGT]?) of [\d.]+\w? hbm"
)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def oversized_bytes(error: str) -> int | None:
    """How much memory a fragment takes that a compiler refused for that."""
    found = _TOO_LARGE.search(error)
    if found is None:
        return None
    number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
    return int(float(number) * _UNITS[unit])


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unpacked(text: str) -> bytes:
    return base64.b64decode(text)
