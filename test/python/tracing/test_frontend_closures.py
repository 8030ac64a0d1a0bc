"""What a function closes over is read when it is called, as in plain JAX."""

import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import random
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = jnp.arange(1.0, 4.0)
CONFIG = mw.make_config({"m": Mesh(jax.devices()[:1], "x")}, {"f": "m"})
SCALE = 1.0
SETTINGS = types.ModuleType("settings")
TABLE = {"scale": 1.0}


class Scaled:
    """A callable with a method, a class attribute and an own one."""

    factor = 1.0

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale * self.factor

    def method(self, x):
        return x * self.scale + self.factor


@dataclasses.dataclass
class Options:
    scale: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float
    table: dict = dataclasses.field(default_factory=dict, compare=False)


class Pair(collections.namedtuple("Pair", ["a", "b"])):
    bias = 0.0

    def total(self):
        return self.a + self.b + self.bias


class Mode(enum.Enum):
    HALF = 0.5
    DOUBLE = 2.0


@jax.tree_util.register_pytree_node_class
class Node:
    """A pytree whose code reads a global and whose structure holds a list."""

    def __init__(self, value, scales):
        self.value, self.scales = value, scales

    def tree_flatten(self):
        return (self.value,), self.scales

    @classmethod
    def tree_unflatten(cls, scales, children):
        return cls(*children, scales)

    def __call__(self, x):
        return x * self.value * SCALE * self.scales.factor


def reads_global(x):
    return x * SCALE


def reads_through_another(x):
    return reads_global(x) + 1


def set_global(value):
    global SCALE
    SCALE = value


def iterators(x, mark):
    it = iter([1.0, 2.0, 3.0])
    return [mark(lambda x: x * next(it), i)(x) for i in range(3)]


def generators(x, mark):
    scales = (float(i) for i in itertools.count(2))
    return [mark(lambda x: x * next(scales), i)(x) for i in range(3)]


def counters(x, mark):
    count = itertools.count()
    return [mark(lambda x: x * next(count), i)(x) for i in range(3)]


def dicts(x, mark):
    state, out = {"s": 0.0}, []
    for i in range(3):
        state["s"] = float(i)
        out.append(mark(lambda x: x * state["s"], i)(x))
    return out


def dicts_of_lists(x, mark):
    state, out = {"s": [0.0]}, []
    for i in range(3):
        state["s"][0] = float(i)
        out.append(mark(functools.partial(lambda t, x: x * t["s"][0], state), i)(x))
    return out


def lists(x, mark):
    scales, out = [], []
    for i in range(3):
        scales.append(float(i))
        out.append(mark(lambda x: x * sum(scales), i)(x))
    return out


def sets(x, mark):
    seen, out = set(), []
    for i in range(3):
        seen.add(float(i))
        out.append(mark(lambda x: x * sum(seen), i)(x))
    return out


def deques(x, mark):
    queue = collections.deque([1.0, 2.0, 3.0])
    return [mark(lambda x: x * queue.popleft(), i)(x) for i in range(3)]


def instances(x, mark):
    options, out = Options(0.0), []
    for i in range(3):
        options.scale = float(i)
        out.append(mark(lambda x: x * options.scale, i)(x))
    return out


def namespaces(x, mark):
    space, out = types.SimpleNamespace(scale=0.0), []
    for i in range(3):
        space.scale = float(i)
        out.append(mark(lambda x: x * space.scale, i)(x))
    return out


def frozen_instances(x, mark):
    frozen, out = Frozen(0.0), []
    for i in range(3):
        object.__setattr__(frozen, "scale", float(i))
        out.append(mark(lambda x: x * frozen.scale, i)(x))
    return out


def frozen_instances_of_tables(x, mark):
    frozen, out = Frozen(2.0, {"bias": 0.0}), []
    for i in range(3):
        frozen.table["bias"] = float(i)
        out.append(mark(lambda x: x * frozen.scale + frozen.table["bias"], i)(x))
    return out


def bound_methods(x, mark):
    scaled, out = Scaled(0.0), []
    for i in range(3):
        scaled.scale = float(i)
        out.append(mark(scaled.method, i)(x))
    return out


def callable_instances(x, mark):
    scaled, out = Scaled(0.0), []
    for i in range(3):
        scaled.scale = float(i)
        out.append(mark(scaled, i)(x))
    return out


def class_attributes(x, mark):
    class Local(Scaled):
        pass

    scaled, out = Local(1.0), []
    for i in range(3):
        Local.factor = float(i)
        out.append(mark(lambda x: scaled(x), i)(x))
    return out


