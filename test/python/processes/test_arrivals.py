"""What is kept until other processes' arrays are here."""

import collections
import threading

from meshwright.runtime.processes import arrivals
from meshwright.runtime.processes.arrivals import Arrivals

LIMIT = 60


class Array:
    """Arrives when the test says so; notes who waited for it in which order."""

    def __init__(self, seen, name, here=True, error=None):
        self.seen, self.name, self.error = seen, name, error
        self.here = threading.Event()
        if here:
            self.here.set()

    def block_until_ready(self):
        assert self.here.wait(LIMIT)
        self.seen.append(self.name)
        if self.error:
            raise self.error


class Notes(list):
    """Says that something was added to it."""

    def __init__(self):
        super().__init__()
        self.added = threading.Event()

    def append(self, name):
        super().append(name)
        self.added.set()


def test_what_is_kept_without_a_call_is_let_go_of_once_it_is_here():
    seen, notes = [], Notes()
    late = Array(seen, "late", here=False)
    found = Arrivals(lambda: None)
    found.start()
    found.keep([Array(seen, "first"), late])
    found.keep([Array(notes, "last")])
    assert not notes
    late.here.set()
    assert notes.added.wait(LIMIT)
    assert seen == ["first", "late"]
    # The thread may have stopped looking, or not: either way it finds the next one.
    notes.added.clear()
    found.keep([Array(notes, "next")])
    assert notes.added.wait(LIMIT)
    found.end(LIMIT)
    assert notes == ["last", "next"]


def test_a_thread_that_looks_is_not_woken():
    found = Arrivals(lambda: None)
    found.keep([])
    assert found._asked.qsize() == 1
    found._looks = True
    found.keep([])
    assert found._asked.qsize() == 1


def test_an_acknowledgement_waits_for_all_before_it_and_nothing_after():
    seen = []
    found = Arrivals(lambda *then: seen.append(then))
    found.keep([Array(seen, "kept")])
    found.await_all(collections.deque([Array(seen, "of the window")]), 7, 0)
    # It arrives once the window before it has been acknowledged.
    after = Array(seen, "after", here=False)
    found._then = lambda *then: (seen.append(then), after.here.set())
    found.keep([after])
    found.start()
    found.end(LIMIT)
    assert seen == ["kept", "of the window", (7, 0), "after"]


def test_an_acknowledgement_that_comes_during_a_look_goes_first(monkeypatch):
    seen, looked = [], threading.Event()
    after = Array(seen, "after", here=False)
    found = Arrivals(lambda *then: (seen.append(then), after.here.set()))
    get = found._asked.get

    class Queue:
        """Lets an acknowledgement and a later array come just before a look ends."""

        put = staticmethod(found._asked.put)

        def get(self, timeout=None):
            if timeout is not None and not looked.is_set():
                looked.set()
                found.await_all(collections.deque(), 7, 0)
                found.keep([after])
                raise arrivals.queue.Empty
            return get(timeout=timeout)

    found._asked = Queue()
    found.keep([Array(seen, "kept")])
    found.start()
    assert looked.wait(LIMIT)
    assert after.here.wait(LIMIT)
    found.end(LIMIT)
    assert seen == ["kept", (7, 0), "after"]


def test_an_array_in_error_holds_back_no_acknowledgement():
    seen = []
    found = Arrivals(lambda *then: seen.append(then))
    arrays = [Array(seen, "in error", error=RuntimeError("gone")), Array(seen, "here")]
    found.await_all(collections.deque(arrays), 3, 1)
    found.start()
    found.end(LIMIT)
    assert seen == ["in error", "here", (3, 1)]
