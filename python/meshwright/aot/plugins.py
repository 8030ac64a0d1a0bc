# SPDX-License-Identifier: Apache-2.0
"""Devices of a target, described by the plugin of their platform."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import logging
import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import jax

from ..jaxapi import described
from .gpus import target_text
from .names import HOST, Target

# Packages that have the compiler, and what pip calls them together.
_CUDA = ("jax-cuda13-plugin", "jax-cuda12-plugin")
_TPU = "libtpu"

_logger = logging.getLogger(__name__)
_describing = threading.Lock()


def find_devices(target: Target) -> list[Any]:
    """The devices of a target; the same objects each time.

    Chips of a host follow one another, and hosts along the shortest dimension of a
    slice first: a part of the list is a box of the slice, as far as numbers allow, and
    parts of equal size are cut off along its longest dimension.

    Raises:
      RuntimeError: the plugin is missing, of another release, or locked; the text says
        what to install.
    """
    with _describing:
        return list(_described(target))


@functools.lru_cache(maxsize=64)
def _described(target: Target) -> tuple[Any, ...]:
    devices = _tpus(target) if target.is_tpu else _gpus(target)
    if len(devices) != target.count:
        raise RuntimeError(
            f"target {target.name}: the plugin describes {len(devices)} devices, and "
            f"{target.count} were expected; use the one that pip install "
            f'"jax[{"tpu" if target.is_tpu else "cuda13"}]=={jax.__version__}" brings'
        )
    return tuple(devices)


def _remedy(extra: str) -> str:
    return f'pip install "jax[{extra}]=={jax.__version__}"'


def _tpus(target: Target) -> list[Any]:
    if importlib.util.find_spec(_TPU) is None:
        raise RuntimeError(
            f"target {target.name}: the compiler of TPUs is not installed; "
            f"{_remedy('tpu')} brings it, and needs no TPU"
        )
    wanted = wanted_libtpu(importlib.metadata.requires("jax") or ())
    found = _version(_TPU)
    if wanted and found and not f"{found}.".startswith(f"{wanted}."):
        _logger.warning(
            "target %s: jax %s is released with libtpu %s, and %s is installed; %s "
            "brings the right one",
            *(target.name, jax.__version__, wanted, found, _remedy("tpu")),
        )
    shape = "x".join(map(str, target.shape))
    # A single chip is a host of its own.
    options = {"chips_per_host_bounds": (1, 1, 1)} if target.shape == (1, 1) else {}
    try:
        devices = described.describe_tpus(f"{target.kind}:{shape}", **options)
    except (jax.errors.JaxRuntimeError, RuntimeError) as error:
        raise _explained(target, _TPU, "tpu", error) from None
    return torus_order(devices, target.shape)


def wanted_libtpu(requirements: Iterable[str]) -> str | None:
    """The beginning of the version of libtpu among the requirements of JAX."""
    for line in requirements:
        found = re.match(r"libtpu\s*\(?==\s*([\d.]*\d)", line)
        if found:
            return found[1]
    return None


def _gpus(target: Target) -> list[Any]:
    packages = [name for name in _CUDA if _version(name) is not None]
    if not packages:
        raise RuntimeError(
            f"target {target.name}: the compiler of CUDA is not installed; "
            f"{_remedy('cuda13')} brings it, and needs no GPU"
        )
    wrong = [name for name in packages if _version(name) != jax.__version__]
    if len(wrong) == len(packages):
        raise RuntimeError(
            f"target {target.name}: {wrong[0]} {_version(wrong[0])} is not for jax "
            f"{jax.__version__}; {_remedy('cuda13')} brings the one that is"
        )
    entry, (hosts, each) = target.figures["xla"], target.shape
    try:
        return described.describe_gpus(
            "cuda", target.kind, target_text(entry), f"1x{hosts}x{each}"
        )
    except (jax.errors.JaxRuntimeError, NotImplementedError, RuntimeError) as error:
        raise _explained(target, packages[0], "cuda13", error) from None


def _explained(
    target: Target, package: str, extra: str, error: Exception
) -> RuntimeError:
    text = str(error).strip().splitlines()
    reported = text[0].rstrip(".") if text else type(error).__name__
    advice = f"{_remedy(extra)} brings the one that belongs to this jax"
    if "lock" in reported.lower() or "already in use" in reported.lower():
        advice = (
            "another process has the library; set ALLOW_MULTIPLE_LIBTPU_LOAD=1, or "
            "end that process"
        )
    elif isinstance(error, NotImplementedError) and jax.config.jax_platforms != "cpu":
        # On other platforms its plugin starts only with all libraries of CUDA.
        advice = "JAX starts it without a GPU if JAX_PLATFORMS=cpu is set before Python"
    return RuntimeError(
        f"target {target.name}: {package} {_version(package)} with jax "
        f"{jax.__version__} cannot describe it: {reported}; {advice}"
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def torus_order(devices: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """Devices of a slice in the order of `find_devices`.

    Args:
      devices: they have `coords`, and `core_on_chip` where a chip is several.
      shape: chips along each dimension.
    """
    sizes = [*shape, *(1,) * (3 - len(shape))]
    # From the one that changes first to the one that changes last.
    dimensions = sorted(range(3), key=lambda d: (sizes[d], d))

    def place(device: Any) -> tuple[int, ...]:
        at = device.coords
        hosts = [at[d] // HOST[d] for d in reversed(dimensions)]
        chips = [at[d] % HOST[d] for d in reversed(dimensions)]
        return (*hosts, *chips, getattr(device, "core_on_chip", 0) or 0)

    return sorted(devices, key=place)
