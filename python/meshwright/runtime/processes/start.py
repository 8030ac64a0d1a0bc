# SPDX-License-Identifier: Apache-2.0
"""How a process finds the others."""

from __future__ import annotations

import contextlib
import math
import numbers
import os
import secrets
import socket
import struct
import threading
import time
from typing import Any

import jax

from ...core import ending
from ...core.names import check_type
from ...jaxapi import runtime as jax_runtime
from . import exits, watch
from .connection import hold_port
from .coordinator import HEARTBEAT_SECONDS
from .world import (
    DEFAULT_TIMEOUT,
    WINDOW_BYTES,
    ProcessError,
    World,
    environment,
    is_loopback,
    leave,
    set_world,
)

_TRANSPORTS = ("transfer", "device_put")
_JOINED = "MESHWRIGHT_JOINED"
_DROP = struct.pack("ii", 1, 0)  # What SO_LINGER takes for closing at once.
_NOTHING = (None, None, None)
_started = False
_held: contextlib.ExitStack | None = None


def is_initialized() -> bool:
    """Whether `initialize` was called in this process."""
    return _started


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    timeout: float | None = None,
    bind_address: str | None = None,
    transport: str = "transfer",
    window_bytes: int = WINDOW_BYTES,
    recoverable: bool = False,
    **options: Any,
) -> None:
    """Joins the processes that run the same script. Call it before anything else.

    Under `python -m meshwright.launch` no argument is needed. On a cluster that
    `jax.distributed.initialize` knows (SLURM, Open MPI, Kubernetes, TPU) neither;
    elsewhere give the first three. A script that is started alone, without
    arguments and without a cluster, stays one process; so does what a process that
    has joined starts, such as a worker of `multiprocessing` that imports the script.

    Args:
      coordinator_address: `host:port` of process 0.
      num_processes: how many processes there are.
      process_id: which one this is, from 0.
      timeout: seconds after which a process gives up on another one; 30 by default,
        or what the launcher was given.
      bind_address: address on which this process offers arrays to others; by
        default loopback if the coordinator is there, else the address of the
        interface that reaches it. The traffic is neither encrypted nor
        authenticated (docs/distributed.md).
      transport: how arrays move between processes: `transfer`, by explicit ids, so
        that a process issues only what concerns it, or `device_put`, with which
        every process issues every step; meshes may not span processes then.
      window_bytes: how far a process may run ahead of one that it sends to: up to
        three times as many bytes wait for it at a time (64 MiB by default).
      recoverable: whether processes outlive one that is gone; the same in all. The
        others get a `ProcessFailure` then, and one that is started again comes back
        here once they call `mw.elastic.regroup` (docs/distributed.md).
      **options: passed on to `jax.distributed.initialize`.

    Raises:
      TypeError: a number of processes that is no int.
      ValueError: an unknown transport, one that `recoverable` is not for, only some
        of the first three arguments, or such that make no sense.
      RuntimeError: called twice, or after JAX has started its devices.
      ProcessError: the coordinator's port is taken, or no process listens there, or
        process 0 is bound to an address that is not reached. Where processes are
        missing, the others end with a line and exit code 70.
    """
    global _started, _held
    _check_transport(transport, recoverable)
    _check_first()
    given = (coordinator_address, num_processes, process_id)
    launched = environment("COORDINATOR") if given == _NOTHING else None
    if timeout is None:
        timeout = environment("TIMEOUT") or DEFAULT_TIMEOUT
    seconds = float(timeout)
    for name, value in (("timeout", seconds), ("window_bytes", window_bytes)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value:g}")
    alone = not launched and given == _NOTHING and not jax_runtime.cluster_is_present()
    if alone or _parent_has_joined(given):
        _started = True
        return
    given = _complete(given, launched)
    if given[1] == 1:
        _started = True
        return
    watch.connect(environment("WATCHDOG"), given[2], environment("TOKEN") or "")
    _spare_threads()
    with contextlib.ExitStack() as held:
        _configure(transport, held)
        _join(given, bool(launched), seconds, options, held)
        _held = held.pop_all()
    client = watch.current()
    if client is not None and client.has_returned:
        jax_runtime.forget_topology()
    # The watchdog knows which process is at fault; those that wait for it do not.
    world = set_world(2 * seconds, bind_address, transport, window_bytes, recoverable)
    if not launched:
        _connect_watchdog(world, seconds)
    client = watch.current()
    if client is not None:
        # It says that the end has come before the world waits for the others there.
        client.finish_first()
        world.watchdog = client
        world.members.generation = client.generation
        if client.has_returned:
            client.regroup(world.counters(), None)
        else:
            client.report_ready(recoverable)
    # For what this process starts, and what imports its script once more.
    address = jax_runtime.coordinator_address()
    os.environ[_JOINED] = f"{os.getpid()} {address} {world.count} {world.process}"
    _started = True


