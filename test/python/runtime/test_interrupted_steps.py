"""Ctrl-C and faults in a step that donates its state: nothing is lost unsaid."""

import contextlib
import functools
import gc
import os
import signal
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw
from meshwright import runtime

MESHES = {f"m{i}": Mesh(np.array(jax.devices()[i : i + 1]), ("x",)) for i in range(3)}
WEIGHTS = [np.eye(8, dtype=np.float32)] * 3
BATCH = np.ones((16, 8), np.float32)


def check(fail, where):
    """A callback in stage `where` that raises while `fail` is set."""

    def callback(x):
        if fail.is_set():
            raise KeyError("no more data")
        return x

    def stage(index, x):
        if index != where:
            return x
        return jax.pure_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return stage


def make_loss(stage=lambda index, x: x):
    def loss(weights, x):
        for index, w in enumerate(weights):
            x = stage(index, jnp.tanh((mw.stage_boundary(x) if index else x) @ w))
        return (x**2).mean()

    return loss


def make_step(stage=lambda index, x: x):
    def step(weights, x):
        return [w * 0.9 for w in weights], make_loss(stage)(weights, x)

    return step


plain_step = make_step()


def train_step(weights, x):
    gradients = jax.value_and_grad(make_loss())
    value, found = mw.pipeline.accumulate(gradients, microbatches=4)(weights, x)
    return [w - 0.1 * g for w, g in zip(weights, found, strict=True)], value


def compile_anew(step, donate_argnums=0):
    schedule = mw.get_pipeline_schedule("1F1B") if step is train_step else None
    config = mw.make_config(MESHES, pipeline_schedule=schedule)
    jitted = mw.jit(step, config, donate_argnums=donate_argnums)
    return jitted.lower(WEIGHTS, BATCH).compile()


# Tests disturb single calls, and what they change of a program they put back.
compile_step = functools.cache(compile_anew)


def position_of(place, compiled):
    """The position of an item among those that are issued."""
    count = len(compiled.runtime_executable()._issues)
    return {"first": 0, "second": 1, "middle": count // 2, "last": count - 1}[place]


def before_item(monkeypatch, compiled, position, act):
    """Calls `act` before an item of the next runs is issued."""
    program = compiled.runtime_executable()
    issues = list(program._issues)
    issue = issues[position]

    def issued(slots):
        act()
        issue(slots)

    issues[position] = issued
    monkeypatch.setattr(program, "_issues", issues)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(100))  # Time to notice.


