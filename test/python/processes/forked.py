"""Forks a process for each job, with the package imported.

    forked.py LISTENER
    forked.py MODULE ARGUMENT...

The first waits for jobs, the second is the launcher, with a module imported that the
script needs. A job is a script or a launcher, with what it prints to and its
environment. The one that asks hears of the process and of its end. Those of a launcher
are forked, too, by one that it forks before it has threads. They are its children, each
in a session of its own, as those are that it starts otherwise.

What Python and JAX read from the environment as they start, and the order of what is in
sets, are those of the process that forks; a job that sets such a variable is refused.
"""

import contextlib
import ctypes
import functools
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import types

import jax
from meshwright.core.ending import end_process
from meshwright.launching import attempt, tether

import meshwright as mw
from meshwright import launch

assert mw.distributed and mw.jit  # Imported at their first use.
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # Of <linux/prctl.h>.
_MOST_BYTES = 1 << 18
# What a job may set of Python and JAX, which have read the rest as they started.
_OWN = {"JAX_NUM_CPU_DEVICES", "PYTHONPATH", "PYTHONUNBUFFERED"}
_prctl = ctypes.CDLL(None).prctl


def take(listener: socket.socket, alive: int) -> dict:
    """The next job; returns in a process of its own for each.

    Args:
      alive: the end of a pipe, which closes with the one who asks for them.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # None of them is waited for.
    server = os.getpid()
    while True:
        if listener not in select.select([listener, alive], [], [])[0]:
            os._exit(0)
        connection = listener.accept()[0]
        if not os.fork():
            break
        connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    listener.close()
    _end_with(server)
    if alive:
        os.close(alive)
    else:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    if struct.unpack("3i", credentials)[1] != os.getuid():
        os._exit(1)  # Such a socket has no permissions of its own.
    data, files, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
    job, me = json.loads(data), os.getpid()
    if child := os.fork():
        if not job["parent"]:
            for file in files:
                os.close(file)
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            if not job["launches"]:
                with contextlib.suppress(ProcessLookupError):  # What it has left.
                    os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(OSError):
                connection.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    while job["parent"] and os.getppid() == me:
        time.sleep(0.001)
    _end_with(job["parent"] or me)
    os.setsid()
    connection.send(str(os.getpid()).encode())
    connection.close()
    become(job, files)
    return job


def _end_with(parent: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # It has ended before.
        os.kill(os.getpid(), signal.SIGKILL)


def become(job: dict, files: list[int]) -> None:
    for number, file in enumerate(files[:2], 1):
        os.dup2(file, number)
        os.close(file)
    late = [
        name
        for name, value in job["variables"].items()
        if name.startswith(("JAX_", "PYTHON")) and name not in _OWN
        if os.environ.get(name) != value
    ]
    if late:
        sys.exit(f"too late to set {', '.join(late)} of a forked process (forks=False)")
    os.environ.clear()
    os.environ.update(job["variables"])
    if "PYTHONUNBUFFERED" in os.environ:
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(
                io.FileIO(number, "w", closefd=False),
                errors=errors,
                write_through=True,
            )
            for number, errors in ((1, "strict"), (2, "backslashreplace"))
        )
    jax.config.update(
        "jax_num_cpu_devices", int(os.environ.get("JAX_NUM_CPU_DEVICES", -1))
    )


class Process:
    """A process of the launcher, as `subprocess.Popen` is one."""

    def __init__(self, address: bytes, words: list[str], variables: dict, piped: bool):
        job = {"words": words, "variables": variables, "launches": False}
        pipes = [os.pipe() for _ in range(2 * piped)]
        readers = [os.fdopen(reader, "rb", 0) for reader, _ in pipes]
        self.stdout, self.stderr = readers or (None, None)
        self.returncode: int | None = None
        files = [writer for _, writer in pipes]
        # It is forked by a child that ends then; the launcher starts one at a time.
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(address)
            data = json.dumps(job | {"parent": os.getpid()}).encode()
            socket.send_fds(server, [data], files or [1, 2])
            self.pid = int(server.recv(100))
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)
        for file in files:
            os.close(file)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def start(address: bytes, command: list[str], **options):
    """What the launcher calls in place of `subprocess.Popen`."""
    if tether.__file__ not in command:
        return subprocess.Popen(command, **options)
    words = command[command.index(tether.__file__) + 3 :]
    return Process(address, words, options["env"], options["stdout"] is not None)


def launch_forked(words: list[str]) -> list[str]:
    """Runs the launcher; goes on in each of its processes, which gets its words."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind("")  # The kernel chooses a free name.
    listener.listen(10)
    address = listener.getsockname()
    alive, mine = os.pipe()  # The other end is known to close with this process.
    if os.fork():
        listener.close()
        os.close(alive)
        popen = functools.partial(start, address)
        attempt.subprocess = types.SimpleNamespace(
            **vars(subprocess) | {"Popen": popen}
        )
        end_process(launch.main(words))
    os.close(mine)
    return take(listener, alive)["words"]


given = sys.argv[1:]
if given[0].isdecimal():
    job = take(socket.socket(fileno=int(given[0])), 0)
    words = launch_forked(job["words"]) if job["launches"] else job["words"]
else:
    importlib.import_module(given[0])
    words = launch_forked(given[1:])
sys.argv, sys.path[0] = words, os.path.dirname(words[0])
runpy.run_path(words[0], run_name="__main__")
