# SPDX-License-Identifier: Apache-2.0
"""Whether a program fits into its devices, and what their compiler says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...core.tables import aligned, size_text
from .peaks import Peak
from .traffic import Traffic

_PARTS = 5  # Of a peak, as many are listed.


@dataclass(frozen=True)
class FragmentMetrics:
    """What the compiler says of a fragment, in bytes of each device.

    Attributes:
      compile_s: seconds that it took; 0 for what was compiled for an equal fragment.
      argument_bytes, output_bytes, temporary_bytes, alias_bytes, code_bytes: as in
        `memory_analysis()` of JAX; `alias_bytes` are part of `output_bytes`.
      estimated_s: seconds of one call by the compiler; None where it has no estimate.
    """

    compile_s: float
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    alias_bytes: int
    code_bytes: int
    estimated_s: float | None


@dataclass(frozen=True)
class MeshFit:
    """The most that the devices of a mesh hold, and what they can.

    Attributes:
      peak_bytes: of each device: arrays, temporaries and code.
      limit_bytes: memory of a device; None of a kind that is not known.
      fits: whether that is enough; None without a limit.
      peak: when that is, and what it is made of.
      oversized: fragments that alone are too large, as their compiler found.
    """

    peak_bytes: int
    limit_bytes: int | None
    peak: Peak
    oversized: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        if self.oversized:
            return False
        return None if self.limit_bytes is None else self.peak_bytes <= self.limit_bytes

    def explain(self, name: str) -> str:
        """A sentence or two on why it does not fit, and one if it does."""
        text = f'mesh "{name}" needs {size_text(self.peak_bytes)}'
        if self.limit_bytes is not None:
            text += f" and its devices have {size_text(self.limit_bytes)}"
            over = self.peak_bytes - self.limit_bytes
            text += f", {size_text(over)} too little" if over > 0 else ""
        parts = [f"{size_text(size)} {what}" for what, size in self.peak.parts]
        more = ", …" if len(parts) > _PARTS else ""
        text += f": while {self.peak.what} runs it holds "
        text += ", ".join(parts[:_PARTS]) + more
        if self.oversized:
            text += f"; the compiler refuses {', '.join(self.oversized)} alone"
        return text


@dataclass(frozen=True)
class Fit:
    """All of that, of a program.

    Attributes:
      fragments: by name.
      meshes: by name.
      traffic: what a step sends.
    """

    fragments: Mapping[str, FragmentMetrics]
    meshes: Mapping[str, MeshFit]
    traffic: Traffic

    @property
    def fits(self) -> bool:
        """Whether no mesh is known not to fit."""
        return all(mesh.fits is not False for mesh in self.meshes.values())

    def as_json(self) -> dict[str, Any]:
        """Keys `fragments`, `meshes`, `traffic`."""
        return {
            "fragments": {name: asdict(f) for name, f in self.fragments.items()},
            "meshes": {
                name: {
                    "peak_bytes": mesh.peak_bytes,
                    "limit_bytes": mesh.limit_bytes,
                    "fits": mesh.fits,
                }
                for name, mesh in self.meshes.items()
            },
            "traffic": self.traffic.as_json(),
        }

    def __str__(self) -> str:
        words = {True: "fits", False: "does not fit", None: "unknown"}
        rows: list[tuple] = [("mesh", "peak", "limit", "")]
        for name, mesh in self.meshes.items():
            limit = "-" if mesh.limit_bytes is None else size_text(mesh.limit_bytes)
            rows.append((name, size_text(mesh.peak_bytes), limit, words[mesh.fits]))
        texts = [aligned(rows, "<>><")]
        rows = [("fragment", "arguments", "results", "aliased", "temporary", "code")]
        rows[0] += ("estimated", "compiled in")
        for name, found in self.fragments.items():
            sizes = found.argument_bytes, found.output_bytes, found.alias_bytes
            sizes += found.temporary_bytes, found.code_bytes
            estimate = found.estimated_s
            rows.append(
                (name, *map(size_text, sizes))
                + ("-" if estimate is None else f"{estimate * 1e6:.1f} us",)
                + (f"{found.compile_s:.1f} s",)
            )
        texts.append(aligned(rows, "<>>>>>>>"))
        texts += [
            mesh.explain(name)
            for name, mesh in self.meshes.items()
            if mesh.fits is False
        ]
        return "\n\n".join(texts)
