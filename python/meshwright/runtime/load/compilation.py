# SPDX-License-Identifier: Apache-2.0
"""Turns the fragments of a program into executables on the devices of its meshes.

Stages of a pipeline are often the same module under another name. Such modules
are compiled once, and the executable is loaded onto the other devices, which
costs milliseconds. What is left is compiled in parallel: XLA releases the GIL.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import os
import queue
import re
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence

import jax

from ...core.names import unknown_name
from ...core.progress import ProgressBar
from ...jaxapi import described
from ...jaxapi import runtime as jax_runtime
from ...jaxapi.modules import first_file_location
from ..program.errors import FragmentError, ProgramError
from ..program.loaded import Loaded
from ..program.module_names import joint_name
from ..program.python_calls import name_errors
from ..program.source import Source
from .cache import FragmentCache
from .described import Answers, oversized_bytes

ir = jax_runtime.ir

_COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
_HIT_EVENT = "/jax/compilation_cache/cache_hits"
# As XLA prints the operations of its own that it complains about.
_METADATA = re.compile(r'source_file="([^"]+)"[^}]*?source_line=(\d+)')

# On a GPU, compilers time kernels and hold memory; more of them at once on one device
# disturb each other. On a CPU the number of cores is what bounds them.
_COMPILES_PER_GPU = 2

# Executables of programs that are still alive, by code and devices.
_loaded: weakref.WeakValueDictionary[tuple, Loaded] = weakref.WeakValueDictionary()


def resolve_options(options: Mapping | None, meshes: Sequence[str]) -> dict[str, dict]:
    """Compiler options of each mesh, from one dict for all or one dict per mesh."""
    options = dict(options or {})
    nested = [name for name, value in options.items() if isinstance(value, Mapping)]
    if not nested:
        return {mesh: options for mesh in meshes}
    if len(nested) != len(options):
        flat = ", ".join(sorted(set(options) - set(nested)))
        raise ValueError(
            "compiler options mix both forms: give either options for all meshes or a "
            f"dict per mesh, got options ({flat}) beside meshes ({', '.join(nested)})"
        )
    for mesh in nested:
        if mesh not in meshes:
            raise ValueError(unknown_name("compiler options: mesh", mesh, meshes))
    return {mesh: dict(options.get(mesh, {})) for mesh in meshes}


def compile_all(
    sources: list[Source],
    callbacks: Sequence[Callable] | None,
    needed: Collection[int],
    cache: FragmentCache | None = None,
    keep_oversized: bool = False,
) -> list[Loaded | None]:
    """An executable for each source that is needed, in order.

    Args:
      sources: the modules of fragments.
      callbacks: Python functions that they call; None if nothing will run.
      cache: where executables are kept.
      keep_oversized: a fragment for devices that are only described which does not fit
        into their memory is no error; what it takes is known.

    Raises:
      FragmentError: one does not compile.
      ProgramError: one calls a Python function that is not there.
    """
    result: dict[int, Loaded] = {}
    groups: dict[tuple, list[int]] = {}
    for index, source in enumerate(sources):
        if index not in needed:
            continue
        functions = source.callbacks.functions
        if callbacks is not None and functions > len(callbacks):
            # XLA does not ask, and calls what is past the last one.
            raise ProgramError(
                f"{source.describe()} calls host_callbacks[{functions - 1}], and "
                f"{len(callbacks)} were given; give meshwright.runtime.load the Python "
                "functions of the program"
            )
        alive = _loaded.get((source.key, source.mesh.devices))
        if alive is not None and not source.callbacks:
            result[index] = alive
        else:
            groups.setdefault(source.key, []).append(index)
    if groups:
        _run_jobs(
            sources, list(groups.values()), callbacks, cache, result, keep_oversized
        )
    for index, loaded in result.items():
        source = sources[index]
        if not source.callbacks:
            _loaded[source.key, source.mesh.devices] = loaded
    return [result.get(index) for index in range(len(sources))]


def _run_jobs(
    sources, groups: list[list[int]], callbacks, cache, result: dict, keep_oversized
) -> None:
    for group in groups:
        name = joint_name([sources[index].name for index in group])
        for index in group:
            sources[index].module_name = name if len(group) > 1 else None
    threads = _count_threads([sources[group[0]] for group in groups])
    pools = {
        name: concurrent.futures.ThreadPoolExecutor(count, "meshwright-compile")
        for name, count in threads.items()
    }
    # A context serves one thread at a time, and outlives the threads.
    contexts: queue.SimpleQueue = queue.SimpleQueue()
    for _ in range(sum(threads.values())):
        contexts.put(jax_runtime.make_ir_context())
    try:
        jobs = [
            pools[_pool_of(sources[group[0]])].submit(
                _compile_group,
                [sources[i] for i in group],
                *(callbacks, contexts, cache, keep_oversized),
            )
            for group in groups
        ]
        _wait(jobs)
        for group, job in zip(groups, jobs, strict=True):
            result |= zip(group, job.result(), strict=True)
    finally:
        # After an error or Ctrl-C we do not wait for what is still compiling.
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _pool_of(source: Source) -> str:
    """Whose threads compile a fragment: those of its GPUs, else all."""
    is_busy = source.mesh.is_gpu and not source.mesh.is_described
    return source.mesh.group if is_busy else ""


def _count_threads(sources: Sequence[Source]) -> dict[str, int]:
    """How many threads each pool gets for these fragments."""
    most = min(os.cpu_count() or 1, 32)
    return {
        name: min(count, _COMPILES_PER_GPU if name else most)
        for name, count in collections.Counter(map(_pool_of, sources)).items()
    }


def _wait(jobs: list[concurrent.futures.Future]) -> None:
    """Waits for all; draws a bar if that takes long. Raises the first failure at
    once, while others still compile."""
    pending, bar = set(jobs), ProgressBar(len(jobs))
    try:
        while pending:
            done, pending = concurrent.futures.wait(
                pending, timeout=0.2, return_when=concurrent.futures.FIRST_EXCEPTION
            )
            for job in jobs:
                if job in done and job.exception():
                    raise job.exception()
            bar.show(sum(job.done() for job in jobs))
    finally:
        bar.close()


def _compile_group(
    group: list[Source], callbacks, contexts, cache, keep_oversized
) -> list[Loaded]:
    """Compiles the first of some equal sources, and loads it for the others."""
    first, serialized = None, cache and cache.read(group[0])
    if serialized:
        first = _load(group[0], serialized, callbacks, cached=True)
    if first is None:
        job = group[0], callbacks, contexts, cache, keep_oversized
        first, serialized = _compile(*job), None
    by_devices = {first.devices: first}
    for source in group[1:]:
        devices = source.mesh.devices
        if devices in by_devices:
            continue
        if source.mesh.is_described:
            # Nothing is loaded, and devices that are arranged alike have one code.
            by_devices[devices] = Loaded(first.executable, devices, 0.0, copied=True)
            continue
        try:
            serialized = serialized or first.executable.serialize()
        except jax.errors.JaxRuntimeError:  # A backend that cannot.
            serialized = b""
        copy = serialized and _load(source, serialized, callbacks, copied=True)
        by_devices[devices] = copy or _compile(source, callbacks, contexts, cache)
    return [by_devices[source.mesh.devices] for source in group]


def _never_called(*args: object) -> None:
    raise AssertionError("nothing runs")


def _named(source: Source, callbacks: Sequence[Callable] | None) -> list:
    """The Python functions that a fragment calls, whose errors name it."""
    if not source.callbacks:
        return []
    if callbacks is None:
        return [_never_called] * source.callbacks.functions
    # On TPUs they are objects of the backend, which no one can call here.
    return [
        name_errors(callback, source.describe()) if callable(callback) else callback
        for callback in callbacks
    ]


def _load(
    source: Source,
    serialized: bytes,
    callbacks: Sequence[Callable] | None,
    **origin: bool,
) -> Loaded | None:
    """Loads what was compiled before; None if the backend does not take it."""
    start, devices = time.perf_counter(), source.mesh.devices
    try:
        if source.mesh.is_described:
            found = Answers.read(serialized)
        else:
            found = jax_runtime.load_copy(
                serialized, devices, source.options, _named(source, callbacks)
            )
    except (jax.errors.JaxRuntimeError, ValueError):
        return None
    seconds = time.perf_counter() - start
    if origin.get("cached"):
        jax.monitoring.record_event(_HIT_EVENT)
    return Loaded(found, devices, seconds, code=serialized, **origin)


def _compile(
    source: Source,
    callbacks: Sequence[Callable] | None,
    contexts,
    cache,
    keep_oversized: bool = False,
) -> Loaded:
    named = _named(source, callbacks)
    start = time.perf_counter()
    context = contexts.get()
    try:
        with context:
            module = ir.Module.parse(source.text)
            if source.module_name is not None:
                name = ir.StringAttr.get(source.module_name)
                module.operation.attributes["sym_name"] = name
        devices = source.mesh.devices
        if source.mesh.is_described:
            executable = Answers.of(
                described.compile_described(module, devices, source.options, named)
            )
        else:
            executable = jax_runtime.compile_module(
                module, devices, source.options, named, jax_cache=not cache
            )
        del module
    except Exception as error:
        needed = oversized_bytes(str(error)) if source.mesh.is_described else None
        if needed is None or not keep_oversized:
            with context:
                place = _find_refused(source.text, str(error))
            what = f", at {place}" if place else ""
            raise FragmentError(
                f"{source.describe()} does not compile{what}: {error}"
            ) from error
        executable = Answers.oversized(source, needed)
    finally:
        contexts.put(context)
    seconds = time.perf_counter() - start
    jax.monitoring.record_event_duration_secs(
        _COMPILE_EVENT, seconds, fun_name=source.name
    )
    if cache and not getattr(executable, "is_oversized", False):
        cache.write(source, executable)
    return Loaded(executable, source.mesh.devices, seconds)


def _find_refused(text: str, error: str) -> str | None:
    """`FILE:LINE` of the user's operation that a compiler has refused, if it tells.

    Args:
      text: the module, with locations; to be parsed in the current MLIR context.
      error: what its compiler reported.
    """
    if metadata := _METADATA.search(error):
        return f"{metadata[1]}:{metadata[2]}"
    found: list[str] = []

    def visit(op):
        if op.name == "stablehlo.custom_call" and "call_target_name" in op.attributes:
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            place = first_file_location(op.location)
            is_about = re.search(rf"\b{re.escape(target)}\b", error) is not None
            # Modules without locations get those of their own text, `-`.
            if is_about and place is not None and place.filename != "-":
                found.append(f"{place.filename}:{place.start_line}")
        return ir.WalkResult.ADVANCE

    with contextlib.suppress(ir.MLIRError):
        ir.Module.parse(text).operation.walk(visit)
    return found[0] if found else None
