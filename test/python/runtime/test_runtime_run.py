"""Programs run by the runtime: numbers, order, donation, memory."""

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from meshwright.runtime import ProgramError, read_folder
from meshwright.runtime.load import compilation
from meshwright.runtime.program import placement
from meshwright.runtime.program.module_names import joint_name
from meshwright.runtime.program.order import issue_order
from meshwright.runtime.program.schedule import Schedule
from meshwright.runtime.program.steps import Launch
from support.runtime_programs import Builder, iota


def two_stages(**marks):
    """y = (x + x) on a, then y * y on b."""
    b = Builder(a={"x": 1}, b={"x": 1})
    x = b.input("a", [4], donated=bool(marks))
    h = b.unary("first", "stablehlo.add", x, **marks)
    b.output(b.unary("second", "stablehlo.multiply", b.transfer(h, "b")))
    return b


def test_runs_fragments_on_two_meshes():
    b = two_stages()
    program = b.load()
    x = b.put(iota(4), "a")
    (y,) = program(x)
    np.testing.assert_array_equal(np.asarray(y), (2 * iota(4)) ** 2)
    assert isinstance(y.sharding, NamedSharding) and y.sharding.mesh == b.meshes["b"]
    assert y.committed and not x.is_deleted()
    assert program.output_shardings == [y.sharding]
    assert float(jax.numpy.sum(y)) == float(((2 * iota(4)) ** 2).sum())


def test_runs_twice_with_its_own_results():
    b = Builder(a={"x": 2})
    x = b.input("a", [4], dims=[["x"]], donated=True)
    b.output(b.unary("double", "stablehlo.add", x, alias={0: 0}))
    program = b.load()
    (y,) = program(b.put(iota(4), "a", "x"))
    (z,) = program(y)
    assert y.is_deleted()
    np.testing.assert_array_equal(np.asarray(z), 4 * iota(4))


def test_shards_inside_a_mesh():
    b = Builder(a={"x": 2, "y": 2}, b={"x": 2, "y": 2})
    x = b.input("a", [4, 8], dims=[["x"], ["y"]])
    h = b.unary("first", "stablehlo.add", x)
    moved = b.transfer(h, "b", dims=[["x"], ["y"]])
    b.output(b.unary("second", "stablehlo.multiply", moved))
    program = b.load()
    (y,) = program(b.put(iota(4, 8), "a", "x", "y"))
    np.testing.assert_array_equal(np.asarray(y), (2 * iota(4, 8)) ** 2)
    assert y.sharding.spec == jax.P("x", "y")
    assert y.addressable_shards[1].data.shape == (2, 4)


def test_part_of_an_axis_splits_through_a_refined_mesh():
    half = {"axis": "x", "pre": 2, "size": 2}
    b = Builder(a={"x": 4})
    x = b.input("a", [8], dims=[[half]])
    b.output(b.unary("double", "stablehlo.add", x))
    program = b.load()
    (sharding,) = program.input_shardings
    assert sharding.shard_shape((8,)) == (4,)
    (y,) = program(jax.device_put(iota(8), sharding))
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(8))
    first = [shard.data[0].item() for shard in y.addressable_shards]
    assert first == [0, 8, 0, 8]


def test_split_that_does_not_divide_keeps_whole_shards():
    b = Builder(a={"x": 4})
    x = b.input("a", [6])
    y = b.value("a", [6], dims=[["x"]])
    b.output(b.unary("double", "stablehlo.add", x, y))
    program = b.load()
    (out,) = program(b.put(iota(6), "a"))
    assert out.addressable_shards[0].data.shape == (3,)
    np.testing.assert_array_equal(np.asarray(out), 2 * iota(6))


def test_unreduced_value_is_summed_when_it_moves():
    b = Builder(a={"x": 4}, b={"x": 4})
    x = b.input("a", [2, 4], dims=[[], ["x"]])
    y = b.input("a", [4, 2], dims=[["x"], []])
    z = b.value("a", [2, 2], unreduced=["x"])
    body = (
        "    %r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]"
        " : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>\n"
        "    %s = sdy.sharding_constraint %r <@mesh, [{}, {}], "
        'unreduced={"x"}> : tensor<2x2xf32>\n'
        "    return %s : tensor<2x2xf32>"
    )
    b.call(b.fragment("dot", "a", body, [x, y], [z]), [x, y], [z])
    b.output(b.transfer(z, "b"))
    (out,) = b.load()(
        b.put(iota(2, 4), "a", None, "x"), b.put(iota(4, 2), "a", "x", None)
    )
    np.testing.assert_array_equal(np.asarray(out), iota(2, 4) @ iota(4, 2))


