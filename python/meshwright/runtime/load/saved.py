# SPDX-License-Identifier: Apache-2.0
"""Executables that were saved, for devices that may have been elsewhere.

Code runs where versions, kinds of devices, flags and options are those that it was
compiled with. Backends find out little of that by themselves, and say it in words of
their own, so it is compared here before anything is loaded.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.metadata
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import jaxlib

from ...core.version import __version__
from ...jaxapi import runtime as jax_runtime
from ..program.errors import ProgramError
from ..program.loaded import Loaded
from ..program.placement import ProgramMesh
from ..program.source import Source
from .cache import cpu_features

# Packages that have the compiler of a platform, and make its code run.
_PLUGINS = {
    "tpu": ("libtpu",),
    "gpu": (
        *("jax-cuda13-plugin", "jax-cuda12-plugin"),
        *("jax-rocm7-plugin", "jax-rocm60-plugin"),
    ),
}
_FLAGS = {"tpu": ("LIBTPU_INIT_ARGS",)}
# What of JAX's configuration becomes options of XLA.
_SETTINGS = (
    "jax_disable_most_optimizations",
    "jax_exec_time_optimization_effort",
    "jax_memory_fitting_effort",
    "jax_optimization_level",
    "jax_memory_fitting_level",
    "jax_enable_remat_opt_pass",
    "jax_use_shardy_partitioner",
    "jax_xla_profile_version",
)
_AGAIN = "save it again where it is to run, or for the same"


def versions() -> dict[str, str]:
    """Releases that saved code and its plan belong to."""
    return {
        "meshwright": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
    }


def surroundings(meshes: Mapping[str, ProgramMesh]) -> dict[str, Any]:
    """What code depends on beside options and devices."""
    platforms = sorted({mesh.platform for mesh in meshes.values()})
    flags = ["XLA_FLAGS", *(f for p in platforms for f in _FLAGS.get(p, ()))]
    return {
        "versions": versions(),
        "plugins": {platform: _plugins(platform) for platform in platforms},
        "cpu": sorted(cpu_features()) if "cpu" in platforms else [],
        "flags": {name: _flags(name) for name in flags},
        "settings": {name: repr(_setting(name)) for name in _SETTINGS},
    }


def _flags(name: str) -> str:
    words = os.environ.get(name, "").split()
    without = tuple(f"--{flag}" for flag in jax_runtime.FLAGS_WITHOUT_EFFECT)
    return " ".join(word for word in words if not word.startswith(without))


def _setting(name: str) -> Any:
    found = getattr(jax.config, name, None)  # Releases have some of them.
    return getattr(found, "value", found)


def _plugins(platform: str) -> dict[str, str]:
    found = {}
    for package in _PLUGINS.get(platform, ()):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe_mesh(mesh: ProgramMesh) -> dict[str, Any]:
    """Which other devices run the code for these."""
    processes = list(dict.fromkeys(d.process_index for d in mesh.devices))
    return {
        "platform": mesh.platform,
        "kind": mesh.devices[0].device_kind,
        # How it falls into processes counts, not which ones they are.
        "processes": [processes.index(d.process_index) for d in mesh.devices],
        "torus": mesh.torus,
    }


def describe_source(source: Source) -> dict[str, Any]:
    """By what saved code is found."""
    options = jax_runtime.lasting_options(source.mesh.devices, source.options)
    return {
        "code": hashlib.sha256(source.code.encode()).hexdigest(),
        "mesh": describe_mesh(source.mesh),
        "options": hashlib.sha256(options).hexdigest(),
    }


def check_versions(found: Mapping[str, Any]) -> None:
    """Raises ProgramError if a program was saved by other releases.

    Args:
      found: `surroundings` of the program.
    """
    for package, version in versions().items():
        _check_version(package, found["versions"].get(package), version)


def _check_version(package: str, saved: str | None, here: str) -> None:
    if saved != here:
        raise ProgramError(
            f"the program was saved with {package} {saved}, and this is {package} "
            f"{here}; {_AGAIN} versions"
        )


def _check_surroundings(found: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    for platform, packages in here["plugins"].items():
        # Where it was compiled there may have been several.
        others = found["plugins"].get(platform, {})
        for package, version in packages.items():
            if package in others:
                _check_version(package, others[package], version)
    if here["cpu"]:
        missing = sorted(set(found["cpu"]) - set(here["cpu"]))
        if missing:
            listed = ", ".join(missing[:8]) + (", …" if len(missing) > 8 else "")
            raise ProgramError(
                "the program was saved on a host whose CPU has features that this one "
                f"lacks, {listed}; {_AGAIN} kind of CPU"
            )
    for name, value in here["flags"].items():
        if name != "XLA_FLAGS" and found["flags"].get(name, "") != value:
            raise ProgramError(_differs(name, found["flags"].get(name, ""), value))


def _check_mesh(name: str, saved: Mapping[str, Any], mesh: ProgramMesh) -> None:
    if mesh.is_described:
        raise ProgramError(
            f"mesh {name!r} has devices that are not here, and a saved program is "
            "loaded to run; give meshes of jax.devices()"
        )
    here = describe_mesh(mesh)
    for key in ("platform", "kind"):
        if here[key] != saved[key]:
            raise ProgramError(
                f"mesh {name!r} was saved for devices of {key} {saved[key]!r}, and "
                f"has {here[key]!r} here; {_AGAIN} devices"
            )
    if here["processes"] != saved["processes"]:
        counts = [len(set(each["processes"])) for each in (saved, here)]
        raise ProgramError(
            f"mesh {name!r} was saved for devices of {_processes(counts[0])}, and has "
            f"those of {_processes(counts[1])} here, or in another order; give each "
            "mesh devices of processes as it had them"
        )
    if here["torus"] != saved["torus"]:
        raise ProgramError(
            f"mesh {name!r} was saved for devices that are arranged otherwise in their "
            "slice; give devices as mw.aot.devices lists them, or save it for these"
        )


def _processes(count: int) -> str:
    return "one process" if count == 1 else f"{count} processes"


def _differs(name: str, saved: Any, here: Any) -> str:
    return (
        f"{name} was {saved or 'not set'} where the program was saved, and is "
        f"{here or 'not set'} here; start with the same, or {_AGAIN}"
    )


class Saved:
    """All executables of a program; nothing is compiled.

    Args:
      entries: each what `describe_source` says, and the `file` of the code.
      read: gives the contents of a file.
      found: `surroundings` of where they were compiled.
      meshes: what `describe_mesh` said of them there, by name.
    """

    def __init__(
        self,
        entries: Iterable[Mapping[str, Any]],
        read: Callable[[str], bytes],
        found: Mapping[str, Any],
        meshes: Mapping[str, Any],
    ):
        self._entries = list(entries)
        self._read = read
        self._found, self._meshes = found, meshes

    def check(self, meshes: Mapping[str, ProgramMesh]) -> None:
        """Raises ProgramError unless they run on these meshes."""
        for name, mesh in meshes.items():
            _check_mesh(name, self._meshes[name], mesh)
        _check_surroundings(self._found, surroundings(meshes))

    def find(self, source: Source) -> bytes:
        """The serialized executable of a fragment."""
        wanted = describe_source(source)
        same = [e for e in self._entries if e["code"] == wanted["code"]]
        for entry in same:
            if all(entry[key] == value for key, value in wanted.items()):
                return zlib.decompress(self._read(entry["file"]))
        if any(entry["mesh"] == wanted["mesh"] for entry in same):
            raise ProgramError(self._other_options(source))
        raise ProgramError(
            f"{source.describe()} is not among the fragments that were saved for such "
            "devices; save the program again"
        )

    def _other_options(self, source: Source) -> str:
        here = surroundings({source.mesh.name: source.mesh})
        for part in ("flags", "settings"):
            for name, value in here[part].items():
                saved = self._found[part].get(name, "")
                if saved != value:
                    return _differs(name, saved, value)
        return (
            f"{source.describe()} was compiled with other options of XLA than JAX's "
            f"configuration gives here; start with the same, or {_AGAIN}"
        )

    def load_all(
        self, sources: Sequence[Source], needed: Collection[int]
    ) -> list[Loaded | None]:
        """An executable for each source that is needed, in order.

        Raises:
          ProgramError: one does not run here.
        """
        jobs: dict[tuple, Any] = {}
        threads = min(os.cpu_count() or 1, 8)
        with concurrent.futures.ThreadPoolExecutor(threads, "meshwright-load") as pool:
            for index in sorted(needed):
                key = sources[index].key, sources[index].mesh.devices
                if key not in jobs:
                    jobs[key] = pool.submit(self._load, sources[index])
            return [
                jobs[source.key, source.mesh.devices].result()
                if index in needed
                else None
                for index, source in enumerate(sources)
            ]

    def _load(self, source: Source) -> Loaded:
        start = time.perf_counter()
        try:
            code = self.find(source)
            executable = jax_runtime.load_copy(
                code, source.mesh.devices, source.options, []
            )
        except (jax.errors.JaxRuntimeError, zlib.error) as error:
            raise ProgramError(
                f"{source.describe()} was saved, and its backend does not load it: "
                f"{str(error).strip()}; {_AGAIN} devices and versions"
            ) from error
        seconds = time.perf_counter() - start
        return Loaded(executable, source.mesh.devices, seconds, cached=True, code=code)


def check_all(sources: Sequence[tuple[Source, Loaded]]) -> None:
    """Raises ProgramError if the code of a fragment would be of no use elsewhere."""
    for source, _ in sources:
        if source.callbacks:
            raise ProgramError(
                f"{source.describe()} calls Python functions (jax.debug.print, "
                "pure_callback and the like), which another process would not have; "
                "save a program without them"
            )


def save_all(
    sources: Sequence[tuple[Source, Loaded]], add: Callable[[bytes], str]
) -> list[dict[str, Any]]:
    """Writes the code of fragments.

    Args:
      add: writes a file and returns its name.

    Returns:
      The entries for `Saved`.

    Raises:
      ProgramError: one cannot be saved; says why.
    """
    entries: dict[str, dict[str, Any]] = {}
    files: dict[int, str] = {}
    for source, loaded in sources:
        entry = describe_source(source)
        key = json.dumps(entry)
        if key in entries:
            continue
        if id(loaded.executable) not in files:
            files[id(loaded.executable)] = add(zlib.compress(_code(source, loaded), 1))
        entries[key] = {**entry, "file": files[id(loaded.executable)]}
    return list(entries.values())


def _code(source: Source, loaded: Loaded) -> bytes:
    try:
        if source.mesh.is_described:
            found = loaded.executable.code
        else:
            found = loaded.code or loaded.executable.serialize()
    except jax.errors.JaxRuntimeError as error:
        raise ProgramError(
            f"{source.describe()} cannot be saved: its backend says {error}"
        ) from error
    if not found:
        raise ProgramError(
            f"{source.describe()} cannot be saved: its compiler does not give its code"
        )
    return found
