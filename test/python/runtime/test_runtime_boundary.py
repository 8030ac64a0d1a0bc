"""What users can pass to a program: each misfit is an exception, none a crash."""

import threading

import jax
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from meshwright.jaxapi import runtime as jax_runtime
from support.runtime_programs import Builder, iota


@pytest.fixture(scope="module")
def program():
    """z = p * x on two devices; p is donated, then y = x + x reads x once more."""
    b = Builder(a={"x": 2})
    p = b.input("a", [4, 4], dims=[["x"], []], donated=True, name="params['w']")
    x = b.input("a", [4, 4], dims=[["x"], []])
    z = b.value("a", [4, 4], dims=[["x"], []])
    kind = b.tensor(p)
    body = f"    %r = stablehlo.multiply %arg0, %arg1 : {kind}\n    return %r : {kind}"
    b.call(b.fragment("mul", "a", body, [p, x], [z], alias={0: 0}), [p, x], [z])
    b.output(z, b.unary("double", "stablehlo.add", x))
    b.executor = b.load()
    return b


def good(b):
    return b.put(iota(4, 4), "a", "x"), b.put(iota(4, 4), "a", "x")


def test_good_arguments_pass(program):
    p, x = good(program)
    z, y = program.executor(p, x)
    np.testing.assert_array_equal(np.asarray(z), iota(4, 4) ** 2)
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4, 4))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda b, x: iota(4, 4), TypeError, "numpy.ndarray; expected a jax.Array"),
        (lambda b, x: 1.0, TypeError, "float; expected a jax.Array"),
        (
            lambda b, x: jax.random.key(0),
            TypeError,
            "take jax.random.key_data of keys",
        ),
        (
            lambda b, x: b.put(iota(2, 8), "a", "x"),
            TypeError,
            r"float32\[2, 8\]; expected float32\[4, 4\]",
        ),
        (
            lambda b, x: b.put(iota(4, 4, dtype=np.int32), "a", "x"),
            TypeError,
            r"int32\[4, 4\]; expected float32",
        ),
        (
            lambda b, x: b.put(iota(4, 4), "a", None, "x"),
            ValueError,
            "expected NamedSharding.*'x'.* on mesh 'a', devices .0, 1.; move it",
        ),
        (
            lambda b, x: jax.device_put(iota(4, 4), jax.devices()[0]),
            ValueError,
            "devices .0.; expected",
        ),
        (
            lambda b, x: jax.device_put(
                iota(4, 4),
                NamedSharding(
                    Mesh(np.array(jax.devices()[2:4]), "x"), PartitionSpec("x")
                ),
            ),
            ValueError,
            "devices .2, 3.; expected",
        ),
        (
            lambda b, x: jax.device_put(
                iota(4, 4),
                NamedSharding(
                    Mesh(np.array(jax.devices()[1::-1]), "x"), PartitionSpec("x")
                ),
            ),
            ValueError,
            "move it with jax.device_put",
        ),
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_misfits_name_the_argument(program, position, change, error, text):
    arguments = list(good(program))
    arguments[position] = change(program, arguments[position])
    name = r"argument 0 \(params\['w'\]\)" if position == 0 else "argument 1"
    with pytest.raises(error, match=rf"(?s){name} .*{text}"):
        program.executor(*arguments)
    # Nothing was issued: what is left can be passed again.
    assert not any(a.is_deleted() for a in arguments if isinstance(a, jax.Array))
    program.executor(*good(program))


def test_wrong_number_of_arguments(program):
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        program.executor(good(program)[0])


def test_deleted_array(program):
    p, x = good(program)
    x.delete()
    with pytest.raises(RuntimeError, match="argument 1 was deleted or donated"):
        program.executor(p, x)


def test_donated_array_used_again(program):
    p, x = good(program)
    program.executor(p, x)
    with pytest.raises(RuntimeError, match=r"argument 0 \(params.* was deleted"):
        program.executor(p, x)


def test_same_array_donated_and_read(program):
    p, _ = good(program)
    with pytest.raises(ValueError, match=r"argument 0.* and argument 1 share"):
        program.executor(p, p)
    assert not p.is_deleted()


@pytest.mark.parametrize("devices", [1, 2])
def test_same_array_without_elements_donated_and_read(devices):
    b = Builder(a={"x": devices})
    p, x = b.input("a", [0, 4], donated=True), b.input("a", [0, 4])
    b.output(b.unary("one", "stablehlo.add", p), b.unary("two", "stablehlo.add", x))
    program = b.load()
    array = b.put(iota(0, 4), "a")
    with pytest.raises(ValueError, match="argument 0 and argument 1 share"):
        program(array, array)
    assert not array.is_deleted()
    assert [y.shape for y in program(array, b.put(iota(0, 4), "a"))] == [(0, 4)] * 2


def test_view_of_a_donated_array(program):
    p, _ = good(program)
    shards = [shard.data for shard in p.addressable_shards]
    view = jax.make_array_from_single_device_arrays(p.shape, p.sharding, shards)
    with pytest.raises(ValueError, match="share a buffer"):
        program.executor(p, view)


def held_program(gate):
    """Gives two arrays for two donated ones, the first when the gate is open."""
    rows = [["x"], []]
    b = Builder(a={"x": 2})
    p, q = (b.input("a", [4, 4], dims=rows, donated=True) for _ in range(2))
    held = b.callback("held", p, lambda x: (gate.wait(60), x)[1])
    b.output(
        b.unary("next", "stablehlo.add", held), b.unary("other", "stablehlo.add", q)
    )
    return b, b.load()