@pytest.mark.parametrize("devices", [1, 2])
def test_fragments_without_arguments_or_results(devices):
    b = Builder(a={"x": devices})
    x = b.input("a", [4])
    kind = b.tensor(x)
    b.call(b.fragment("sink", "a", "    return", [x], []), [x], [])
    y = b.value("a", [4], dims=[["x"]])
    body = f"    %c = stablehlo.constant dense<3.0> : {kind}\n    return %c : {kind}"
    b.call(b.fragment("source", "a", body, [], [y]), [], [y])
    b.output(y)
    (out,) = b.load()(b.put(iota(4), "a"))
    np.testing.assert_array_equal(np.asarray(out), [3, 3, 3, 3])


def test_explicit_device_order_holds():
    b = Builder(a={"x": 4})
    b.program["meshes"][0]["device_ids"] = [3, 2, 1, 0]
    x = b.input("a", [4], dims=[["x"]])
    b.output(b.unary("double", "stablehlo.add", x))
    text = b.modules["double"]
    b.modules["double"] = text.replace("]>\n", "], device_ids=[3, 2, 1, 0]>\n", 1)
    program = b.load()
    (y,) = program(jax.device_put(iota(4), program.input_shardings[0]))
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4))
    last = next(s for s in y.addressable_shards if s.device == jax.devices()[3])
    assert last.data.item() == 0


def test_memory_kinds_are_kept():
    b = Builder(a={"x": 1}, b={"x": 1})
    x = b.input("a", [4], kind="pinned_host")
    near = b.transfer(x, "a")
    h = b.unary("double", "stablehlo.add", near)
    b.output(b.transfer(h, "b", kind="pinned_host"))
    program = b.load()
    (y,) = program(b.put(iota(4), "a", memory_kind="pinned_host"))
    assert y.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4))
    with pytest.raises(ValueError, match="pinned_host"):
        program(b.put(iota(4), "a"))


def test_equal_fragments_are_compiled_once(monkeypatch):
    b = Builder(a={"x": 2}, b={"x": 2}, c={"x": 2})
    # Of a shape that no other test has, whose executables may still be alive.
    value = b.input("a", [22], dims=[["x"]])
    for mesh, name in (("a", "p0"), ("b", "p1"), ("c", "p2")):
        if mesh != "a":
            value = b.transfer(value, mesh, dims=[["x"]])
        value = b.unary(name, "stablehlo.add", value)
    b.output(value)
    program = b.load()
    assert [f.compiled_for_others for f in program.fragments] == [False, True, True]
    (y,) = program(b.put(iota(22), "a", "x"))
    np.testing.assert_array_equal(np.asarray(y), 8 * iota(22))

    def names(program):
        return [text.split()[1].rstrip(",") for text in program.hlo_texts().values()]

    assert names(program) == ["p0to2"] * 3
    monkeypatch.setenv("MESHWRIGHT_KEEP_NAMES", "1")
    own = b.load()
    assert [f.compiled_for_others for f in own.fragments] == [False] * 3
    assert names(own) == ["p0", "p1", "p2"]


JOINT = {
    "p0_a_fwd.f": ["p0_a_fwd.f"],
    "p0_a_calls0to7.f": ["p0_a_calls0to7.f"] * 2,
    "p1to3_s1to3_fwd_calls0to7.f": [f"p{i}_s{i}_fwd_calls0to7.f" for i in (1, 2, 3)],
    "p0and4_b3and1.f": ["p0_b3.f", "p4_b1.f"],
    "p0and2and4and6andmore.f": [f"p{2 * i}.f" for i in range(6)],
    "p0_enc.f_and_1_more": ["p0_enc.f", "p1_dec.f"],
    "p0_a.f_and_2_more": ["p0_a.f", "p1_a1.f", "p2_a.f"],
}


@pytest.mark.parametrize("joint", JOINT)
def test_executables_of_several_fragments_say_so(joint):
    assert joint_name(JOINT[joint]) == joint