def classes(x, mark):
    class Local:
        factor = 0.0

    out = []
    for i in range(3):
        Local.factor = float(i)
        out.append(mark(lambda x: x * Local.factor, i)(x))
    return out


def replaced_methods(x, mark):
    class Local(Pair):
        pass

    pair, out = Local(1.0, 2.0), []
    for i in range(3):
        Local.total = lambda self, i=i: self.a + i
        out.append(mark(lambda x: x * pair.total(), i)(x))
    return out


def attributes_of_namedtuples(x, mark):
    pair, out = Pair(1.0, 2.0), []
    for i in range(3):
        Pair.bias = float(i)
        out.append(mark(lambda x: x * pair.total(), i)(x))
    return out


def default_arguments(x, mark):
    def scaled(x, by=[0.0]):  # noqa: B006
        by[0] += 1.0
        return x * by[0]

    return [mark(scaled, i)(x) for i in range(3)]


def replaced_defaults(x, mark):
    def scaled(x, by=0.0, *, plus=0.0):
        return x * by + plus

    out = []
    for i in range(3):
        scaled.__defaults__ = (float(i),)
        scaled.__kwdefaults__ = {"plus": float(2 * i)}
        out.append(mark(scaled, i)(x))
    return out


def replaced_code(x, mark):
    def scaled(x):
        return x * 2.0

    first = mark(scaled, 0)(x)
    scaled.__code__ = (lambda x: x * 3.0).__code__
    return first, mark(scaled, 1)(x)


def function_attributes(x, mark):
    def scaled(x):
        return x * scaled.by

    out = []
    for i in range(3):
        scaled.by = float(i)
        out.append(mark(scaled, i)(x))
    return out


def rebound_cells(x, mark):
    out, scale = [], 0.0

    def inner(x):
        return x * scale

    for i in range(3):
        scale = float(i)
        out.append(mark(lambda x: inner(x) + 1, i)(x))
    return out


def nonlocal_counters(x, mark):
    count = 0

    def scaled(x):
        nonlocal count
        count += 1
        return x * count

    out = [mark(scaled, i)(x) for i in range(3)]
    return [*out, x + count]


def nonlocal_marks(x, mark):
    seen, out = 0.0, []

    def remember(x):
        nonlocal seen
        seen = 1.0
        return x + 1

    for i in range(3):
        seen = 0.0
        out += [mark(remember, i)(x), x * seen]
    return out


def global_values(x, mark):
    out = []
    for i in range(3):
        set_global(float(i))
        out.append(mark(lambda x: x * SCALE, i)(x))
    return out


def globals_of_helpers(x, mark):
    out = []
    for i in range(3):
        set_global(float(i))
        out.append(mark(reads_through_another, i)(x))
    return out


def global_tables(x, mark):
    out = []
    for i in range(3):
        TABLE["scale"] = float(i)
        out.append(mark(lambda x: x * TABLE["scale"], i)(x))
    return out


def globals_by_name(x, mark):
    out = []
    for i in range(3):
        set_global(float(i))
        out.append(mark(lambda x: x * globals()["SCALE"], i)(x))
    return out


def module_attributes(x, mark):
    out = []
    for i in range(3):
        SETTINGS.scale = float(i)
        out.append(mark(lambda x: x * SETTINGS.scale, i)(x))
    return out


def attributes_of_captured_modules(x, mark):
    settings, out = types.ModuleType("other"), []
    for i in range(3):
        settings.scale = float(i)
        out.append(mark(lambda x: x * settings.scale, i)(x))
    return out


def attributes_by_name(x, mark):
    out = []
    for i in range(3):
        SETTINGS.scale = float(i)
        out.append(mark(lambda x: x * getattr(SETTINGS, "scale"), i)(x))  # noqa: B009
    return out


def numpy_arrays(x, mark):
    buffer, out = np.zeros(3, np.float32), []
    for i in range(3):
        buffer[:] = i
        out.append(mark(lambda x: x * buffer, i)(x))
    return out


def numpy_scalars_in_arrays(x, mark):
    buffer, out = np.zeros((), np.float32), []
    for i in range(3):
        buffer[...] = i
        out.append(mark(lambda x: x * buffer, i)(x))
    return out


def numpy_arguments(x, mark):
    buffer, out = np.zeros(3, np.float32), []
    for i in range(3):
        buffer[:] = i
        out.append(mark(lambda x, y: x * y, i)(x, buffer))
    return out