def _parent_has_joined(given: tuple) -> bool:
    """Whether a process that has joined in this place is an ancestor of this one.

    A child that `multiprocessing` spawns imports the script, and has inherited the
    variables that say which process its parent is.
    """
    joined = os.environ.get(_JOINED, "").split()
    if not joined or int(joined[0]) not in _ancestors():
        return False
    return given == _NOTHING or [str(part) for part in given] == joined[1:]


def _ancestors() -> list[int]:
    found, number = [], os.getppid()
    while number > 1:
        found.append(number)
        try:
            with open(f"/proc/{number}/stat") as file:
                number = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # There is no such folder here, or the process has ended.
            break
    return found


def shutdown() -> None:
    """Leaves the others when none of them needs anything of this process any more.

    Python does it at the end of a script, but not of one that ends with an exception
    or an exit code: that one notifies the others and ends at once. Call it where a
    process has much to do after the last step that concerns the others; all of them
    have to call it or to end. Nothing can run over several processes after it.
    Alone, and when called again, it does nothing. Not for a `finally:`, where it would
    wait for the others before they hear of an exception.

    Raises:
      ProcessError: not all came to their end within twice the timeout.
    """
    leave()
    client = watch.current()
    if client is not None:
        client.finish(exits.exit_code())


def _check_transport(transport: str, recoverable: bool) -> None:
    if transport not in _TRANSPORTS:
        raise ValueError(
            f"transport {transport!r} is unknown, known are "
            f"{', '.join(map(repr, _TRANSPORTS))}"
        )
    if recoverable and transport != "transfer":
        raise ValueError(
            f"transport {transport!r} cannot be recoverable; leave transport= or "
            "recoverable= out"
        )


def _check_first() -> None:
    """Checks that this is the first call, and that JAX has not started its devices."""
    if _started:
        raise RuntimeError(
            "mw.distributed.initialize was called before; call it once in each process"
        )
    if jax_runtime.backends_started():
        raise RuntimeError(
            "JAX has started its devices already; call mw.distributed.initialize() "
            "before jax.devices(), before any array is made and any function is run"
        )


def _complete(given: tuple, launched: str | None) -> tuple:
    """The first three arguments, checked, or those of the launcher."""
    if launched:
        processes, process = environment("PROCESSES"), environment("PROCESS")
        given = launched, int(processes or 1), int(process or 0)
    if given == _NOTHING:
        return given
    if None in given:
        raise ValueError(
            "give coordinator_address, num_processes and process_id together, or none "
            f"of them; got {given}"
        )
    return _checked(*given)