def test_second_load_compiles_nothing(monkeypatch):
    b = two_stages()
    first = b.load()
    monkeypatch.setattr(compilation, "_compile", None)
    second = b.load()
    x = b.put(iota(4), "a")
    np.testing.assert_array_equal(np.asarray(first(x)[0]), np.asarray(second(x)[0]))


def test_what_was_compiled_with_other_settings_is_not_taken():
    b = two_stages()
    programs = [b.load()]
    name = "jax_disable_most_optimizations"
    before = jax.config.values[name]
    jax.config.update(name, not before)
    try:
        programs.append(b.load())
    finally:
        jax.config.update(name, before)
    programs.append(b.load())
    first, other, second = (program._loaded for program in programs)
    assert first == second
    assert not set(first) & set(other)


def test_compile_options_reach_xla():
    b = two_stages()
    b.load(compile_options={"xla_backend_optimization_level": 0})
    with pytest.raises(Exception, match="no_such_option"):
        b.load(compile_options={"no_such_option": 1})
    with pytest.raises(ValueError, match="unknown 'c'"):
        b.load(compile_options={"c": {}})
    with pytest.raises(ValueError, match="mix"):
        b.load(compile_options={"a": {}, "xla_backend_optimization_level": 0})


def test_donated_input_takes_over_the_buffer():
    b = two_stages(alias={0: 0})
    x = b.put(iota(4), "a")
    b.load()(x)
    assert x.is_deleted()


def test_donated_input_without_alias_is_deleted():
    b = Builder(a={"x": 1})
    x = b.input("a", [4], donated=True)
    unread = b.input("a", [2], donated=True)
    b.output(b.unary("double", "stablehlo.add", x))
    arrays = b.put(iota(4), "a"), b.put(iota(2), "a")
    (y,) = b.load()(*arrays)
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4))
    assert arrays[0].is_deleted() and arrays[1].is_deleted() and unread


def test_input_that_is_not_donated_survives_a_donating_fragment():
    b = Builder(a={"x": 1})
    x = b.input("a", [4])
    b.output(b.unary("double", "stablehlo.add", x, alias={0: 0}))
    array = b.put(iota(4), "a")
    (y,) = b.load()(array)
    np.testing.assert_array_equal(np.asarray(array), iota(4))
    np.testing.assert_array_equal(np.asarray(y), 2 * iota(4))


def test_value_read_later_survives_a_donating_fragment():
    b = Builder(a={"x": 2})
    x = b.input("a", [4], dims=[["x"]], donated=True)
    y = b.unary("double", "stablehlo.add", x, alias={0: 0})
    b.output(y, b.unary("square", "stablehlo.multiply", x))
    outputs = b.load()(b.put(iota(4), "a", "x"))
    np.testing.assert_array_equal(np.asarray(outputs[0]), 2 * iota(4))
    np.testing.assert_array_equal(np.asarray(outputs[1]), iota(4) ** 2)


def test_value_passed_twice_survives_a_donating_fragment():
    b = Builder(a={"x": 2})
    x = b.input("a", [4], dims=[["x"]], donated=True)
    y = b.value("a", [4], dims=[["x"]])
    kind = "tensor<4xf32>"
    body = f"    %r = stablehlo.add %arg0, %arg1 : {kind}\n    return %r : {kind}"
    b.call(b.fragment("add", "a", body, [x, x], [y], alias={0: 0}), [x, x], [y])
    b.output(y)
    (out,) = b.load()(b.put(iota(4), "a", "x"))
    np.testing.assert_array_equal(np.asarray(out), 2 * iota(4))


def test_inputs_come_back_as_results():
    b = Builder(a={"x": 2})
    kept = b.input("a", [4], dims=[["x"]])
    given = b.input("a", [4], dims=[["x"]], donated=True)
    b.output(kept, given, given)
    program = b.load()
    arrays = b.put(iota(4), "a", "x"), b.put(iota(4), "a", "x")
    outputs = program(*arrays)
    assert outputs[0] is arrays[0] and not arrays[0].is_deleted()
    assert arrays[1].is_deleted()
    assert outputs[1] is not outputs[2]
    for output in outputs:
        np.testing.assert_array_equal(np.asarray(output), iota(4))
    again = program(outputs[0], outputs[1])
    np.testing.assert_array_equal(np.asarray(again[1]), iota(4))