def read_only_views(x, mark):
    buffer, out = np.zeros(3, np.float32), []
    view = buffer[:]
    view.flags.writeable = False
    for i in range(3):
        buffer[:] = i
        out.append(mark(lambda x: x * view, i)(x))
    return out


def signed_zeros(x, mark):
    return [mark(lambda x, z=z: x / z, i)(x) for i, z in enumerate([0.0, -0.0])]


def numbers_of_other_types(x, mark):
    scales = [1, True, 1.0, np.float32(1), 1 + 0j]
    return [mark(lambda x, s=s: (x > 0) * s, i)(x) for i, s in enumerate(scales)]


def partials(x, mark):
    table, out = {"by": 0.0}, []
    for i in range(3):
        table["by"] = float(i)
        scaled = functools.partial(lambda x, t: x * t["by"], t=table)
        out.append(mark(scaled, i)(x))
    return out


def cached_functions(x, mark):
    @functools.lru_cache
    def scale(i):
        return float(i)

    return [mark(lambda x, i=i: x * scale(i), i)(x) for i in range(3)]


def wrapped_functions(x, mark):
    state = {"s": 0.0}

    def decorated(f):
        @functools.wraps(f)
        def inner(x):
            return f(x) * state["s"]

        return inner

    scaled, out = decorated(jnp.sin), []
    for i in range(3):
        state["s"] = float(i)
        out.append(mark(scaled, i)(x))
    return out


def custom_derivatives(x, mark):
    state = {"s": 0.0}

    @jax.custom_vjp
    def scaled(x):
        return x * state["s"]

    scaled.defvjp(lambda x: (scaled(x), None), lambda _, g: (g * state["s"],))
    out = []
    for i in range(3):
        state["s"] = float(i)
        out.append(mark(jax.grad(lambda x: scaled(x).sum()), i)(x))
    return out


def random_numbers(x, mark):
    draws = random.Random(0)
    return [mark(lambda x: x * draws.random(), i)(x) for i in range(3)]


def numpy_random_numbers(x, mark):
    draws = np.random.default_rng(0)
    return [mark(lambda x: x * draws.random(), i)(x) for i in range(3)]


def global_random_numbers(x, mark):
    np.random.seed(0)
    return [mark(lambda x: x * np.random.random(), i)(x) for i in range(3)]


def settings_of_jax(x, mark):
    out = []
    for i, dtype in enumerate(["standard", "strict"]):
        with jax.numpy_dtype_promotion(dtype):
            out.append(mark(lambda x: jnp.ones(3, jnp.int8) + jnp.int8(1), i)(x))
    for i, bits in enumerate([False, True]):
        with jax.enable_x64(bits):
            out.append(mark(lambda x: (x > 0).sum(), 2 + i)(x).astype(jnp.float32))
    return out


def generators_of_random_numbers(x, mark):
    out = []
    for i, kind in enumerate(["threefry2x32", "rbg"]):
        with jax.default_prng_impl(kind):
            out.append(
                mark(lambda x: x + jax.random.uniform(jax.random.key(0), (3,)), i)(x)
            )
    return out


def contexts(x, mark):
    context, out = contextvars.ContextVar("scale", default=0.0), []
    for i in range(3):
        context.set(float(i))
        out.append(mark(lambda x: x * context.get(), i)(x))
    return out


def enum_members(x, mark):
    return [mark(lambda x, m=m: x * m.value, i)(x) for i, m in enumerate(Mode)]


def attributes_of_enum_members(x, mark):
    class Local(enum.Enum):
        ONE = 1.0

    out = []
    for i in range(3):
        Local.ONE.extra = float(i)
        out.append(mark(lambda x: x * Local.ONE.extra, i)(x))
    return out


def local_imports(x, mark):
    def scaled(x):
        import sys

        return x * sys.modules[__name__].SCALE

    out = []
    for i in range(3):
        set_global(float(i))
        out.append(mark(scaled, i)(x))
    return out


def nodes(x, mark):
    scales, out = types.SimpleNamespace(factor=0.0), []
    for i in range(3):
        set_global(float(i + 1))
        scales.factor = float(i)
        out.append(mark(lambda node, x: node(x), i)(Node(x, scales), x))
    return out


def nested_marks(x, mark):
    state, out = {"s": 0.0}, []
    inner = mw.named_computation(lambda x: x * state["s"], name="f")
    for i in range(3):
        state["s"] = float(i)
        out.append(mark(lambda x: inner(x) + 1, i)(x))
    return out


