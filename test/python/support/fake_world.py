"""Processes of a run as threads, with a key-value store between them."""

import contextlib
import itertools
import threading
from types import SimpleNamespace

from meshwright.runtime.processes.members import Members
from meshwright.runtime.processes.world import ProcessError, World

SECONDS = 100.0  # That one waits for another, on a busy machine.
MISSED = 0.5  # The same where no process comes.


class Store:
    """The coordinator's keys and values.

    No process waits for those of a process that is `absent`."""

    def __init__(self, seconds=SECONDS, absent=None):
        self.seconds, self.absent = seconds, absent
        self.values, self.changed, self.bytes = {}, threading.Condition(), 0

    def put(self, key, value):
        with self.changed:
            assert key not in self.values
            self.values[key] = value
            self.bytes += len(value)
            self.changed.notify_all()

    def get(self, key, owner, what):
        with self.changed:
            seconds = 0 if owner == self.absent else self.seconds
            if not self.changed.wait_for(lambda: key in self.values, seconds):
                raise ProcessError(f"process {owner} did not {what}")
            return self.values[key]


def make_world(store, process, count):
    """What one of this many processes sees of the others."""
    numbers = itertools.count()
    world = SimpleNamespace(
        process=process,
        count=count,
        members=Members(count, recoverable=False),
        put=store.put,
        get=store.get,
        next_number=lambda: next(numbers),
        explaining=contextlib.nullcontext,
        timeout=store.seconds,
        bind="127.0.0.1",
        transport="transfer",
        window_bytes=1 << 26,
    )
    world.put_large = lambda *args: World.put_large(world, *args)
    world.get_large = lambda *args: World.get_large(world, *args)
    return world
