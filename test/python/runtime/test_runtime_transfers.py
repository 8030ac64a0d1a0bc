"""Transfers between meshes of all sizes and splits; none goes through the host."""

import itertools
import threading

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from meshwright.runtime.program import placement
from meshwright.runtime.program.steps import Copy, FirstShard, Launch, Put
from support.runtime_programs import Builder, iota

MESHES = [{"x": 1}, {"x": 2}, {"x": 4}, {"y": 2, "z": 2}]


def splits(axes):
    """Ways to split a matrix over these axes."""
    names = list(axes)
    ways = [[[], []], [[names[0]], []], [[], [names[0]]]]
    if len(names) > 1:
        ways += [[[names[1]], [names[0]]], [[names[1], names[0]], []]]
    return ways


CASES = [
    (i, j, before, after)
    for i, j in itertools.product(range(len(MESHES)), repeat=2)
    for before in splits(MESHES[i])
    for after in splits(MESHES[j])
]


def spec(dims):
    return PartitionSpec(*(tuple(dim) or None for dim in dims))


@pytest.mark.parametrize("source", range(len(MESHES)))
def test_moves_between_all_meshes_and_splits(source):
    for i, j, before, after in CASES:
        if i != source:
            continue
        b = Builder(a=MESHES[i], b=MESHES[j])
        x = b.input("a", [8, 8], dims=before)
        b.output(b.transfer(x, "b", dims=after))
        program = b.load()
        array = b.put(iota(8, 8), "a", *spec(before))
        (y,) = program(array)
        message = f"{MESHES[i]} {before} -> {MESHES[j]} {after}"
        np.testing.assert_array_equal(np.asarray(y), iota(8, 8), message)
        assert y.sharding == program.output_shardings[0]
        assert y.sharding.is_equivalent_to(
            jax.NamedSharding(b.meshes["b"], spec(after)), 2
        ), message
        # What each device holds, not only what the whole array looks like.
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(
                np.asarray(shard.data), iota(8, 8)[shard.index], message
            )


@pytest.mark.parametrize(
    ("source", "target"),
    [(i, j) for i in range(4) for j in range(4) if MESHES[i] != MESHES[j]],
)
def test_donated_inputs_move_to_meshes_of_other_sizes(source, target):
    """Whole on every device, so that what moves is a view of the donated array."""
    b = Builder(a=MESHES[source], b=MESHES[target])
    x = b.input("a", [8], donated=True)
    first = b.transfer(x, "b")
    # Once more, as another op's operand is still a view of the same array.
    b.output(b.unary("sum", "stablehlo.add", first), b.transfer(x, "b"))
    array = b.put(iota(8), "a")
    program = b.load()
    total, again = program(array)
    np.testing.assert_array_equal(np.asarray(total), 2 * iota(8))
    np.testing.assert_array_equal(np.asarray(again), iota(8))
    assert array.is_deleted()
    memory = program.memory_analysis()
    assert memory["a"].live_bytes == memory["a"].argument_bytes == 32


def test_donated_inputs_move_to_other_memory():
    b = Builder(a={"x": 2})
    x = b.input("a", [8], dims=[["x"]], donated=True)
    b.output(b.transfer(x, "a", dims=[["x"]], kind="pinned_host"))
    array = b.put(iota(8), "a", "x")
    (y,) = b.load()(array)
    assert array.is_deleted() and y.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(y), iota(8))


def test_meshes_of_the_same_axes_in_another_order():
    b = Builder(a={"x": 2, "y": 2}, b={"y": 2, "x": 2})
    x = b.input("a", [8, 8], dims=[["x"], ["y"]])
    b.output(*(b.transfer(x, "b", dims=dims) for dims in ([["x"], ["y"]], [["y"], []])))
    for y in b.load()(b.put(iota(8, 8), "a", "x", "y")):
        np.testing.assert_array_equal(np.asarray(y), iota(8, 8))
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(shard.data, iota(8, 8)[shard.index])


@pytest.mark.parametrize("axis", ['a"b', "a b/c", "a'b", "a\nb"])
def test_axes_of_any_name(axis):
    b = Builder(a={axis: 2, "y": 2}, b={axis: 2, "y": 2})
    x = b.input("a", [8, 8], dims=[[axis], ["y"]])
    b.output(b.transfer(x, "b", dims=[["y"], []]))
    (y,) = b.load()(b.put(iota(8, 8), "a", axis, "y"))
    np.testing.assert_array_equal(np.asarray(y), iota(8, 8))


def steps_of(i, before, j, after):
    b = Builder(a=MESHES[i], b=MESHES[j])
    x = b.input("a", [8, 8], dims=before)
    b.output(b.transfer(x, "b", dims=after))
    return [type(step) for step in b.load().steps]


def test_equal_splits_need_one_copy():
    assert steps_of(1, [["x"], []], 1, [["x"], []]) == [Copy]
    assert steps_of(0, [[], []], 0, [["x"], []]) == [Copy]
    # Axes of other names, the same parts on the same devices.
    assert steps_of(2, [["x"], []], 3, [["y", "z"], []]) == [Copy]


def test_other_splits_are_made_on_the_source():
    assert steps_of(1, [["x"], []], 1, [[], ["x"]]) == [Launch, Copy]
    assert steps_of(2, [["x"], []], 3, [["z"], ["y"]]) == [Launch, Copy]


