"""Failures inside fragments: they are named, and the process stays usable."""

import subprocess
import sys
import textwrap
import threading

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.jaxapi import runtime as jax_runtime
from meshwright.runtime.load import compilation
from meshwright.runtime.program import placement
from meshwright.runtime.program.source import read_source
from support.runtime_programs import Builder, iota
from support.tools import ROOT

import meshwright as mw
from meshwright import runtime


def with_callback(devices, function, effects=False):
    """`second`, on mesh b, calls a Python function; `third` reads its result."""
    b = Builder(a={"x": devices}, b={"x": devices})
    dims = [["x"]]
    x = b.input("a", [8], dims=dims)
    h = b.transfer(b.unary("first", "stablehlo.add", x), "b", dims=dims)
    y = b.callback("second", h, function, ["enc", "enc(1)"], effects)
    b.output(b.unary("third", "stablehlo.add", y))
    return b, b.load()


NAMED = (
    r'(?s)fragment "second" \(from enc, enc\(1\)\) on mesh "b" failed: .*no more data'
)


@pytest.mark.parametrize("devices", [1, 2])
def test_exception_in_a_callback_names_the_fragment(devices, capfd):
    fail = threading.Event()

    def function(x):
        if fail.is_set():
            raise KeyError("no more data")
        return x + 1

    b, program = with_callback(devices, function)
    x = b.put(iota(8), "a", "x")
    np.testing.assert_array_equal(np.asarray(program(x)[0]), 2 * (2 * iota(8) + 1))
    fail.set()
    with pytest.raises(jax.errors.JaxRuntimeError, match=NAMED):
        jax.block_until_ready(program(x))
    with pytest.raises(runtime.FragmentError, match=NAMED):
        program.wait()
    fail.clear()
    np.testing.assert_array_equal(np.asarray(program(x)[0]), 2 * (2 * iota(8) + 1))
    capfd.readouterr()  # JAX logs the traceback of a failing callback.


def test_callbacks_that_are_not_given_are_an_error():
    b, _ = with_callback(1, lambda x: x)
    b.callbacks = []
    with pytest.raises(
        runtime.ProgramError, match=r"on mesh .b. calls host_callbacks\[0\], and 0 were"
    ):
        b.load()


def test_fragment_with_a_callback_on_two_meshes():
    b = Builder(a={"x": 1}, b={"x": 1})
    x, y = (b.input(mesh, [8], dims=[["x"]]) for mesh in "ab")
    b.output(b.callback("call", x, lambda rows: rows + 1))
    b.program["fragments"].append(b.program["fragments"][0] | {"mesh": "b"})
    z = b.value("b", [8], dims=[["x"]])
    b.call(1, [y], [z])
    b.output(z)
    for result in b.load()(*(b.put(iota(8), mesh) for mesh in "ab")):
        np.testing.assert_array_equal(np.asarray(result), iota(8) + 1)


