"""Compiled fragments on disk: who finds them, and what spoils them."""

import gc
import os
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache
from meshwright.jaxapi.runtime import make_ir_context
from meshwright.runtime.load import cache
from meshwright.runtime.program.python_calls import PythonCalls
from meshwright.runtime.program.source import read_source
from support.launching import run_forked
from support.runtime_programs import Builder, iota

HIT, COMPILED = "/jax/compilation_cache/cache_hits", "backend_compile_duration"


class Events:
    """What JAX's monitoring hears while a program is loaded."""

    def __init__(self):
        self.hits = self.compiled = 0
        jax.monitoring.register_event_listener(self._hear)
        jax.monitoring.register_event_duration_secs_listener(self._hear_duration)

    def _hear(self, event, **kwargs):
        self.hits += event == HIT

    def _hear_duration(self, event, seconds, **kwargs):
        self.compiled += event.endswith(COMPILED)

    def take(self) -> tuple[int, int]:
        found, self.hits, self.compiled = (self.hits, self.compiled), 0, 0
        return found


@pytest.fixture(scope="module")
def events():
    return Events()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def load_and_run(events, *, operation="add", location="", size=2, **options):
    """Loads a program of one fragment, which takes over its argument, and runs it.

    Returns:
      The numbers of fragments found and compiled.
    """
    gc.collect()  # Who is alive shares its executables.
    b = Builder(a={"x": size})
    x = b.input("a", [4], dims=[["x"]], donated=True)
    b.output(b.unary("first", f"stablehlo.{operation}", x, alias={0: 0}))
    b.modules["first"] = b.modules["first"].replace("%r =", "%r =", 1) + location
    events.take()
    program, given = b.load(**options), b.put(iota(4), "a", "x")
    found = events.take()
    (y,) = program(given)
    wanted = {"add": 2 * iota(4), "multiply": iota(4) ** 2}[operation]
    np.testing.assert_array_equal(np.asarray(y), wanted)
    assert given.is_deleted()
    (summary,) = program.fragments
    assert summary.from_cache == bool(found[0])
    assert program.memory_analysis()["a"].live_bytes == 16 // size
    return found


def test_a_fragment_is_compiled_once(events, folder):
    assert load_and_run(events) == (0, 1)
    assert load_and_run(events) == (1, 0)
    (entry,) = folder.iterdir()
    assert entry.suffix == ".xla"


def test_code_counts_and_not_where_it_is(events, folder):
    load_and_run(events)
    assert load_and_run(events, location='#loc1 = loc("elsewhere":7:3)\n') == (1, 0)
    assert load_and_run(events, operation="multiply") == (0, 1)
    assert load_and_run(events, size=4) == (0, 1)
    options = {"xla_backend_optimization_level": 0}
    assert load_and_run(events, compile_options=options) == (0, 1)
    assert load_and_run(events, compile_options=options) == (1, 0)


def test_flags_and_versions_count(events, folder, monkeypatch):
    load_and_run(events)
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_max_hlo_modules=7")
    assert load_and_run(events) == (0, 1)
    monkeypatch.setattr(cache, "__version__", "another")
    assert load_and_run(events) == (0, 1)
    monkeypatch.setattr(cache, "_host_features", lambda: "a machine of old")
    assert load_and_run(events) == (0, 1)


@pytest.mark.parametrize(
    "damage",
    [lambda d: b"", lambda d: b"junk", lambda d: d[:-9], lambda d: d[:99] + d[100:]],
    ids=["empty", "junk", "cut off", "a byte less"],
)
def test_a_damaged_entry_is_compiled_again(events, folder, damage):
    load_and_run(events)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    with pytest.warns(RuntimeWarning, match="cannot read .*.xla: .*first.*compiled"):
        assert load_and_run(events) == (0, 1)
    assert load_and_run(events) == (1, 0)


def test_an_entry_that_the_backend_refuses_is_compiled_again(events, folder):
    import zlib

    load_and_run(events)
    (entry,) = folder.iterdir()
    entry.write_bytes(zlib.compress(b"of another version"))
    assert load_and_run(events) == (0, 1)
    assert load_and_run(events) == (1, 0)


def test_a_folder_that_cannot_be_written_only_costs_time(events, folder):
    folder.write_text("no folder")
    with pytest.warns(RuntimeWarning, match="cannot write .*is not kept"):
        assert load_and_run(events) == (0, 1)


CALLS_PYTHON = """
import sys

import jax
import numpy as np
from support.runtime_programs import Builder, iota

hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
b = Builder(a={"x": 1})
x = b.input("a", [4], dims=[["x"]])
factor = int(sys.argv[1])
b.output(b.callback("first", x, lambda rows: factor * rows))
program = b.load()
(y,) = program(b.put(iota(4), "a", "x"))
np.testing.assert_array_equal(np.asarray(y), factor * iota(4))
print("hit" if "/jax/compilation_cache/cache_hits" in hits else "compiled")
"""


