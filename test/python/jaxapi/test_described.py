"""Compilers of devices that are only described."""

import concurrent.futures
import time
import types

import pytest
from meshwright.jaxapi import described


@pytest.mark.parametrize("kind, at_once", [("TPU7x", {1}), ("TPU v5", {1, 2})])
def test_libraries_that_fail_with_two_threads_are_asked_by_one(
    monkeypatch, kind, at_once
):
    running, seen = [], set()

    def compile_and_load(client, module, *rest):
        running.append(module)
        seen.add(len(running))
        time.sleep(0.01)  # So that another one would come meanwhile.
        running.remove(module)
        return module

    monkeypatch.setitem(described._FOUND, "backend_compile_and_load", compile_and_load)
    for name in ("DeviceList", "compile_options"):
        monkeypatch.setattr(described, name, lambda *args: None)
    device = types.SimpleNamespace(device_kind=kind, client=None)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(described.compile_described, number, (device,), {}, [])
            for number in range(6)
        ]
        assert [job.result() for job in jobs] == list(range(6))
    assert seen <= at_once