def test_results_need_not_be_ready_to_be_donated_again():
    gate = threading.Event()
    b, program = held_program(gate)
    results = program(*good(b))
    for _ in range(2):  # Nothing opens the gate while one of these calls waits.
        results = program(*results)
    assert not results[0].is_ready()
    gate.set()
    np.testing.assert_array_equal(np.asarray(results[0]), 8 * iota(4, 4))


def test_view_of_a_result_that_is_not_ready():
    gate = threading.Event()
    b, program = held_program(gate)
    held, _ = program(*good(b))
    shards = [shard.data for shard in held.addressable_shards]
    view = jax.make_array_from_single_device_arrays(held.shape, held.sharding, shards)
    timer = threading.Timer(0.1, gate.set)
    timer.start()
    with pytest.raises(ValueError, match="argument 0 and argument 1 share a buffer"):
        program(held, view)
    timer.join()


def test_an_argument_that_is_not_ready_is_not_waited_for(program):
    gate = threading.Event()
    held, _ = held_program(gate)[1](*good(program))
    p, _ = good(program)
    z, y = program.executor(p, held)  # Nothing opens the gate while this call waits.
    assert p.is_deleted() and not (z.is_ready() or held.is_deleted())
    gate.set()
    np.testing.assert_array_equal(np.asarray(held), 2 * iota(4, 4))
    np.testing.assert_array_equal(np.asarray(z), 2 * iota(4, 4) ** 2)
    np.testing.assert_array_equal(np.asarray(y), 4 * iota(4, 4))


def test_view_of_a_donated_result_that_is_not_ready(program):
    gate = threading.Event()
    held, _ = held_program(gate)[1](*good(program))
    shards = [shard.data for shard in held.addressable_shards]
    view = jax.make_array_from_single_device_arrays(held.shape, held.sharding, shards)
    timer = threading.Timer(0.1, gate.set)
    timer.start()
    # Only what is donated is waited for; the other is read from a copy.
    z, y = program.executor(held, view)
    np.testing.assert_array_equal(np.asarray(z), 4 * iota(4, 4) ** 2)
    np.testing.assert_array_equal(np.asarray(y), 4 * iota(4, 4))
    timer.join()


def test_equivalent_shardings_pass(program):
    devices = np.array(jax.devices()[:2]).reshape(1, 2)
    other = NamedSharding(Mesh(devices, ("u", "v")), PartitionSpec(("u", "v"), None))
    p, x = (jax.device_put(iota(4, 4), other) for _ in range(2))
    np.testing.assert_array_equal(
        np.asarray(program.executor(p, x)[0]), iota(4, 4) ** 2
    )
    b = Builder(a={"x": 1})
    b.output(b.unary("double", "stablehlo.add", b.input("a", [4])))
    single = jax.device_put(iota(4), SingleDeviceSharding(jax.devices()[0]))
    np.testing.assert_array_equal(np.asarray(b.load()(single)[0]), 2 * iota(4))


def in_layout(array, *order):
    return jax.device_put(array, Format(Layout(order), array.sharding))


def test_array_in_another_layout(program):
    p, x = good(program)
    with pytest.raises(ValueError, match=r"argument 1 .* order \(1, 0\).* \(0, 1\)"):
        program.executor(p, in_layout(x, 1, 0))


def test_the_backend_says_which_layout_is_the_default(monkeypatch):
    """As on a backend that keeps matrices by columns."""
    by_columns = lambda device, dtype, shape: tuple(range(len(shape)))[::-1]  # noqa: E731
    monkeypatch.setattr(jax_runtime, "default_order", by_columns)
    b = Builder(a={"x": 2})
    x = b.input("a", [4, 4], dims=[["x"], []])
    b.program["inputs"][0]["layout"] = "default"
    b.output(b.unary("double", "stablehlo.add", x))
    b.program["outputs"][0]["layout"] = "default"
    program = b.load()
    assert program.input_formats[0].layout is None
    array = b.put(iota(4, 4), "a", "x")
    with pytest.raises(ValueError, match=r"order \(0, 1\).*expected \(1, 0\)"):
        program(array)
    (y,) = program(in_layout(array, 1, 0))
    assert y.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4, 4))


@pytest.mark.parametrize("devices", [1, 2])
def test_layouts_that_fragments_ask_for(devices):
    """`first` wants columns together, `second` reads the same input in rows."""
    b = Builder(a={"x": devices}, b={"x": devices})
    dims = [["x"], []]
    x = b.input("a", [4, 8], dims=dims)
    y = b.unary("first", "stablehlo.add", x)
    z = b.unary("second", "stablehlo.multiply", b.transfer(x, "b", dims=dims))
    b.output(y, z, b.unary("third", "stablehlo.subtract", y))
    text = b.modules["first"]
    b.modules["first"] = text.replace(
        "%arg0: tensor<4x8xf32> {",
        '%arg0: tensor<4x8xf32> {mhlo.layout_mode = "{0,1}", ',
    )
    program = b.load()
    array = b.put(iota(4, 8), "a", "x")
    with pytest.raises(ValueError, match=r"order \(0, 1\).*expected \(1, 0\)"):
        program(array)
    outputs = program(in_layout(array, 1, 0))
    np.testing.assert_array_equal(np.asarray(outputs[0]), 2 * iota(4, 8))
    np.testing.assert_array_equal(np.asarray(outputs[1]), iota(4, 8) ** 2)
    np.testing.assert_array_equal(np.asarray(outputs[2]), 0 * iota(4, 8))
