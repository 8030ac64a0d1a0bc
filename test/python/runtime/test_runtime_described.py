"""Programs for devices that are only described: compiled, asked, not called."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.jaxapi import described
from meshwright.runtime import load
from meshwright.runtime.program.errors import ProgramError
from meshwright.runtime.program.loaded import Loaded
from meshwright.runtime.run import executor
from support.described_cpus import Compiler, describe

import meshwright as mw


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("MESHWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return Compiler(monkeypatch)


def _step(params, x):
    for index, w in enumerate(params):
        name = f"stage{index}"
        x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=name)(w, x)
    return x


def _lower(devices, options=None):
    count = len(devices) // 2
    meshes = {
        f"m{i}": Mesh(np.array(devices[2 * i : 2 * i + 2]), ("x",))
        for i in range(count)
    }
    config = mw.make_config(meshes, {f"stage{i}": f"m{i}" for i in range(count)})
    weight = jax.ShapeDtypeStruct((16, 16), jnp.float32)
    rows = NamedSharding(meshes["m0"], P("x"))
    x = jax.ShapeDtypeStruct((4, 16), jnp.float32, sharding=rows)
    return mw.jit(_step, config).lower([weight] * count, x)


def test_answers_are_those_of_devices_that_are_here(compiler):
    both = [_lower(d).compile() for d in (jax.devices("cpu")[:4], describe(4))]
    wanted, found = both
    assert found.memory_analysis() == wanted.memory_analysis()
    assert found.peak_memory_bytes == wanted.peak_memory_bytes > 0
    assert found.traffic() == wanted.traffic()
    assert found.cost_analysis() == wanted.cost_analysis()
    assert found.as_text() == wanted.as_text()
    (weights, x), named = found.input_shardings
    assert (x.spec, named) == (P("x"), {})
    assert [w.mesh.devices.flat[0].id for w in weights] == [0, 2]


def test_equal_stages_compile_once_and_are_kept(compiler):
    _lower(describe(8)).compile()
    # The first stage is given rows, the others what the one before made.
    first = compiler.count
    assert first <= 2
    again = _lower(describe(8)).compile()
    assert compiler.count == first
    fragments = again.runtime_executable().fragments
    assert [f.compiled_for_others or f.from_cache for f in fragments] == [True] * 4


def test_a_damaged_entry_of_the_cache_is_compiled_again(compiler, tmp_path):
    _lower(describe(4)).compile()
    before = compiler.count
    for path in (tmp_path / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    with pytest.warns(RuntimeWarning, match="cannot read"):
        _lower(describe(4)).compile()
    assert compiler.count == 2 * before


def test_calls_say_that_the_devices_are_not_here(compiler):
    lowered = _lower(describe(4))
    compiled = lowered.compile()
    arguments = [np.ones((16, 16), np.float32)] * 2, np.ones((4, 16), np.float32)
    says = r"compiled for devices that are not here, those of meshes 'm0' \(cpu\), 'm1'"
    with pytest.raises(RuntimeError, match=says):
        compiled(*arguments)
    with pytest.raises(RuntimeError, match=says):
        compiled.place(arguments[1])
    page = io.StringIO()
    lowered.report(page)
    assert "2 fragment calls a run" in page.getvalue()


def test_one_mesh_here_and_one_described(compiler):
    devices = [*jax.devices("cpu")[:2], *describe(4)[2:]]
    compiled = _lower(devices).compile()
    assert set(compiled.memory_analysis()) == {"m0", "m1"}
    with pytest.raises(RuntimeError, match=r"those of meshes 'm1' \(cpu\): it can"):
        compiled([np.ones((16, 16))] * 2, np.ones((4, 16)))


def test_a_mesh_of_two_slices_is_refused(compiler):
    devices = [describe(4)[0], describe(4)[1]]
    says = "mesh 'm0' mixes devices of two slices"
    with pytest.raises(ValueError, match=f"topology: {says}"):
        mw.make_config({"m0": Mesh(np.array(devices), ("x",))}, {})
    # A program of files learns of its devices later.
    result = _lower(describe(4)).partitioning_result
    meshes = {
        "m0": Mesh(np.array(devices), ("x",)),
        "m1": Mesh(np.array(describe(4)[2:]), ("x",)),
    }
    with pytest.raises(ProgramError, match=says):
        load(result.program, result.fragments, meshes)


FIGURES = {"compile_s", "argument_bytes", "output_bytes", "temporary_bytes"}
FIGURES |= {"alias_bytes", "code_bytes", "estimated_s"}


def test_what_the_compiler_says_of_each_fragment(compiler):
    fit = _lower(describe(4)).compile().runtime_executable().fit()
    found = fit.as_json()
    assert set(found) == {"fragments", "meshes", "traffic"}
    assert all(set(figures) == FIGURES for figures in found["fragments"].values())
    weight, x = 16 * 16 * 4, 2 * 16 * 4
    first, second = found["fragments"].values()
    assert first["argument_bytes"] == weight + x
    assert second["output_bytes"] == x
    # Nothing is known of the memory of a CPU.
    assert [m["fits"] for m in found["meshes"].values()] == [None, None]
    assert all(m["peak_bytes"] > weight for m in found["meshes"].values())
    assert fit.fits


def test_what_does_not_fit_is_explained(compiler, monkeypatch):
    compiled = _lower(describe(4)).compile()
    peak = compiled.memory_analysis()["m1"].peak_bytes
    monkeypatch.setattr(executor, "memory_limit", lambda device: peak - 100)
    fit = compiled.runtime_executable().fit()
    assert not fit.fits
    assert fit.meshes["m1"].fits is False
    # Of the peak, the parts are all.
    for mesh in fit.meshes.values():
        assert sum(size for _, size in mesh.peak.parts) == mesh.peak_bytes
    page = io.StringIO()
    compiled.report(page)
    text = page.getvalue()
    assert 'mesh "m1" needs ' in text and " too little: while fragment " in text
    assert "1 KiB argument params" in text


def test_a_fragment_that_the_compiler_finds_too_large(compiler, monkeypatch):
    def refuse(module, devices, overrides, callbacks):
        if "stage1" in str(module.operation.attributes["sym_name"]):
            raise jax.errors.JaxRuntimeError(
                "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory "
                "required for HLO temporaries (18.67G) exceeds available HBM (15.75G)."
            )
        return compiler(module, devices, overrides, callbacks)

    monkeypatch.setattr(described, "compile_described", refuse)
    lowered = _lower(describe(4))
    with pytest.raises(mw.FragmentError, match='stage1.* on mesh "m1" does not comp'):
        lowered.compile()
    result = lowered.partitioning_result
    program = load(
        result.program, result.fragments, lowered.topology, keep_oversized=True
    )
    fit = program.fit()
    assert [mesh.fits for mesh in fit.meshes.values()] == [None, False]
    # That is with its arguments and results.
    assert fit.meshes["m1"].peak_bytes == int(18.67 * 2**30)
    assert "the compiler refuses p1_stage1" in fit.meshes["m1"].explain("m1")


def test_estimates_that_make_no_sense_are_left_out():
    class Executable:
        def __init__(self, seconds):
            self.seconds = seconds

        def cost_analysis(self):
            return {"flops": 1.0, "optimal_seconds": self.seconds}

    def cost(seconds):
        return Loaded(Executable(seconds), (), 0.0).cost()

    assert cost(1e-6) == {"flops": 1.0, "optimal_seconds": 1e-6}
    for seconds in (-4.0, 0.0, float("inf"), float("nan")):
        assert cost(seconds) == {"flops": 1.0}


def test_options_of_one_mesh_belong_to_the_key_of_the_cache(compiler):
    lowered = _lower(describe(8))
    lowered.compile()
    before = compiler.count
    options = {"m3": {"xla_cpu_enable_fast_math": True}}
    lowered.compile(options)
    assert compiler.count == before + 1
    _lower(describe(8)).compile(options)
    assert compiler.count == before + 1
    with pytest.raises(
        mw.FragmentError, match='on mesh "m3" does not compile: .*nonse'
    ):
        lowered.compile({"m3": {"xla_nonsense": 1}})
