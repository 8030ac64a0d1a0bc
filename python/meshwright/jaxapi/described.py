# SPDX-License-Identifier: Apache-2.0
"""Devices that are only described, and the compilers that make code for them.

JAX's plugins for TPUs and GPUs describe devices and compile for them on a machine
that has none. What they compile cannot be loaded there, and says what it would take.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.experimental import topologies

from .names import FOUND as _FOUND
from .runtime import DeviceList, compile_options

# What describing devices asks the library of TPUs for: no server of the cloud, no lock
# on devices that it will not touch, and none of its complaints that there are none.
_NO_TPU = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_MIN_LOG_LEVEL": "3",
}
# For these libtpu (0.0.42.1) ends the process where two threads compile at once.
_COMPILED_ALONE = frozenset({"TPU7x"})
_compiling = threading.Lock()


def is_described(device: Any) -> bool:
    """Whether a device is a description, for which one can compile and no more."""
    try:
        return device.client.runtime_type == "compile_only_runtime"
    except (AttributeError, RuntimeError):  # It has no client.
        return False


def mixed_backends(devices: Iterable[Any]) -> str | None:
    """What is wrong with devices of two slices or backends in one mesh; else None."""
    clients: dict[Any, Any] = {}
    for device in devices:
        with contextlib.suppress(AttributeError, RuntimeError):  # It has no client.
            clients.setdefault(device.client, device)
    if len(clients) < 2:
        return None
    first, other = itertools.islice(clients.values(), 2)
    return (
        f"mixes devices of two slices or backends, {first} and {other}; make each mesh "
        "of the devices of one mw.aot.devices(...), or of one backend"
    )


def describe_tpus(name: str, **options: Any) -> list[Any]:
    """Devices of a slice, such as `v5e:2x2`.

    Raises:
      RuntimeError: there is no library of TPUs, it is locked, or knows no such slice.
    """
    with _environment(_NO_TPU):
        return list(topologies.get_topology_desc(name, "tpu", **options).devices)


def describe_gpus(platform: str, name: str, target: str, shape: str) -> list[Any]:
    """Devices of XLA's description of a GPU, as text.

    Args:
      platform: `cuda` or `rocm`.
      name: what they are called.
      target: the description.
      shape: `1xHOSTSxDEVICES`, devices of each host.

    Raises:
      NotImplementedError: there is no plugin for the platform.
      RuntimeError: it does not take the description.
    """
    found = topologies.get_topology_desc(
        topology_name=name, platform=platform, target_config=target, topology=shape
    )
    return list(found.devices)


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Variables that are set for as long as a library starts, where none is set."""
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def lowering_platform(device: Any) -> str:
    """What JAX's lowering calls the platform of a device.

    A GPU that is only described has the name of its kind there: `gpu` means the one
    kind for which there are devices.
    """
    return device.client._raw_platform if is_described(device) else device.platform


def memory_kinds(device: Any) -> tuple[str, frozenset[str]]:
    """The kind of a device's own memory, and the kinds that it can address."""
    try:
        own = device.default_memory().kind
    except jax.errors.JaxRuntimeError:
        # Descriptions of GPUs do not say; these are those of GPUs that are there.
        return "device", frozenset({"device", "pinned_host"})
    return own, frozenset(memory.kind for memory in device.addressable_memories())


def compile_described(
    module: Any, devices: tuple[Any, ...], overrides: dict[str, Any], callbacks: list
) -> Any:
    """Compiles a module for devices that are only described, in this order."""
    alone = devices[0].device_kind in _COMPILED_ALONE
    with _compiling if alone else contextlib.nullcontext():
        return _FOUND["backend_compile_and_load"](
            devices[0].client,
            module,
            DeviceList(devices),
            compile_options(devices, overrides),
            callbacks,
        )


def torus_places(devices: Sequence[Any]) -> list[Any]:
    """Where devices are in a torus, relative to the first; all None if in none.

    Devices that are arranged alike have the same: the code for them is the same.
    """
    if getattr(devices[0], "platform", None) != "tpu":
        return [None] * len(devices)
    first = devices[0].coords
    return [
        [*(a - b for a, b in zip(device.coords, first, strict=True)), core]
        for device, core in ((d, getattr(d, "core_on_chip", 0)) for d in devices)
    ]
