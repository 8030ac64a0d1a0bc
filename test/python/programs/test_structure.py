"""Structures of arguments as JSON, and what is refused on the way and back."""

import collections
import dataclasses
import enum
import json
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx, struct
from meshwright.programs import structure
from meshwright.tracing.static_leaves import Static

Pair = collections.namedtuple("Pair", "left right")


class Color(enum.Enum):
    RED = 1


@struct.dataclass
class State:
    weights: jax.Array
    name: str = struct.field(pytree_node=False, default="adam")


@dataclasses.dataclass(frozen=True)
class Shape:
    width: int
    kind: Color


@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, child, own):
        self.child, self.own = child, own

    def tree_flatten(self):
        return (self.child,), self.own

    @classmethod
    def tree_unflatten(cls, own, children):
        return cls(*children, own)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(4, 4, rngs=rngs)


def through_json(value, write, read):
    return read(json.loads(json.dumps(write(value))))


OWN = {
    "nothing": None,
    "numbers": (1, True, 1.5, -0.0, float("inf"), 2 + 1j),
    "texts": ["a", b"b"],
    "containers": {"a": (1, [2]), 3: frozenset({1, 2})},
    "slice": (slice(1, None, 2),),
    "type of elements": jnp.dtype("bfloat16"),
    "enumeration": Color.RED,
    "dataclass": Shape(3, Color.RED),
    "named tuple": Pair(1, Pair(2, None)),
    "function": jax.nn.relu,
    "class": State,
    "static": Static("x"),
}


@pytest.mark.parametrize("case", OWN)
def test_static_values_come_back(case):
    value = OWN[case]
    found = through_json(value, structure.value_to_json, structure.value_from_json)
    assert found == value and type(found) is type(value)
    assert repr(found) == repr(value)


TREES = {
    "leaf": 0,
    "none": None,
    "containers": {"a": (1, [None, 2]), "b": ()},
    "ordered": collections.OrderedDict(b=1, a=2),
    "default": collections.defaultdict(list, a=[1]),
    "numbers as keys": {3: 1, 1: 2},
    "named tuple": Pair(1, {"x": 2}),
    "optax": optax.chain(optax.clip(1.0), optax.adamw(1e-3)).init({"w": jnp.ones(2)}),
    "flax struct": State(1, "sgd"),
    "own class": Node(1, ("own", Shape(2, Color.RED))),
    "equinox": eqx.filter(eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0)), eqx.is_array),
    "nnx state": nnx.state(Model(nnx.Rngs(0))),
    "static": {"activation": Static(jax.nn.relu), "width": Static(3)},
}


@pytest.mark.parametrize("case", TREES)
def test_trees_come_back(case):
    tree = jax.tree.structure(TREES[case])
    found = through_json(tree, structure.tree_to_json, structure.tree_from_json)
    assert found == tree and hash(found) == hash(tree)
    leaves = list(range(tree.num_leaves))
    assert type(jax.tree.unflatten(found, leaves)) is type(TREES[case])


def make_local():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Local:
        x: int

    return Local(1)


NAMELESS = {
    "local class": make_local(),
    "local function": {"f": Static(lambda x: x)},
    "array": Node(1, np.ones(2)),
    "object": Node(1, object()),
    "bound method": Node(1, Pair(1, 2).index),
}


@pytest.mark.parametrize("case", NAMELESS)
def test_what_has_no_name_is_refused(case):
    tree = jax.tree.structure(NAMELESS[case])
    with pytest.raises(structure.StructureError, match="has no name by which another"):
        structure.tree_to_json(tree)


DAMAGED = [
    5,
    "x",
    True,
    [],
    ["builtins:dict", ["a"]],
    ["builtins:int", None, []],
    ["builtins:open", None, []],
    ["builtins:dict", ["a"], [0, 0]],
    ["builtins:dict", 3, [0]],
    ["os:system", None, [0]],
    ["nowhere:Thing", None, [0]],
    [3, None, [0]],
    [f"{__name__}:Node", {"object": "nowhere:x"}, [0]],
    [f"{__name__}:Node", {"object": 7}, [0]],
    [f"{__name__}:Node", {"enum": [f"{__name__}:Color", "BLUE"]}, [0]],
    [f"{__name__}:Node", {"enum": ["builtins:int", "x"]}, [0]],
    [f"{__name__}:Node", {"dataclass": [f"{__name__}:Shape", {"w": 1}]}, [0]],
    [f"{__name__}:Node", {"dataclass": ["builtins:int", {}]}, [0]],
    [f"{__name__}:Node", {"float": "many"}, [0]],
    [f"{__name__}:Node", {"dtype": "f99"}, [0]],
    [f"{__name__}:Node", {"what": 1}, [0]],
]


@pytest.mark.parametrize("found", DAMAGED, ids=str)
def test_damaged_structures_are_refused(found):
    with pytest.raises(structure.StructureError):
        structure.tree_from_json(found)


def test_names_import_nothing():
    assert "antigravity" not in sys.modules
    with pytest.raises(structure.StructureError, match="import 'antigravity' first"):
        structure.tree_from_json(["antigravity:Node", None, []])
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "value",
    [
        jax.ShapeDtypeStruct((2, 3), jnp.int4),
        jax.ShapeDtypeStruct((), jnp.float8_e5m2),
        jax.ShapeDtypeStruct((2,), jax.dtypes.float0),
        jax.eval_shape(lambda: jax.random.split(jax.random.key(0))),
        jax.eval_shape(lambda: jax.random.key(0, impl="rbg")),
    ],
    ids=str,
)
def test_types_come_back(value):
    aval = jax.core.ShapedArray(value.shape, value.dtype)
    found = through_json(aval, structure.aval_to_json, structure.aval_from_json)
    assert found == aval and found.dtype == aval.dtype
    weak = jax.typeof(1.0)
    found = through_json(weak, structure.aval_to_json, structure.aval_from_json)
    assert found.weak_type and found == weak


@pytest.mark.parametrize(
    "found", [[[-1], "int8", False], [["x"], "int8", 0], [[], 3, 0]]
)
def test_damaged_types_are_refused(found):
    with pytest.raises(structure.StructureError):
        structure.aval_from_json(found)