def test_pure_callbacks_at_exit():
    """What they failed with was raised, and those that run are waited for."""
    script = textwrap.dedent(
        """
        import sys, time
        sys.path[:0] = PATHS
        import numpy as np
        from test_runtime_errors import iota, with_callback
        def function(x):
            if x.sum() == 0:
                raise KeyError("no more data")
            for _ in range(20):  # Each time it wants the GIL back.
                time.sleep(0.01)
            return x
        b, program = with_callback(2, function)
        try:
            np.asarray(program(b.put(0 * iota(8), "a", "x"))[0])
        except Exception as error:
            print("no more data" in str(error))
        made = program(b.put(1 + iota(8), "a", "x"))
        """
    )
    folders = ("test/python/runtime", "test/python", "python")
    paths = [str(ROOT / folder) for folder in folders]
    done = subprocess.run(
        [sys.executable, "-c", f"PATHS = {paths!r}\n{script}"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "at exit" not in done.stderr and "ignored" not in done.stderr


def test_effects_barrier_waits_for_callbacks():
    seen = []

    def function(x):
        seen.append(x.sum())
        return x

    b, program = with_callback(1, function, effects=True)
    program(b.put(iota(8), "a", "x"))
    jax.effects_barrier()
    assert seen == [2 * iota(8).sum()]


def test_module_that_does_not_compile_is_named():
    b = Builder(a={"x": 1})
    b.output(b.unary("first", "stablehlo.add", b.input("a", [4]), origins=["enc"]))
    b.modules["first"] = b.modules["first"].replace(
        "%r = stablehlo.add %arg0, %arg0 : tensor<4xf32>",
        "%r = stablehlo.custom_call @not_defined(%arg0) : "
        "(tensor<4xf32>) -> tensor<4xf32>",
    )
    named = r'(?s)"first" \(from enc\) on mesh "a" does not compile: .*not_defined'
    with pytest.raises(runtime.FragmentError, match=named):
        b.load()


def test_the_line_of_what_a_compiler_refuses_is_named():
    def calls(x):
        return jax.ffi.ffi_call("not_defined", jax.ShapeDtypeStruct(x.shape, x.dtype))(
            jax.numpy.tanh(x)
        )

    line = calls.__code__.co_firstlineno + 1
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    config = mw.make_config({"m": mesh}, {"first": "m"})
    function = mw.named_computation(calls, name="first")
    lowered = mw.jit(function, config).lower(np.ones(4, np.float32))
    named = (
        rf'(?s)\(from first\) on mesh "m" does not compile, at .*{__name__}.py:'
        rf"({line}|{line + 1}|{line + 2}): .*No FFI handler"
    )
    with pytest.raises(mw.FragmentError, match=named):
        lowered.compile()


def test_first_failure_is_reported_while_others_compile(monkeypatch):
    """A fragment that takes forever does not hold back the error of another."""
    b = Builder(a={"x": 1}, b={"x": 1})
    b.output(
        b.unary("slow", "stablehlo.subtract", b.input("a", [5])),
        b.unary("bad", "stablehlo.multiply", b.input("b", [5])),
    )
    released = threading.Event()
    compile_module = jax_runtime.compile_module

    def compile_slowly(module, devices, *rest, **kwargs):
        if devices == tuple(b.meshes["a"].devices.flat):
            released.wait(60)
            return compile_module(module, devices, *rest, **kwargs)
        raise ValueError("no such thing")

    monkeypatch.setattr(jax_runtime, "compile_module", compile_slowly)
    monkeypatch.setattr(compilation.os, "cpu_count", lambda: 2)
    try:
        with pytest.raises(runtime.FragmentError, match="bad.*no such thing"):
            b.load()
        assert not released.is_set()
    finally:
        released.set()


TPU_CALLBACK = """module @held {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) <{
        channel_handle = #stablehlo.channel_handle<handle = 2, type = SEND>,
        is_host_transfer = HOST}>
      : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %2:2 = "stablehlo.recv"(%1) <{
        channel_handle = #stablehlo.channel_handle<handle = 3, type = RECV>,
        is_host_transfer = HOST}>
      : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return %2#0 : tensor<4xf32>
  }
}
"""


@pytest.mark.parametrize(("host", "send", "recv"), [("true", 2, 3), ("false", 1, 1)])
def test_callbacks_of_tpus_are_found(host, send, recv):
    """There they are transfers with the host, which one device makes for all."""
    mesh = placement.ProgramMesh(
        {"name": "a", "axes": [["x", 2]]}, Mesh(jax.devices()[:2], "x")
    )
    text = TPU_CALLBACK.replace("HOST", host)
    text = text.replace("SEND", str(send)).replace("RECV", str(recv))
    with jax_runtime.make_ir_context():
        source = read_source("held", mesh, text, {})
    assert source.callbacks.any is (host == "true")
    assert source.callbacks.by_number is (host == "false")
    assert source.callbacks.effects is (host == "true")
    assert source.text.count("@first_device, []") == (3 if host == "true" else 0)


def test_sharding_that_xla_compiled_otherwise_is_an_error():
    b = Builder(a={"x": 2})
    x = b.input("a", [4], dims=[["x"]])
    b.output(b.unary("first", "stablehlo.add", x))
    b.modules["first"] = b.modules["first"].replace('[{"x"}]', "[{}]")
    with pytest.raises(runtime.FragmentError, match="XLA compiled argument 0"):
        b.load()


class Described:
    """A device of a description, as for compiling ahead: no process has it."""

    id, process_index, platform, device_kind = 99, 7, "cpu", "cpu"
    client = None

    def __repr__(self):
        return "Described(99)"


def test_mesh_whose_devices_no_process_has_is_refused():
    meshes = {"m0": jax.devices()[:1], "m1": [Described()]}
    config = mw.make_config(
        {name: Mesh(np.array(part), "x") for name, part in meshes.items()},
        {"first": "m0", "last": "m1"},
    )

    def both(x):
        first = mw.named_computation(jax.numpy.sin, name="first")(x)
        return mw.named_computation(jax.numpy.cos, name="last")(first)

    lowered = mw.jit(both, config).lower(iota(4))
    text = r"mesh 'm1': no process has device Described\(99\); this run has \d+ devices"
    with pytest.raises(ValueError, match=text):
        lowered.compile()


def test_threads_may_call_at_the_same_time():
    b = Builder(a={"x": 2}, b={"x": 2})
    dims = [["x"]]
    h = b.unary("first", "stablehlo.add", b.input("a", [4], dims=dims))
    b.output(b.unary("second", "stablehlo.add", b.transfer(h, "b", dims=dims)))
    program, found = b.load(), []

    def work(scale):
        x = b.put(scale * iota(4), "a", "x")
        for _ in range(20):
            found.append(np.array_equal(np.asarray(program(x)[0]), 4 * scale * iota(4)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_interrupt_while_compiling_leaves_the_process_usable():
    script = textwrap.dedent(
        """
        import os, signal, sys, threading, time
        sys.path[:0] = [TESTS, PACKAGE]
        # What was started with the signal ignored, as by nohup, goes on ignoring it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import support
        from support.runtime_programs import Builder, iota
        from meshwright.runtime.load import compilation
        b = Builder(a={"x": 1})
        b.output(b.unary("first", "stablehlo.add", b.input("a", [4])))
        real, release = compilation.jax_runtime.compile_module, threading.Event()
        def slow(*args, **kwargs):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            release.wait(60)
            return real(*args)
        compilation.jax_runtime.compile_module = slow
        start = time.monotonic()
        try:
            b.load()
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - start < 30)
        release.set()
        compilation.jax_runtime.compile_module = real
        print(b.load()(b.put(iota(4), "a"))[0])
        """
    )
    header = f"TESTS, PACKAGE = {str(ROOT / 'test/python')!r}, {str(ROOT / 'python')!r}"
    done = subprocess.run(
        [sys.executable, "-c", header + script],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted True\n[0. 2. 4. 6.]\n"


def test_interrupt_while_issuing_passes_through():
    b = Builder(a={"x": 1})
    b.output(b.unary("first", "stablehlo.add", b.input("a", [4])))
    program = b.load()
    x = b.put(iota(4), "a")
    real = program._issues[0]

    def interrupted(slots):
        real(slots)
        raise KeyboardInterrupt

    program._issues[0] = interrupted
    with pytest.raises(KeyboardInterrupt):
        program(x)
    program._issues[0] = real
    assert np.asarray(program(x)[0])[1] == 2