def live_bytes(meshes):
    """Bytes of live arrays on the first device of each mesh, each buffer once."""
    owner = {mesh.devices.flat[0]: name for name, mesh in meshes.items()}
    found, seen = dict.fromkeys(meshes, 0), set()
    for array in jax.live_arrays():
        for position in range(len(array.sharding.addressable_devices)):
            shard = array.addressable_data(position)
            (device,) = shard.devices()
            key = device, shard.unsafe_buffer_pointer()
            if device in owner and key not in seen:
                seen.add(key)
                found[owner[device]] += shard.nbytes
    return found


@pytest.mark.parametrize("devices", [1, 2])
def test_account_equals_live_arrays_after_every_step(devices):
    split = [["x"]]
    b = Builder(a={"x": devices}, b={"x": devices})
    x = b.input("a", [256], dims=split, donated=True)
    y = b.unary("p0", "stablehlo.add", x)
    z = b.unary("p1", "stablehlo.multiply", y, alias={0: 0})
    moved = b.transfer(y, "b", dims=[[]])
    unused = b.unary("p2", "stablehlo.subtract", moved)
    out = b.unary("p3", "stablehlo.multiply", moved)
    b.output(z, out)
    program = b.load()
    assert unused and len(program.account.history) == len(program.steps)

    before = live_bytes(b.meshes)
    slots = [b.put(iota(256), "a", "x"), *program._blank]
    for issue, expected in zip(program._issues, program.account.history, strict=True):
        issue(slots)
        now = live_bytes(b.meshes)
        found = {name: now[name] - before[name] for name in now}
        assert {k: v for k, v in found.items() if v} == expected


def test_peak_counts_a_reused_buffer_once():
    b = Builder(a={"x": 1})
    x = b.input("a", [256], donated=True)
    for step in range(4):
        x = b.unary(f"p{step}", "stablehlo.add", x, alias={0: 0})
    b.output(x)
    program = b.load()
    memory = program.memory_analysis()["a"]
    assert memory.live_bytes == memory.argument_bytes == memory.output_bytes == 1024
    assert program.peak_memory_bytes >= 1024


def test_cost_analysis_sums_over_calls():
    b = Builder(a={"x": 1}, b={"x": 2})
    x = b.input("a", [64])
    h = b.unary("p0", "stablehlo.add", b.unary("p1", "stablehlo.add", x))
    b.output(b.unary("p2", "stablehlo.multiply", b.transfer(h, "b")))
    cost = b.load().cost_analysis()
    assert cost["a"]["flops"] == 128 and cost["b"]["flops"] == 128


def chains(length):
    """A chain of fragments per mesh, one mesh after the other; then they meet."""
    b = Builder(a={"x": 1}, b={"x": 1})
    ends = []
    for mesh in "ab":
        x = b.input(mesh, [4])
        kind = "tensor<4xf32>"
        body = f"    %r = stablehlo.negate %arg0 : {kind}\n    return %r : {kind}"
        fragment = b.fragment(f"p_{mesh}", mesh, body, [x], [x], flops=100)
        for _ in range(length):
            y = b.value(mesh, [4])
            b.call(fragment, [x], [y])
            x = y
        ends.append(x)
    b.output(b.transfer(ends[0], "b"), ends[1])
    return b


def stages_of_two_meshes(microbatches):
    """Forwards of a pipeline: a sends what b takes, and runs ahead."""
    b = Builder(a={"x": 1}, b={"x": 1})
    kind = "tensor<4xf32>"
    body = f"    %r = stablehlo.negate %arg0 : {kind}\n    return %r : {kind}"
    x, late = b.input("a", [4]), b.input("a", [4])
    made = b.value("a", [4])
    first = b.fragment("p_a", "a", body, [x], [made], flops=100)
    there = b.transfer(late, "b")
    second = b.fragment("p_b", "b", body, [there], [there], flops=300)
    for _ in range(microbatches):
        made = b.value("a", [4])
        b.call(first, [x], [made])
        result = b.value("b", [4])
        b.call(second, [b.transfer(made, "b")], [result])
        b.output(result)
    b.output(there)
    # While b is busy, a goes on: its next call comes first.
    order = b.program["issue_order"]
    for late in range(6, len(order) - 1, 3):
        order[late : late + 2] = order[late + 1], order[late]
    return b


