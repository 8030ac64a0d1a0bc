"""Runs scripts in processes that one process forks, which has imported the package.

To import it takes most of the processor time of a script that soon ends, and several
processes do it at once in a run. What is forked is the process that a script would
have, also those that the launcher starts then (processes/forked.py).
"""

import atexit
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import NamedTuple

from support.tools import ROOT

STARTED = pathlib.Path(__file__).parent / "started"  # Settings of all processes.
SERVER = ROOT / "test" / "python" / "processes" / "forked.py"
LEAVE = 100  # Seconds in which what a run has killed is gone, on a busy machine.


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(
    words: Sequence[str], variables: dict[str, str], limit: float, launches=False
) -> Done:
    """Runs a script to its end, and whatever it has started.

    Args:
      words: the script and its arguments; with `launches`, those of the launcher.
      variables: the environment.
      limit: seconds that it may take.
    """
    job = {"words": words, "variables": variables, "launches": launches, "parent": 0}
    reader, writer = os.pipe()
    with (
        open(reader, "rb") as alive,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as errors,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server,
    ):
        try:
            server.connect(_address())
            files = [out.fileno(), errors.fileno(), writer]
            socket.send_fds(server, [json.dumps(job).encode()], files)
        finally:
            os.close(writer)
        server.settimeout(limit)
        pid = _receive(server)
        try:
            code = _receive(server)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            raise
        # All that was forked for it has the other end of the pipe, and says nothing;
        # programs that it started have not.
        assert select.select([alive], [], [], LEAVE)[0], f"{words}: a process is left"
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read())
    return Done(code, *texts)


def _receive(server: socket.socket) -> int:
    data = server.recv(100)
    assert data, "the process that forks has ended; see what it printed"
    return int(data)


_starting = threading.Lock()
_started: list[tuple[bytes, subprocess.Popen]] = []


def _address() -> bytes:
    """Where the process listens that forks, which ends with this one."""
    with _starting:
        if not _started:
            _started.append(_start())
    return _started[0][0]


def _start() -> tuple[bytes, subprocess.Popen]:
    paths = [STARTED, ROOT / "test" / "python", ROOT / "python"]
    paths += [os.environ["MESHWRIGHT_EXTENSION"]]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join(map(str, paths))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind("")  # The kernel chooses a free name.
        listener.listen(100)
        process = subprocess.Popen(
            [sys.executable, str(SERVER), str(listener.fileno())],
            env=os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
        address = listener.getsockname()
    atexit.register(_end, process)
    return address, process


def _end(process: subprocess.Popen) -> None:
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