@pytest.mark.parametrize("step", [plain_step, train_step], ids=["plain", "accumulate"])
@pytest.mark.parametrize("place", ["first", "second", "middle", "last"])
def test_interrupted_loop_has_a_state(monkeypatch, step, place):
    compiled = compile_step(step)
    position = position_of(place, compiled)
    weights, x = compiled.place(WEIGHTS, BATCH)
    calls = []

    def act():
        calls.append(None)
        if len(calls) == 2:
            interrupt()

    before_item(monkeypatch, compiled, position, act)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(9):
            weights, loss = compiled(weights, x)
            float(loss)
    assert len(calls) >= 2
    assert not any(w.is_deleted() for w in weights)
    weights, loss = compiled(weights, x)
    assert np.isfinite(loss)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_of_the_jitted_function(monkeypatch):
    function = mw.jit(make_step(), mw.make_config(MESHES), donate_argnums=0)
    weights, x = [jnp.asarray(w) for w in WEIGHTS], jnp.asarray(BATCH)
    weights, _ = function(weights, x)
    before_item(monkeypatch, function._last.compiled, -1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(9):
            weights, _ = function(weights, x)
    assert not any(w.is_deleted() for w in weights)


def test_users_handler_is_called_once_the_caller_has_the_state(monkeypatch):
    compiled = compile_step(plain_step)
    weights, x = compiled.place(WEIGHTS, BATCH)
    seen, called = [], threading.Event()

    def handler(number, frame):
        seen.append([w.is_deleted() for w in weights])
        called.set()

    before_item(monkeypatch, compiled, 2, interrupt)
    before = signal.signal(signal.SIGINT, handler)
    try:
        weights, _ = compiled(weights, x)
        while not called.wait(0.01):
            pass
        assert signal.getsignal(signal.SIGINT) is handler
        assert seen == [[False] * 3]
        weights, _ = compiled(weights, x)  # Delivered by the next call at the latest.
        weights, _ = compiled(weights, x)
        assert len(seen) >= 2
        while len(seen) < 3:  # The last one comes while this handler is there.
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_is_being_delivered_comes_before_the_next_step(monkeypatch):
    compiled = compile_step(plain_step)
    weights, x = compiled.place(WEIGHTS, BATCH)
    sends, send = threading.Event(), signal.pthread_kill

    def send_late(*to):
        sends.set()
        time.sleep(0.2)
        send(*to)

    monkeypatch.setattr(signal, "pthread_kill", send_late)
    with monkeypatch.context() as patch:
        before_item(patch, compiled, 2, interrupt)
        weights, _ = compiled(weights, x)
    while not sends.wait(0.01):
        pass
    with pytest.raises(KeyboardInterrupt):
        compiled(weights, x)
    assert not any(w.is_deleted() for w in weights)


class Preempted(Exception):
    pass


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGALRM"])
def test_other_signals_with_a_handler_that_raises(monkeypatch, name):
    compiled = compile_step(plain_step)
    weights, x = compiled.place(WEIGHTS, BATCH)
    number = getattr(signal, name)

    def handler(number, frame):
        raise Preempted

    def act():
        os.kill(os.getpid(), number)
        sum(range(100))

    before_item(monkeypatch, compiled, 2, act)
    before = signal.signal(number, handler)
    try:
        with pytest.raises(Preempted):
            for _ in range(9):
                weights, loss = compiled(weights, x)
                float(loss)
        assert not any(w.is_deleted() for w in weights)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def test_interrupt_while_the_result_is_dropped_is_raised_at_once(monkeypatch):
    compiled = compile_step(plain_step)
    before_item(monkeypatch, compiled, 1, interrupt)
    weights, x = compiled.place(WEIGHTS, BATCH)
    with pytest.raises(KeyboardInterrupt):
        compiled(weights, x)


def test_ignored_interrupts_stay_ignored(monkeypatch):
    compiled = compile_step(plain_step)
    before_item(monkeypatch, compiled, 1, interrupt)
    weights, x = compiled.place(WEIGHTS, BATCH)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        weights, _ = compiled(weights, x)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_step_of_another_thread_leaves_the_handler_alone(monkeypatch):
    compiled = compile_step(plain_step)
    found = []
    before_item(
        monkeypatch, compiled, 1, lambda: found.append(signal.getsignal(signal.SIGINT))
    )
    weights, x = compiled.place(WEIGHTS, BATCH)
    thread = threading.Thread(target=compiled, args=(weights, x))
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_a_step_that_donates_nothing_is_interrupted_at_once(monkeypatch):
    compiled = compile_step(plain_step, donate_argnums=())
    before_item(monkeypatch, compiled, 1, interrupt)
    weights, x = compiled.place(WEIGHTS, BATCH)
    with pytest.raises(KeyboardInterrupt):
        weights, _ = compiled(weights, x)


def test_interrupted_step_within_a_callback_of_another(monkeypatch):
    """The end of the inner step is not that of the outer one."""
    inner, outer = compile_step(plain_step), compile_step(train_step)
    x = inner.place(WEIGHTS, BATCH)[1]

    def run_inner():
        state, _ = inner(inner.place(WEIGHTS), x)
        interrupt()
        del state

    before_item(monkeypatch, outer, 1, run_inner)
    weights = outer.place(WEIGHTS)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(9):
            weights, _ = outer(weights, x)
    assert not any(w.is_deleted() for w in weights)


def raise_fault():
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")


@pytest.mark.parametrize("step", [plain_step, train_step], ids=["plain", "accumulate"])
@pytest.mark.parametrize("place", ["first", "second", "middle", "last"])
def test_fault_says_which_arguments_are_gone(monkeypatch, step, place):
    # One of the faults is in the first call of a program.
    compiled = compile_anew(step) if place == "first" else compile_step(step)
    position = position_of(place, compiled)
    weights, x = compiled.place(WEIGHTS, BATCH)
    with monkeypatch.context() as patch:
        before_item(patch, compiled, position, raise_fault)
        with pytest.raises(runtime.FragmentError, match="Out of memory") as caught:
            compiled(weights, x)
    text = str(caught.value)
    gone = [i for i, w in enumerate(weights) if w.is_deleted()]
    assert [i for i in range(3) if f"args[0][{i}]" in text] == gone
    if place == "first":
        assert not gone
    if place == "last":
        assert gone
    if not gone:
        compiled(weights, x)
        return
    assert "checkpoint" in text
    with pytest.raises(RuntimeError, match="call that failed") as again:
        compiled(weights, x)
    assert f"args[0][{gone[0]}]" in str(again.value)
    assert "Out of memory" in str(again.value)
    assert "use that call's result" not in str(again.value)
    # Also for another program: what is there still goes in.
    with pytest.raises(RuntimeError, match="call that failed"):
        compile_step(plain_step if step is train_step else train_step)(weights, x)
    restored = [
        compiled.place(WEIGHTS)[i] if i in gone else weights[i] for i in range(3)
    ]
    compiled(restored, x)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_fault_of_a_callback_says_which_arguments_are_gone(where, capfd):
    fail = threading.Event()
    compiled = compile_anew(make_step(check(fail, where)))
    weights, x = compiled.place(WEIGHTS, BATCH)
    weights, loss = compiled(weights, x)
    float(loss)
    fail.set()
    with pytest.raises(jax.errors.JaxRuntimeError, match="no more data"):
        new, loss = compiled(weights, x)
        float(loss)
    gone = [i for i, w in enumerate(weights) if w.is_deleted()]
    if gone:
        with pytest.raises(RuntimeError, match="a call that failed") as again:
            compiled(weights, x)
        assert f"args[0][{gone[0]}]" in str(again.value)
        assert "no more data" in str(again.value)
    fail.clear()
    jax.block_until_ready(compiled(compiled.place(WEIGHTS), x))
    capfd.readouterr()  # JAX logs the traceback of a failing callback.


def test_placed_copies_are_not_what_the_caller_lost(monkeypatch):
    """The jitted function places what is nowhere; the caller's array is still there."""
    function = mw.jit(make_step(), mw.make_config(MESHES), donate_argnums=0)
    function(WEIGHTS, BATCH)
    before_item(monkeypatch, function._last.compiled, -1, raise_fault)
    with pytest.raises(runtime.FragmentError, match="Out of memory") as caught:
        function(WEIGHTS, BATCH)
    assert "args" not in str(caught.value)


def live_bytes():
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


@pytest.mark.parametrize("donate", [(), 0], ids=["kept", "donated"])
@pytest.mark.parametrize("position", [1, 10, -1])
@pytest.mark.parametrize("profiled", [False, True], ids=["plain", "profiled"])
def test_failed_run_keeps_nothing(monkeypatch, donate, position, profiled):
    compiled = compile_step(train_step, donate_argnums=donate)
    weights, x = compiled.place(WEIGHTS, BATCH)
    before = live_bytes()
    before_item(monkeypatch, compiled, position, raise_fault)
    kept = None
    try:
        if profiled:
            with mw.profile():
                compiled(weights, x)
        else:
            compiled(weights, x)
    except runtime.FragmentError as error:
        kept = error  # As a notebook does.
    assert live_bytes() <= before
    assert kept.__cause__ is not None


def test_failed_run_lets_go_of_what_the_caller_drops(monkeypatch):
    """Also of arguments, and in a first call: the batch that was too large."""
    compiled = compile_anew(train_step, donate_argnums=())
    weights, x = compiled.place(WEIGHTS, BATCH)
    before = live_bytes() - x.nbytes
    before_item(monkeypatch, compiled, 5, raise_fault)
    with contextlib.suppress(runtime.FragmentError):
        compiled(weights, x)
    assert sys.exc_info()[1] is None
    del x
    assert live_bytes() <= before


def test_errors_that_were_being_handled_keep_their_frames(monkeypatch):
    compiled = compile_step(plain_step, donate_argnums=())
    weights, x = compiled.place(WEIGHTS, BATCH)
    before_item(monkeypatch, compiled, 1, raise_fault)

    def user():
        local = "here"
        raise ValueError(local)

    try:
        user()
    except ValueError as error:
        with pytest.raises(runtime.FragmentError):
            compiled(weights, x)
        assert error.__traceback__.tb_next.tb_frame.f_locals == {"local": "here"}


@pytest.mark.usefixtures("x32")
def test_nan_check_says_which_arguments_are_gone():
    compiled = compile_anew(plain_step)
    weights, x = compiled.place(WEIGHTS, BATCH * np.nan)
    jax.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError, match=r"args\[0\]\[0\]"):
            compiled(weights, x)
    finally:
        jax.config.update("jax_debug_nans", False)
    with pytest.raises(RuntimeError, match=r"failed(.|\n)*invalid value"):
        compiled(weights, x)
