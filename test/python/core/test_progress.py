"""Progress is drawn on terminals, late, and taken back."""

import io
import re
import time

import pytest
from meshwright.core import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "delay", "drawn"),
    [(Terminal, 0.0, True), (io.StringIO, 0.0, False), (Terminal, 1000.0, False)],
)
def test_bar_is_drawn_on_terminals_only(stream, delay, drawn):
    bar = progress.ProgressBar(4, stream=stream(), delay=delay)
    bar.show(1)
    bar.close()
    assert ("1/4" in bar.stream.getvalue()) == drawn
    assert bar.stream.getvalue().endswith("\r\x1b[K") == drawn


def test_waiting_says_for_what_and_cleans_up_after_errors():
    terminal = Terminal()
    with (
        pytest.raises(KeyError),
        progress.waiting("partitioning", terminal, delay=0.0),
    ):
        deadline = time.monotonic() + 60
        while not re.search(r"partitioning \.\.\. \d+ s", terminal.getvalue()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        raise KeyError
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_waiting_is_silent_in_pipes_and_for_what_is_quick():
    for stream, delay in ((io.StringIO(), 0.0), (Terminal(), 1000.0)):
        with progress.waiting("partitioning", stream, delay):
            pass
        assert stream.getvalue() == ""


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, object(), closed()])
def test_nothing_watches_what_is_no_stream(monkeypatch, stream):
    """A process may have no standard error, or an object with nothing but `write`."""
    monkeypatch.setattr("sys.stderr", stream)
    with progress.waiting("partitioning", delay=0.0):
        bar = progress.ProgressBar(4, delay=0.0)
        bar.show(1)
        assert not bar.drawn
        bar.close()