def _checked(address: str, count: int, process: int) -> tuple[str, int, int]:
    """The first three arguments, which JAX checks late or takes for something else."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(
            "coordinator_address must be a host and a port, such as 'host0:1234', got "
            f"{address!r}"
        )
    for name, value in (("num_processes", count), ("process_id", process)):
        check_type(f"{name} must be an int", value, numbers.Integral)
    if not 0 <= process < count:
        raise ValueError(
            f"process_id must be at least 0 and less than num_processes, got {process} "
            f"of {count}"
        )
    return address, int(count), int(process)


def _watchdog_address(world: World, seconds: float) -> str:
    """Where the watchdog beside process 0 listens, and its token."""
    if world.process == 0:
        token = secrets.token_hex(16)
        address = watch.start_beside(world.bind, world.count, seconds, token)
        world.put("watchdog", f"{address} {token}".encode())
        return f"{address} {token}"
    return world.get("watchdog", 0, "start a watchdog").decode()


def _connect_watchdog(world: World, seconds: float) -> None:
    address, _, token = _watchdog_address(world, seconds).partition(" ")
    try:
        watch.connect(address, world.process, token, coordinated=True)
    except OSError as error:
        raise ProcessError(
            f"process {world.process}: process 0 cannot be reached at {address}: "
            f"{error}; give it an address that the others reach (bind_address)"
        ) from error


def _configure(transport: str, held: contextlib.ExitStack) -> None:
    jax.config.update("jax_enable_recoverability", True)
    jax.config.update("jax_enable_preemption_service", False)
    if transport == "device_put":
        port = held.enter_context(hold_port("127.0.0.1:0")).getsockname()[1]
        jax.config.update("jax_cross_host_transfer_socket_address", f"127.0.0.1:{port}")
        jax.config.update("jax_cross_host_transport_addresses", "127.0.0.1:0")


def _spare_threads() -> None:
    """Gives XLA on CPU more threads than devices, before it starts.

    It has one per device or core. Launches on several devices hold theirs while
    they wait for each other; an array that arrives from another process needs one,
    too, and with none left everything waits forever.
    """
    devices = max(1, jax.config.jax_num_cpu_devices)
    wanted = max(os.cpu_count() or 1, 2 * devices + 2)
    os.environ.setdefault("NPROC", str(wanted))


def _join(
    given: tuple,
    launched: bool,
    seconds: float,
    options: dict,
    held: contextlib.ExitStack,
) -> None:
    address, count, process = given
    arguments = {
        "initialization_timeout": max(1, round(seconds)),
        "heartbeat_timeout_seconds": HEARTBEAT_SECONDS,
        "shutdown_timeout_seconds": max(1, round(seconds)),
        **options,
    }
    limit = arguments["initialization_timeout"]
    # JAX aborts the process then; before that we say what is missing.
    arguments["initialization_timeout"] = 4 * limit
    if address is not None:
        arguments |= {
            "coordinator_address": address,
            "num_processes": count,
            "process_id": process,
        }
        host = address.rsplit(":", 1)[0].strip("[]")
        if is_loopback(host):
            arguments.setdefault("coordinator_bind_address", address)
        bind = arguments.get("coordinator_bind_address")
        if process == 0 and not launched and bind is not None:
            held.enter_context(hold_port(bind))
    if address is not None and (launched or process):
        _await_listener(process, address, limit)
    end = threading.Timer(limit, _end_alone, (process, count, address, limit))
    if not launched:  # There the watchdog knows who is missing.
        end.start()
    try:
        # The launcher holds the coordinator, so that no worker's end is its end.
        with jax_runtime.external_coordinator(launched):
            jax.distributed.initialize(**arguments)
    except jax.errors.JaxRuntimeError as error:
        raise ProcessError(
            f"process {process}: the {count} processes did not all reach the "
            f"coordinator at {address} within {seconds:g} s: "
            f"{str(error).splitlines()[0]}; start all of them, or give initialize a "
            "longer timeout"
        ) from error
    finally:
        end.cancel()


def _end_alone(
    process: int | None, count: int | None, address: str | None, seconds: float
) -> None:
    """Ends a process whose main thread waits in JAX and cannot be interrupted."""
    me = "this process" if process is None else f"process {process}"
    there = "the coordinator" if address is None else f"the coordinator at {address}"
    ending.end_process(
        watch.EXIT_CODE,
        f"meshwright: {me} on {watch.hostname()}: not all {count or ''} processes "
        f"reached {there} within {seconds:g} s; start the script once for each, with "
        "the same address and number, or give more time (timeout)",
    )


def _await_listener(process: int, address: str, seconds: float) -> None:
    """Waits for the coordinator.

    JAX would ask again only after a second or more, and abort in the end.
    """
    host, port = address.rsplit(":", 1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host.strip("[]"), int(port)), 1) as found,
        ):
            if found.getsockname() != found.getpeername():
                return
            # The system chose the port that is asked for, and connected it to itself.
            # Closed as usual it would keep the coordinator from that port for a while.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP)
        time.sleep(0.02)
    raise ProcessError(
        f"process {process}: no process listens at {address} for {seconds:g} s; "
        "process 0 has to be started with this address, on its own host"
    )