def test_python_functions_are_those_of_the_process_that_loads(folder, tmp_path):
    """Two processes with the same module, whose functions are two."""
    script = tmp_path / "script.py"
    script.write_text(CALLS_PYTHON)
    for factor, wanted in (3, "compiled"), (5, "hit"):
        done = run_forked({0: ([str(script), str(factor)], {})})[0]
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [wanted]
    assert len(list(folder.iterdir())) == 1


CALLBACK = "stablehlo.custom_call @{}() {{api_version = 4 : i32{}}} : () -> ()"
EFFECT = ", has_side_effect = true"
INDEX = ", mhlo.backend_config = {index = 2 : ui64}"
ADDRESS = ", backend_config = {descriptor = 7 : ui64}"
NONE = PythonCalls(any=False, functions=0, by_number=True, effects=False)
THIRD = PythonCalls(any=True, functions=3, by_number=True, effects=False)
WITH_EFFECTS = THIRD._replace(effects=True)
BY_ADDRESS = PythonCalls(any=True, functions=0, by_number=False, effects=False)


@pytest.mark.parametrize(
    "text, calls",
    [
        ("", NONE),
        (CALLBACK.format("xla_ffi_python_cpu_callback", INDEX), THIRD),
        (CALLBACK.format("xla_ffi_partitioned_python_gpu_callback", INDEX), THIRD),
        (CALLBACK.format("xla_ffi_python_cpu_callback", EFFECT + INDEX), WITH_EFFECTS),
        (CALLBACK.format("xla_python_cpu_callback", ADDRESS), BY_ADDRESS),
        (CALLBACK.format("python_cpu_callback", INDEX), NONE),
    ],
)
def test_functions_of_one_process_are_not_kept(text, calls):
    device = jax.devices()[0]
    with make_ir_context():
        found = read_source(
            "f",
            SimpleNamespace(devices=(device,)),
            f"func.func @main() {{\n{text}\nreturn\n}}",
            {},
        )
    assert found.callbacks == calls


def test_other_meshes_load_what_one_compiled(events, folder):
    b = Builder(a={"x": 2}, b={"x": 2})
    x = b.input("a", [4], dims=[["x"]])
    h = b.unary("first", "stablehlo.add", x)
    h = b.unary("second", "stablehlo.add", b.transfer(h, "b", dims=[["x"]]))
    b.output(h)
    found = []
    for _ in range(2):
        gc.collect()
        events.take()
        program = b.load()
        found.append(events.take())
        (y,) = program(b.put(iota(4), "a", "x"))
        np.testing.assert_array_equal(np.asarray(y), 4 * iota(4))
        del program, y
    assert found == [(0, 1), (1, 0)]


def test_the_folder_is_given_by_the_variable_or_by_jax(tmp_path, monkeypatch):
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    assert cache.find_folder() is None
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        assert cache.find_folder() == tmp_path / "meshwright"
        monkeypatch.setenv(cache.VARIABLE, "~/mine")
        assert cache.find_folder() == type(tmp_path)(os.path.expanduser("~/mine"))
        monkeypatch.setenv(cache.VARIABLE, "~no such user/mine")
        assert str(cache.find_folder()) == "~no such user/mine"
        monkeypatch.setenv(cache.VARIABLE, "")
        assert cache.find_folder() is None
        monkeypatch.delenv(cache.VARIABLE)
        jax.config.update("jax_compilation_cache_dir", "gs://bucket/folder")
        assert cache.find_folder() is None
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        jax.config.update("jax_enable_compilation_cache", False)
        assert cache.find_folder() is None
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
        jax.config.update("jax_compilation_cache_dir", before)


def test_concurrent_writers_leave_a_whole_entry(events, folder, monkeypatch):
    """Written aside: what is there under the name is never half."""
    seen = []
    replace = os.replace

    def look(source, target):
        seen.append((os.path.exists(target), os.path.dirname(source)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    load_and_run(events)
    assert seen == [(False, str(folder))]


def test_jax_s_cache_alone_spoils_no_equal_stage(tmp_path, monkeypatch):
    """What XLA loads for a CPU does not give its code, which equal stages share."""
    monkeypatch.setenv(cache.VARIABLE, "")
    settings = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: jax.config.values[name] for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    try:
        for _ in range(2):
            gc.collect()
            b = Builder(a={"x": 1}, b={"x": 1})
            for name, mesh in (("first", "a"), ("second", "b")):
                x = b.input(mesh, [4], dims=[["x"]])
                b.output(b.unary(name, "stablehlo.multiply", x))
            program = b.load()
            assert [f.compiled_for_others for f in program.fragments] == [False, True]
            for y in program(b.put(iota(4), "a", "x"), b.put(iota(4), "b", "x")):
                np.testing.assert_array_equal(np.asarray(y), iota(4) ** 2)
            del program
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