def evaluated_code(x, mark):
    out = []
    for i in range(3):
        set_global(float(i))
        out.append(mark(lambda x: eval("x * SCALE", {"x": x, **globals()}), i)(x))
    return out


CASES = [
    value
    for value in list(globals().values())
    if isinstance(value, types.FunctionType)
    and value.__code__.co_varnames[: value.__code__.co_argcount] == ("x", "mark")
]


def call(fn, index):
    return mw.call(fn, call_counter=index)


def computation(fn, index):
    return mw.named_computation(fn, name="f")


def computation_in_call(fn, index):
    return call(computation(fn, index), index)


def plain(fn, index):
    return fn


def results(mark):
    """One program of all cases; its results by the case's name."""

    def program(x):
        return {case.__name__: case(x, mark) for case in CASES}

    return program


@pytest.fixture(scope="module")
def expected():
    with jax.enable_x64(False):
        return results(plain)(X)


@pytest.fixture(autouse=True)
def reset():
    yield
    set_global(1.0)
    Pair.bias = 0.0


@pytest.mark.parametrize("mark", [call, computation, computation_in_call])
@pytest.mark.parametrize(
    "transform",
    [lambda f: f, jax.jit, lambda f: mw.jit(f, CONFIG)],
    ids=["eagerly", "jax", "meshwright"],
)
def test_changes_are_seen(transform, mark, expected):
    actual = transform(results(mark))(X)
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for name, wanted in expected.items():
        for a, b in zip(*map(jax.tree.leaves, (actual[name], wanted)), strict=True):
            assert a.dtype == b.dtype, name
            np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=name)


class World:
    """Everything that functions of a random program read, and its changes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number, self.table, self.items = 1.0, {"a": 1.0}, [1.0, 2.0]
        self.options, self.buffer = Options(1.0), np.ones(3, np.float32)
        self.draws = iter(range(1, 1000))

    def change(self):
        value = float(self.random.randint(0, 3))
        match self.random.randrange(8):
            case 0:
                self.number = value
            case 1:
                self.table["a"] = value
            case 2:
                self.items.append(value)
            case 3:
                self.items[0] = value
            case 4:
                self.options.scale = value
            case 5:
                self.buffer[self.random.randrange(3)] = value
            case 6:
                set_global(value)
            case _:
                pass  # Nothing: what is equal may be shared.

    def function(self):
        """A function that reads some of the world; some of them change it."""
        number, table, items, options = (
            self.number,
            self.table,
            self.items,
            self.options,
        )

        def counting(x):
            options.scale += 1.0
            return x * options.scale

        return self.random.choice(
            [
                lambda x: x * number,
                lambda x: x * self.number,
                lambda x: x + table["a"],
                lambda x: x - sum(items),
                lambda x, by=options.scale: x * by,
                lambda x: x * self.buffer,
                lambda x: x + next(self.draws),
                functools.partial(lambda t, x: x - t["a"], table),
                counting,
                reads_through_another,
                jax.checkpoint(lambda x: jnp.sin(x) * number),
                lambda x: jax.grad(lambda x: (x**2).sum() * SCALE)(x),
            ]
        )


def random_program(seed, mark):
    def program(x):
        set_global(1.0)
        world, out = World(seed), []
        kept = [world.function() for _ in range(3)]
        for index in range(16):
            world.change()
            function = world.random.choice([*kept, world.function()])
            out.append(mark(function, index)(x))
        return out

    return program


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_see_all_changes(seed):
    expected = random_program(seed, plain)(X)
    mark = [call, computation, computation_in_call][seed % 3]
    transforms = [lambda f: f, jax.jit, lambda f: mw.jit(f, CONFIG)]
    for transform in transforms:
        actual = transform(random_program(seed, mark))(X)
        for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=str(index))


def test_tracers_that_leak_are_an_error():
    def remember(x):
        memory = {}

        def scaled(x):
            if not memory:
                memory["scale"] = jnp.cos(x)
            return x * memory["scale"]

        return [mw.call(scaled)(x) for _ in range(2)]

    for jit in (jax.jit, lambda f: mw.jit(f, CONFIG)):
        with pytest.raises(jax.errors.UnexpectedTracerError):
            jit(remember)(X)


def test_programs_that_close_over_tracers_are_refused():
    def inner(w):
        return mw.jit(lambda x: (x * w).sum(), CONFIG)(X)

    for transformed in (jax.grad(inner), jax.jit(inner), jax.vmap(inner)):
        with pytest.raises(TypeError, match="inside a JAX transformation"):
            transformed(X)
