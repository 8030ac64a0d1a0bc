"""Programs that benches write by hand keep to the form that the runtime reads."""

import argparse

import numpy as np

from bench import runtime_overhead


def test_the_step_of_the_overhead_bench_does_what_its_loop_does():
    kernels = runtime_overhead.Kernels(
        argparse.Namespace(width=4, layers=2, batch=runtime_overhead.MICROBATCHES)
    )
    loop = runtime_overhead.HandWritten(kernels)(kernels.inputs())
    step = runtime_overhead.Runtime(kernels)(kernels.inputs())
    assert len(loop) == len(step) > runtime_overhead.STAGES
    for theirs, ours in zip(loop, step, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
        assert np.any(np.asarray(ours))
