# SPDX-License-Identifier: Apache-2.0
"""Compiled fragments on disk, for all processes and later runs.

JAX's persistent cache is written by process 0 alone, and its keys name the devices,
so what one process compiled serves no other one. Here an entry belongs to code:
a process with the same fragment, on as many devices of the same kind, loads it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import platform
import warnings
import zlib
from collections.abc import Iterable
from typing import Any

import jax
import jaxlib

from ...core.files import whole_file
from ...core.version import __version__
from ...jaxapi import runtime as jax_runtime
from ..program.source import Source

VARIABLE = "MESHWRIGHT_CACHE_DIR"
_FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def find_folder() -> pathlib.Path | None:
    """Where compiled fragments are kept; None if nowhere.

    `MESHWRIGHT_CACHE_DIR`, or a folder in JAX's own if JAX has one on a local disk;
    an empty value of the variable turns the cache off.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        # An unknown user's `~` stays as it is, as in a shell.
        return pathlib.Path(os.path.expanduser(given)) if given else None
    of_jax = jax.config.jax_compilation_cache_dir
    if not of_jax or "://" in of_jax or not jax.config.jax_enable_compilation_cache:
        return None
    return pathlib.Path(of_jax) / "meshwright"


class FragmentCache:
    """A folder of executables, a file each, named by what they were compiled from."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._digests: dict[tuple, str] = {}
        self._ignored: set[str] = set()

    def digest(self, source: Source) -> str:
        """What identifies an executable, wherever and whenever it was compiled."""
        key = source.key
        if key not in self._digests:
            self._digests[key] = _digest(source)
        return self._digests[key]

    def has(self, digest: str) -> bool:
        return self._path(digest).is_file()

    def ignore(self, digests: Iterable[str]) -> None:
        """Compiles these again although the folder has them."""
        self._ignored.update(digests)

    def read(self, source: Source) -> bytes | None:
        """The serialized executable; None if there is none, or it is damaged."""
        if not source.callbacks.by_number or self.digest(source) in self._ignored:
            return None
        path = self._path(self.digest(source))
        try:
            return zlib.decompress(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, zlib.error) as error:
            _warn(f"cannot read {path}: {error}; {source.describe()} is compiled")
            return None

    def write(self, source: Source, executable: Any) -> None:
        """Keeps an executable. Python functions that it calls are not in it: it has
        their positions, and the loading process gives the functions."""
        if not source.callbacks.by_number:
            return
        path = self._path(self.digest(source))
        try:
            data = zlib.compress(executable.serialize(), 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, "wb") as file:
                file.write(data)
        except (OSError, jax.errors.JaxRuntimeError) as error:
            # Full, not ours to write, or a backend that cannot: only slower.
            _warn(f"cannot write {path}: {error}; {source.describe()} is not kept")

    def _path(self, digest: str) -> pathlib.Path:
        return self.folder / f"{digest}.xla"


def open_cache() -> FragmentCache | None:
    folder = find_folder()
    return None if folder is None else FragmentCache(folder)


def _digest(source: Source) -> str:
    devices = source.mesh.devices
    processes = list(dict.fromkeys(device.process_index for device in devices))
    client = source.mesh.client
    parts = {
        "code": source.code,
        "options": jax_runtime.serialized_options(devices, source.options).hex(),
        "devices": [
            # How the mesh falls into processes counts, not which ones they are.
            (device.device_kind, processes.index(device.process_index))
            for device in devices
        ],
        "described": source.mesh.torus if source.mesh.is_described else "",
        "platform": [client.platform, client.platform_version],
        "host": _host_features() if client.platform == "cpu" else "",
        "flags": [os.environ.get(name, "") for name in _FLAGS],
        "versions": [jax.__version__, jaxlib.__version__, __version__],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@functools.cache
def _cpuinfo() -> list[str]:
    try:
        return pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


@functools.cache
def _host_features() -> str:
    """What code for the CPU of this host may use; hosts of one job can differ."""
    names = ("flags", "Features", "model name", "CPU part")
    found = {line for line in _cpuinfo() if line.startswith(names)}
    return "\n".join([platform.machine(), platform.processor(), *sorted(found)])


@functools.cache
def cpu_features() -> frozenset[str]:
    """The instructions that the CPU of this host has, and what machine it is."""
    lines = [line for line in _cpuinfo() if line.startswith(("flags", "Features"))]
    words = {word for line in lines for word in line.partition(":")[2].split()}
    return frozenset({platform.machine(), *words})


def _warn(text: str) -> None:
    warnings.warn(f"cache of compiled fragments: {text}", RuntimeWarning, stacklevel=2)