def test_transfers_to_gpus_follow_what_they_send(monkeypatch):
    b = stages_of_two_meshes(4)
    items = b.program["items"]
    makers = {
        items[i]["results"][0]: i for i in range(len(items)) if "results" in items[i]
    }
    sends = [i for i, item in enumerate(items) if item.get("operand") in makers]

    def waits(order):
        """How many items are between what is sent and its transfer."""
        place = {index: position for position, index in enumerate(order)}
        return [place[i] - place[makers[items[i]["operand"]]] - 1 for i in sends]

    usual = issue_order(Schedule(b.program)).tolist()
    assert issue_order(Schedule(b.program), at_once=["a"]).tolist() == usual
    order = issue_order(Schedule(b.program), at_once=["b"]).tolist()
    assert sorted(order) == list(range(len(items)))
    assert waits(order) == [0] * 4 and max(waits(usual)) > 0
    # The transfer of an argument keeps its place.
    (argument,) = (
        i for i in range(len(items)) if "operand" in items[i] and i not in sends
    )
    assert order.index(argument) == usual.index(argument) == 0
    calls = [i for i in order if items[i]["kind"] == "call"]
    for mesh in "ab":
        mine = [i for i in calls if items[i]["mesh"] == mesh]
        assert mine == sorted(mine)

    # A planner that knows of GPUs takes that order; its memory account follows.
    def load(gpus):
        monkeypatch.setattr(placement, "_GPUS", gpus)
        return b.load()

    arguments = b.put(iota(4), "a"), b.put(iota(4), "a")
    ours, theirs = load(("cpu",)), load(("gpu",))
    assert [step.item for step in ours.steps] == order
    assert [step.item for step in theirs.steps] == usual
    for one, other in zip(ours(*arguments), theirs(*arguments), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_few_threads_compile_for_a_gpu(monkeypatch):
    b = Builder(a={"x": 1}, b={"x": 1})
    for mesh in "ab":
        x = b.input(mesh, [4])
        for op in ("add", "multiply", "maximum", "minimum"):
            x = b.unary(f"p_{mesh}_{op}", f"stablehlo.{op}", x)
        b.output(x)
    found = []
    count = compilation._count_threads
    monkeypatch.setattr(
        compilation, "_count_threads", lambda s: found.append(count(s)) or found[-1]
    )
    monkeypatch.setattr(compilation.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(compilation, "_loaded", {})
    b.load()
    monkeypatch.setattr(compilation, "_loaded", {})
    monkeypatch.setattr(placement, "_GPUS", ("cpu",))
    program = b.load()
    # Of both meshes, which have the same code, the first one's GPUs compile it.
    assert found == [{"": 4}, {"a": 2}]
    for result in program(b.put(iota(4), "a"), b.put(iota(4), "b")):
        np.testing.assert_array_equal(np.asarray(result), (2 * iota(4)) ** 2)


def test_more_launches_than_a_device_queues():
    b = chains(101)
    outputs = b.load()(b.put(iota(4), "a"), b.put(iota(4), "b"))
    for output in outputs:
        np.testing.assert_array_equal(np.asarray(output), -iota(4))


def test_wait_returns_when_all_is_done():
    b = two_stages()
    program = b.load()
    (y,) = program(b.put(iota(4), "a"))
    program.wait()
    assert sum(isinstance(step, Launch) for step in program.steps) == 2
    assert np.asarray(y)[1] == 4


def test_misfits_are_found_at_load():
    b = two_stages()
    b.program["items"][0]["operands"] = [2]
    with pytest.raises(ProgramError, match="before it is computed"):
        b.load()
    b = two_stages()
    b.program["values"][0]["shape"] = [8]
    with pytest.raises(ProgramError, match="tensor<8xf32> in the program"):
        b.load()
    b = two_stages()
    del b.modules["second"]
    with pytest.raises(ProgramError, match='"second" has no module'):
        b.load()
    b = two_stages()
    b.modules["second"] = "module {"
    with pytest.raises(ProgramError, match='"second" does not parse'):
        b.load()
    b = two_stages()
    del b.meshes["b"]
    with pytest.raises(ProgramError, match="mesh 'b', which was not given"):
        b.load()
    b = two_stages()
    b.meshes["b"] = jax.devices()[:1]
    with pytest.raises(TypeError, match="mesh 'b' is .* expected a jax.sharding.Mesh"):
        b.load()
    b = two_stages()
    b.program["meshes"][0]["axes"] = [["x", 2]]
    with pytest.raises(ProgramError, match="partitioned for"):
        b.load()


GARBAGE = {
    ("meshes",): (None, "expected a list"),
    ("meshes", 0): ("a", "expected an object"),
    ("meshes", 0, "axes", 0): (["x"], "expected a list of 2"),
    ("values", 0, "mesh"): ("c", "one of the meshes 'a', 'b'"),
    ("values", 0, "sharding"): ({}, "has no 'dims'"),
    ("values", 1, "shape", 0): (-1, "a number of 0 or more"),
    ("inputs", 0, "value"): (99, "the position of one of 4 values"),
    ("outputs", 0, "value"): (True, "the position of one of 4 values"),
    ("fragments", 0, "flops"): (float("inf"), "a number of 0 or more"),
    ("fragments", 1, "arguments", 0, "donated"): (0, "true or false"),
    ("items", 0, "fragment"): (-1, "the position of one of 2 fragments"),
    ("items", 1, "kind"): ("send", "'call' or 'transfer'"),
    ("items", 1, "result"): (0, "value 0 of schedule.json is computed twice"),
    ("items", 1, "operand"): ([], "the position of one of 4 values"),
    ("inputs", 0, "layout"): ("{0,1}", "no layout of 1 dimension"),
    ("version",): (2, "expected 1"),
    ("issue_order", 0): (9, "the position of one of 3 items"),
    ("issue_order", 1): (0, "does not have each of the 3 items once"),
}


@pytest.mark.parametrize("place", GARBAGE)
def test_what_is_no_program_is_found_at_load(place):
    b = two_stages()
    entry, (wrong, text) = b.program, GARBAGE[place]
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = wrong
    with pytest.raises(ProgramError, match=text):
        b.load()


def test_a_program_without_an_order_of_issue_is_partitioned_again():
    """As earlier releases have written it."""
    b = two_stages()
    del b.program["issue_order"]
    with pytest.raises(ProgramError, match="no 'issue_order'; partition again"):
        b.load()


def test_an_order_against_the_data_flow_is_found_at_load():
    b = two_stages()
    b.program["issue_order"].reverse()
    with pytest.raises(ProgramError, match="before it is computed"):
        b.load()


def test_parts_of_axes_are_parts():
    b = Builder(a={"x": 4})
    x = b.input("a", [12], dims=[[{"axis": "x", "pre": 1, "size": 3}]])
    b.output(x)
    with pytest.raises(ProgramError, match="no part of axis 'x'"):
        b.load()


def test_donation_that_the_program_does_not_know_of_is_found_at_load():
    b = two_stages(alias={0: 0})
    b.program["fragments"][0]["arguments"][0]["donated"] = False
    with pytest.raises(ProgramError, match='"first" donates argument 0 in its module'):
        b.load()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", r"schedule.json is \[\]; expected an object"),
        ('{"meshes": []}', "has no 'fragments'"),
        (
            '{"fragments": [{"name": 3}]}',
            r"fragments\[0\].name .* is 3; expected a str",
        ),
        ('{"fragments": [{"name": "\\ud800"}]}', "cannot be read"),
        ("[" * 100_000, "recursion"),
        ('{"fragments": [', "holds no partitioned program"),
    ],
)
def test_folder_of_garbage_is_an_error(tmp_path, text, error):
    (tmp_path / "schedule.json").write_text(text)
    with pytest.raises(ProgramError, match=error):
        read_folder(tmp_path)


def test_module_that_is_no_text_is_an_error(tmp_path):
    (tmp_path / "schedule.json").write_text('{"fragments": [{"name": "f"}]}')
    (tmp_path / "fragments").mkdir()
    (tmp_path / "fragments" / "f.mlir").write_bytes(b"ML\xefR")
    with pytest.raises(ProgramError, match="'f' cannot be read: 'utf-8' codec"):
        read_folder(tmp_path)


def test_folder_without_a_program_is_an_error(tmp_path):
    with pytest.raises(ProgramError, match="holds no partitioned program"):
        read_folder(tmp_path)
    fragments = '{"fragments": [{"name": "p0_a:b.main"}]}'
    (tmp_path / "schedule.json").write_text(fragments)
    with pytest.raises(ProgramError, match="'p0_a:b.main' cannot be read"):
        read_folder(tmp_path)
    (tmp_path / "fragments").mkdir()
    (tmp_path / "fragments" / "p0_a_b.main.mlir").write_text("module {}")
    assert read_folder(tmp_path)[1] == {"p0_a:b.main": "module {}"}
