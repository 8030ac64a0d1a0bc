"""How far clocks are apart; the processes are threads with clocks of their own."""

import concurrent.futures
import time

import pytest
from meshwright.runtime.processes.clocks import Alignment, Reading, read_offset
from meshwright.runtime.processes.world import ProcessError
from support.fake_world import MISSED, Store, make_world

AHEAD = (0.0, 1000.0, -3.5)  # Seconds.


def test_clocks_are_found_to_be_apart_by_no_more_than_the_error():
    store = Store()

    def read(process):
        world = make_world(store, process, len(AHEAD))
        return read_offset(world, lambda: time.perf_counter() + AHEAD[process])

    with concurrent.futures.ThreadPoolExecutor(len(AHEAD)) as pool:
        readings = list(pool.map(read, range(len(AHEAD))))
    for reading, ahead in zip(readings, AHEAD, strict=True):
        assert abs(reading.offset + ahead) <= reading.error + 1e-9
        assert reading.error < 1
    assert readings[0].error == 0


@pytest.mark.parametrize("drift", [0.0, 0.25, -0.5])
def test_clocks_drift_evenly_between_two_readings(drift):
    def true(time):
        return time + 5 + drift * (time - 10)

    ends = [Reading(at, true(at) - at, 0.001 * at) for at in (10.0, 30.0)]
    clocks = Alignment(*ends)
    assert clocks.drift == pytest.approx(drift)
    assert clocks.error == pytest.approx(0.03)
    for at in (10.0, 12.5, 30.0):
        assert clocks.shift(at) == pytest.approx(true(at))


def test_a_recording_of_no_length_has_no_drift():
    reading = Reading(3.0, 1.0, 0.0)
    assert Alignment(reading, reading).shift(4.0) == 5.0


@pytest.mark.parametrize("process", [0, 1])
def test_a_process_that_does_not_record_is_missed(process):
    world = make_world(Store(MISSED), process, 2)
    with pytest.raises(
        ProcessError, match=r"come to mw.profile\(\)|each has to enter it"
    ):
        read_offset(world, time.perf_counter)
