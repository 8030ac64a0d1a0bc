# SPDX-License-Identifier: Apache-2.0
"""Targets by name: a slice of TPUs, or a number of GPUs.

v5p:4x4x4    the slice of 4 by 4 by 4 chips of TPU v5p
h100:16      sixteen H100, eight in each host
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..compiler import native
from ..core.names import check_type, unknown_name

_TPU_PREFIX = "tpu-"
_AMD = ("mi250x", "mi300a", "mi300x", "mi325x", "mi350x", "mi355x")
# As Google names slices: v5litepod-16, v5p-8.
_NUMBERED = r"((?:tpu-)?(?:v\d\w*|tpu7x))-(\d{1,5})"
# Chips that share a host, along each dimension, as slices are put together.
HOST = (2, 2, 1)


@functools.cache
def device_figures() -> Mapping[str, Mapping[str, Any]]:
    """By name, such as `h100` or `tpu-v5e`; docs/cost-model.md explains the keys."""
    found = json.loads(native.extension().devices())
    return {name: entry for name, entry in found.items() if not name.startswith("_")}


@dataclass(frozen=True)
class Generation:
    """A generation of TPUs.

    Attributes:
      kind: what JAX calls such a device.
      dimensions: of its torus.
      small: chips along each dimension of its slices below a cube of 64 chips, in
        ascending order; of a generation with two dimensions all slices.
      chips: chips of the largest slice.
      cores: devices of JAX that a chip is.
      clock: of its matrix units, in Hz.
    """

    kind: str
    dimensions: int
    small: tuple[tuple[int, ...], ...]
    chips: int
    clock: float
    cores: int = 1


_FLAT = ((1, 1), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
_CUBES = ((1, 2, 2), (2, 2, 2), (2, 2, 4), (2, 4, 4))
# From the pages of these generations at docs.cloud.google.com/tpu/docs. On v4 the two
# cores of a chip are one device with hardware, and two in a description.
GENERATIONS = {
    "v4": Generation("TPU v4", 3, _CUBES, 4096, 1.05e9, 2),
    "v5e": Generation("TPU v5 lite", 2, _FLAT, 256, 1.5e9),
    "v5p": Generation("TPU v5", 3, _CUBES, 6144, 1.75e9),
    "v6e": Generation("TPU v6 lite", 2, _FLAT, 256, 1.75e9),
    "tpu7x": Generation("TPU7x", 3, _CUBES, 9216, 2.2e9, 2),
}


@dataclass(frozen=True)
class Target:
    """Devices that one may compile for.

    Attributes:
      kind: the generation of a TPU, or the name of a GPU.
      shape: chips along each dimension of the slice; of GPUs hosts, devices of each.
    """

    kind: str
    shape: tuple[int, ...]

    @property
    def is_tpu(self) -> bool:
        return self.kind in GENERATIONS

    @property
    def name(self) -> str:
        return f"{self.kind}:{_times(self.shape) if self.is_tpu else self.count}"

    @property
    def count(self) -> int:
        """How many devices of JAX there are."""
        cores = GENERATIONS[self.kind].cores if self.is_tpu else 1
        return math.prod(self.shape) * cores

    @property
    def entry(self) -> str:
        """What devices.json calls one device."""
        name = f"{_TPU_PREFIX}{self.kind}"
        return name if name in device_figures() else self.kind

    @property
    def figures(self) -> Mapping[str, Any]:
        """What devices.json has of one device."""
        return device_figures()[self.entry]

    @property
    def limit_bytes(self) -> int:
        """The memory of one device."""
        # The figures of v4 are those of a chip.
        return int(self.figures["hbm"]) // (2 if self.kind == "v4" else 1)


@functools.cache
def _by_kind() -> dict[str, Target]:
    """One device each, by what JAX calls it."""
    found = {g.kind: Target(name, ()) for name, g in GENERATIONS.items()}
    for name in gpu_names():
        target = Target(name, ())
        found[target.figures["xla"]["kind"]] = target
    return found


def device_names() -> dict[str, str]:
    """What devices.json calls devices, by what JAX calls them."""
    return {kind: target.entry for kind, target in _by_kind().items()}


def memory_limit(device: Any) -> int | None:
    """The memory of a device in bytes by its kind; None of a kind that is unknown."""
    target = _by_kind().get(device.device_kind)
    return target.limit_bytes if target else None


def device_name(device: Any) -> str | None:
    """What the cost model calls a device; None if it does not know its kind."""
    return "cpu" if device.platform == "cpu" else device_names().get(device.device_kind)


def clock_rate(device: Any) -> float | None:
    """Cycles of a TPU in a second, in which its compiler estimates; else None."""
    target = _by_kind().get(device.device_kind)
    return GENERATIONS[target.kind].clock if target and target.is_tpu else None


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def gpu_names() -> list[str]:
    return [name for name, entry in device_figures().items() if "xla" in entry]


def _kind(name: str) -> str:
    """A name of one of the kinds, also as `simulate --device` calls it."""
    kind = name.removeprefix(_TPU_PREFIX)
    kind = {"v7x": "tpu7x", "v5litepod": "v5e"}.get(kind, kind)
    if kind in _AMD:
        raise ValueError(
            f"target: device {name!r} is a GPU of AMD, whose plugin of JAX loads only "
            "where the libraries of ROCm are installed, which pip does not bring; "
            "lower and compile there, for meshes of jax.devices()"
        )
    known = [*GENERATIONS, *gpu_names()]
    if kind not in known:
        text = unknown_name("target: device", name, known)
        text += " Write" if text.endswith("?") else "; write"
        raise ValueError(f"{text} a slice of TPUs as v5p:2x2x4, GPUs as h100:16")
    return kind


def parse_target(text: str, count: int | None = None) -> Target:
    """Reads the name of a target.

    Args:
      text: such as `v5p:2x2x4`, `h100:16`, or `h100` with a count.
      count: how many GPUs there are, where the name does not say it; else it is
        how many of them are wanted, and says nothing of the target.

    Raises:
      TypeError: the name is no text.
      ValueError: an unknown device, or a shape or number that there is not.
    """
    forms = "'v5p:2x2x4' or 'h100:16'"
    check_type(f"target: expected a name, such as {forms}", text, str)
    name, separator, size = text.lower().replace(" ", "").partition(":")
    numbered = None if separator else re.fullmatch(_NUMBERED, name)
    kind = _kind(numbered[1] if numbered else name)
    if kind not in GENERATIONS:
        return _gpus(text, kind, size if separator else None, count)
    if not separator:
        example = _example(kind, int(numbered[2]) if numbered else 0)
        raise ValueError(
            f"target {text!r} has no shape; write the slice after the generation, "
            f"such as {kind}:{example}"
        )
    return Target(kind, _slice(text, kind, size))


def _example(kind: str, number: int = 0) -> str:
    """A shape of a generation, of this number in Google's names if there is one.

    There v4-32 and v5p-32 have as many cores, of which a chip has two, others as many
    chips.
    """
    generation = GENERATIONS[kind]
    chips = number // 2 if kind in ("v4", "v5p") else number
    fitting = [shape for shape in generation.small if math.prod(shape) == chips]
    return _times(
        _largest_first(fitting[0]) if fitting else (2, 2, 4)[: generation.dimensions]
    )


def _slice(text: str, kind: str, size: str) -> tuple[int, ...]:
    generation = GENERATIONS[kind]
    if not re.fullmatch(r"\d{1,4}(x\d{1,4})*", size):
        raise ValueError(
            f"target {text!r}: {size!r} is no shape; expected chips along each "
            f"dimension, such as {_example(kind)}"
        )
    shape = tuple(map(int, size.split("x")))
    if len(shape) != generation.dimensions:
        raise ValueError(
            f"target {text!r}: slices of TPU {kind} have {generation.dimensions} "
            f"dimensions, and {size} has {len(shape)}"
        )
    is_small = tuple(sorted(shape)) in generation.small
    is_large = generation.dimensions == 3 and all(n and n % 4 == 0 for n in shape)
    # Hosts divide the first two dimensions.
    is_whole = shape[:2] == (1, 1) or all(n % 2 == 0 for n in shape[:2])
    if not (is_small or is_large) or not is_whole:
        known = ", ".join(_times(_largest_first(s)) for s in generation.small)
        more = " and multiples of 4" if generation.dimensions == 3 else ""
        raise ValueError(
            f"target {text!r}: TPU {kind} has no slice {size}; it has {known}{more}"
        )
    if math.prod(shape) > generation.chips:
        raise ValueError(
            f"target {text!r}: a slice of TPU {kind} has at most {generation.chips} "
            f"chips, and {size} are {math.prod(shape)}"
        )
    return shape


def _largest_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape as one writes it: 2x2x1, but 2x2x4."""
    return (*shape[1:], 1) if shape[0] == 1 and len(shape) == 3 else shape


def _gpus(text: str, kind: str, size: str | None, count: int | None) -> Target:
    if size is not None and not re.fullmatch(r"\d{1,6}", size):
        raise ValueError(
            f"target {text!r}: {size!r} is no number of GPUs; write {kind}:16"
        )
    total = int(size) if size is not None else count
    if total is None:
        raise ValueError(
            f"target {text!r} does not say how many GPUs; write {kind}:16, or "
            f'mw.aot.devices("{kind}", 16)'
        )
    domain = int(device_figures()[kind]["domain"])
    if total < 1 or (total > domain and total % domain):
        raise ValueError(
            f"target {text!r}: {total} GPUs; expected 1 to {domain}, which are in one "
            f"host, or a multiple of {domain}"
        )
    hosts = max(1, total // domain)
    return Target(kind, (hosts, total // hosts))
