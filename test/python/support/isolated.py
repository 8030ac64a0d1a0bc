"""Calls of jaxlib's native code in a process of its own, since it may abort."""

import concurrent.futures
import multiprocessing
import multiprocessing.forkserver
import os
import sys
from unittest import mock

TIMEOUT = 300


class Isolated:
    """Runs functions in one worker process; starts another when it dies.

    Workers are forked by a process that has imported `module`, the one of the first
    that asks, which makes little of it where many die: to start Python and JAX takes
    more than a second."""

    def __init__(self, module: str, timeout: float = TIMEOUT):
        self.timeout = timeout
        self.context = _forking(module)
        self.pool = None

    def call(self, function, *args):
        """The result of the call. Raises `Aborted` if the process died, and
        `RuntimeError` with the text of any exception of the function."""
        if self.pool is None:
            self.pool = concurrent.futures.ProcessPoolExecutor(
                1, mp_context=self.context
            )
            # To start, and to import, may take longer than the call.
            self.pool.submit(int).result(timeout=TIMEOUT)
        try:
            task = self.pool.submit(_call, function, args)
            ok, value = task.result(timeout=self.timeout)
        except concurrent.futures.process.BrokenProcessPool:
            self.pool = None
            raise Aborted(function.__name__) from None
        except TimeoutError:
            for process in self.pool._processes.values():
                process.kill()
            self.pool = None
            message = f"{function.__name__} took more than {self.timeout} s"
            raise Aborted(message) from None
        if not ok:
            raise RuntimeError(value)
        return value

    def call_each(self, function, items, aborted, at_once: int = 100) -> list:
        """The results of `function`, which takes a list of items, for each of them;
        `aborted` for an item with which the process died."""
        if len(items) <= at_once:
            try:
                return self.call(function, items)
            except Aborted:
                if len(items) == 1:
                    return [aborted]
        half = len(items) // 2
        pieces = (items[:half], items[half:])
        return [
            result
            for piece in pieces
            for result in self.call_each(function, piece, aborted, at_once)
        ]

    def close(self):
        if self.pool is not None:
            self.pool.shutdown()


def _forking(module: str):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    # The server of Python 3.11 gets the path in no other way; nothing else needs it.
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        multiprocessing.forkserver.ensure_running()
    return context


class Aborted(Exception):
    """The native code ended the process."""


def _call(function, args):
    # Native exceptions do not travel between processes; their text does.
    try:
        return True, function(*args)
    except Exception as error:
        return False, str(error)
