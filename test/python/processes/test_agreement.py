"""Whether processes run the same program: each part that can differ is named.

The processes are threads here, with a key-value store between them.
"""

import concurrent.futures
import copy
import json
from types import SimpleNamespace

import numpy as np
import pytest
from meshwright.runtime.processes import agreement
from meshwright.runtime.processes.members import Members
from meshwright.runtime.processes.world import ProcessError
from meshwright.runtime.program.schedule import Schedule
from support.fake_world import Store, make_world

COUNT = 3
PROGRAM = {
    "name": "step",
    "inputs": [{"value": 0, "name": "x"}],
    "outputs": [{"value": 1}],
    "values": [{"shape": [8, 4], "dtype": "f32"}],
    "items": [{"kind": "call", "fragment": 0, "location": "here:1:1"}],
}
CODE = {
    "f0": """#loc1 = loc("here.py":1:2)
#named = loc("a \\" b:"(#loc1))
module @a {
  func.func @main(%arg0: tensor<f32> loc("x"(#loc1))) {
    return loc(#named)
  } loc(unknown)
} loc(#loc1)
""",
    "f1": "module @b {}\n",
    "damaged": "module {",
}


def describe(**changes):
    program = copy.deepcopy(PROGRAM)
    given = {"code": CODE, "order": [0], "options": {"m0": {}}} | changes
    device = SimpleNamespace(process_index=0, id=given.pop("device", 0))
    given["schedule"] = Schedule(program | given.pop("program", {}))
    given["order"] = np.array(given["order"])
    given["devices"] = {"m0": [device]}
    return [agreement.describe(**given, has_locations=has) for has in (True, False)]


def agree(*parts, odd=None):
    """The error of each process; None if all is well. And the bytes that were put.

    The world of the last process has other attributes, if `odd` says so."""
    store = Store()
    worlds = [make_world(store, process, COUNT) for process in range(COUNT)]
    vars(worlds[-1]).update(odd or {})

    def run(process):
        try:
            agreement.agree(
                worlds[process], parts[process][0], lambda: parts[process][1]
            )
        except ProcessError as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(COUNT) as pool:
        return list(pool.map(run, range(COUNT))), store.bytes


def test_processes_that_agree_carry_digests_only():
    found, carried = agree(*[describe()] * COUNT)
    assert found == [None] * COUNT
    assert carried < 100


def test_locations_and_order_of_entries_do_not_count():
    moved = {
        "damaged": CODE["damaged"],
        "f1": CODE["f1"],
        "f0": CODE["f0"].replace("here", "there").replace("#loc1", "#loc17"),
    }
    assert moved["f0"] != CODE["f0"]
    items = [PROGRAM["items"][0] | {"location": "there:7:3"}]
    other = describe(code=moved, program={"items": items})
    assert agree(describe(), other, describe())[0] == [None] * COUNT


CHANGES = {
    "fragments, 'f1',": {"code": CODE | {"f1": "module @c {}\n"}},
    "fragments, 'f2',": {"code": CODE | {"f2": "module @c {}\n"}},
    "schedule is": {"program": {"items": []}},
    "order of issue": {"order": [1, 0]},
    "topology (mesh: process:device), 'm0',": {"device": 7},
    "compiler options, 'm0',": {"options": {"m0": {"xla_flag": True}}},
    "number of inputs and outputs": {"program": {"inputs": []}},
    "function is": {"program": {"name": "evaluate"}},
    "types of inputs, 'x',": {
        "program": {"values": [{"shape": [6, 4], "dtype": "f32"}]}
    },
}


@pytest.mark.parametrize("part", CHANGES)
@pytest.mark.parametrize("process", range(COUNT))
def test_what_differs_is_named_on_every_process(part, process):
    parts = [describe() for _ in range(COUNT)]
    parts[process] = describe(**CHANGES[part])
    found, _ = agree(*parts)
    # Where it is process 0 that differs, it does so from the first other one.
    other = process or 1
    assert found == [found[0]] * COUNT
    assert part in found[0]
    assert "in process 0 and " in found[0]
    assert f"in process {other}; start the same script" in found[0]


@pytest.mark.parametrize(
    "part, name, value",
    [
        ("version of jax", "jax", SimpleNamespace(__version__="0.1")),
        ("version of jaxlib", "jaxlib", SimpleNamespace(__version__="0.1")),
        ("version of meshwright", "__version__", "0.1"),
    ],
)
def test_versions_count(part, name, value, monkeypatch):
    ours = describe()
    monkeypatch.setattr(agreement, name, value)
    found, _ = agree(ours, ours, describe())
    assert (
        f'{part} is "{ours[0][part]}" in process 0 and "0.1" in process 2' in found[0]
    )


def test_flags_count(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    ours = describe()
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    found, _ = agree(ours, describe(), describe())
    assert 'XLA_FLAGS is "" in process 0 and "--xla_dump_to=x" in process 1' in found[2]


@pytest.mark.parametrize(
    "name, value", [("transport", "device_put"), ("window_bytes", 1)]
)
def test_arguments_of_initialize_count(name, value):
    found, _ = agree(*[describe()] * COUNT, odd={name: value})
    ours, other = getattr(make_world(Store(), 0, 1), name), value
    text = f"{name!r}, is {json.dumps(ours)} in process 0 and {json.dumps(other)} in"
    assert found == [found[0]] * COUNT
    assert f"arguments of mw.distributed.initialize, {text} process 2" in found[0]


def test_a_setting_of_jax_is_named_where_code_differs():
    other = describe(code=CODE | {"f1": "module @c {}\n"})
    ours, count = agreement._settings(), 2
    store = Store()
    worlds = [make_world(store, process, count) for process in range(count)]

    def run(process):
        changed = {"jax_enable_x64": True} if process else {}
        settings = {"jax_enable_x64": False} | changed
        with pytest.raises(ProcessError) as error:
            agreement.agree(
                worlds[process],
                (other if process else describe())[0],
                lambda: (other if process else describe())[1],
                ours | settings,
            )
        return str(error.value)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        found = list(pool.map(run, range(count)))
    assert found[0] == found[1]
    text = " in process 1, and jax_enable_x64 is false and true; start the same script"
    assert text in found[0]
    assert "jax_disable_jit" not in found[0]


def test_whether_processes_may_be_lost_counts():
    found, _ = agree(*[describe()] * COUNT, odd={"members": Members(COUNT, True)})
    assert found == [found[0]] * COUNT
    assert "'recoverable', is false in process 0 and true in process 2" in found[0]


def test_a_process_that_does_not_come_is_named():
    store = Store(absent=2)
    worlds = [make_world(store, process, COUNT) for process in range(2)]

    def run(world):
        with pytest.raises(ProcessError, match="process 2 did not load this program"):
            agreement.agree(world, {}, dict)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run, worlds))