def test_other_sizes_go_through_one_device():
    assert steps_of(0, [[], []], 2, [["x"], []]) == [Put]
    assert steps_of(2, [["x"], []], 0, [[], []]) == [Launch, FirstShard, Copy]
    assert steps_of(2, [[], []], 0, [[], []]) == [FirstShard, Copy]
    assert steps_of(1, [["x"], []], 2, [["x"], []]) == [Launch, FirstShard, Put]


def test_within_a_mesh():
    b = Builder(a={"x": 2})
    x = b.input("a", [4, 4], dims=[["x"], []])
    same = b.transfer(x, "a", dims=[["x"], []])
    other = b.transfer(x, "a", dims=[[], ["x"]])
    host = b.transfer(x, "a", dims=[[], ["x"]], kind="pinned_host")
    b.output(same, other, host)
    array = b.put(iota(4, 4), "a", "x")
    outputs = b.load()(array)
    for output in outputs:
        np.testing.assert_array_equal(np.asarray(output), iota(4, 4))
    assert outputs[0] is not array
    assert outputs[1].sharding.spec == jax.P(None, "x")
    assert outputs[2].sharding.memory_kind == "pinned_host"


def test_operand_in_another_split_is_resharded():
    b = Builder(a={"x": 2})
    x = b.input("a", [4, 4], dims=[["x"], []])
    like = b.value("a", [4, 4], dims=[[], ["x"]])
    kind = b.tensor(x)
    body = f"    %r = stablehlo.add %arg0, %arg0 : {kind}\n    return %r : {kind}"
    fragment = b.fragment("double", "a", body, [like], [like], alias={0: 0})
    y = b.value("a", [4, 4], dims=[["x"], []])
    b.call(fragment, [x], [y])
    b.output(y)
    array = b.put(iota(4, 4), "a", "x")
    (out,) = b.load()(array)
    np.testing.assert_array_equal(np.asarray(out), 2 * iota(4, 4))
    assert out.sharding.spec == jax.P("x") and not array.is_deleted()


def test_nothing_waits_for_a_device():
    """A fragment that cannot go on holds back what follows, not the caller."""
    gate, late = threading.Event(), []

    def wait(rows):
        late.append(not gate.wait(60))
        return rows

    b = Builder(a={"x": 2}, b={"x": 2}, c={"x": 4}, d={"x": 1})
    rows, columns = [["x"], []], [[], ["x"]]
    h = b.callback("held", b.input("a", [8, 8], dims=rows), wait)
    moved = [
        b.transfer(h, "b", dims=rows),
        b.transfer(h, "b", dims=columns),
        b.transfer(h, "c", dims=columns),
        b.transfer(h, "d"),
    ]
    b.output(b.unary("next", "stablehlo.add", moved[1]), *moved)
    program = b.load()
    outputs = program(b.put(iota(8, 8), "a", "x"))
    gate.set()
    for output in outputs[1:]:
        np.testing.assert_array_equal(np.asarray(output), iota(8, 8))
    np.testing.assert_array_equal(np.asarray(outputs[0]), 2 * iota(8, 8))
    assert late == [False, False]


@pytest.mark.parametrize(
    "dtype", ["i1", "ui8", "i64", "f16", "bf16", "f8E4M3FN", "complex<f32>", "i4"]
)
def test_element_types(dtype):
    numpy_type = placement.parse_dtype(dtype)
    b = Builder(a={"x": 2}, b={"x": 2})
    x = b.input("a", [4], dims=[["x"]])
    b.program["values"][x]["dtype"] = dtype
    b.output(b.transfer(x, "b", dims=[[]]))
    values = iota(4).astype(numpy_type)
    with jax.enable_x64(True):
        (y,) = b.load()(b.put(values, "a", "x"))
    assert y.dtype == numpy_type
    np.testing.assert_array_equal(np.asarray(y), values)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("i4", 4), ("ui4", 4), ("i2", 2), ("f4E2M1FN", 4), ("i1", 8), ("bf16", 16)],
)
def test_account_packs_small_elements_as_devices_do(dtype, size):
    b = Builder(a={"x": 2})
    x = b.input("a", [100], dims=[["x"]])
    b.program["values"][x]["dtype"] = dtype
    y = b.value("a", [100], dtype, dims=[["x"]])
    kind = b.tensor(x)
    body = (
        f"    %r = stablehlo.reverse %arg0, dims = [0] : {kind}\n    return %r : {kind}"
    )
    b.call(b.fragment("flip", "a", body, [x], [y]), [x], [y])
    b.output(y)
    memory = b.load().memory_analysis()["a"]
    shard = (50 * size + 7) // 8
    assert memory.argument_bytes == memory.output_bytes == shard
    assert memory.live_bytes == 2 * shard


def test_scalars_and_empty_arrays():
    b = Builder(a={"x": 2}, b={"x": 4})
    x, e = b.input("a", []), b.input("a", [0, 4], dims=[[], ["x"]])
    b.output(b.transfer(x, "b"), b.transfer(e, "b", dims=[[], ["x"]]))
    y, f = b.load()(
        b.put(np.float32(3), "a"), b.put(np.zeros((0, 4), np.float32), "a", None, "x")
    )
    assert float(y) == 3 and f.shape == (0, 4)


def test_unknown_element_type_is_an_error():
    with pytest.raises(ValueError, match="'!quant' has no NumPy type"):
        placement.parse_dtype("!quant")
