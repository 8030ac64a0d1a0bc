"""Primitives and types of hijax in annotations: one value for several arrays."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import hijax
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = jnp.arange(1, 5, dtype=jnp.float32)
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
CONFIG = mw.make_config(
    MESHES, {"f": "m0", "g": "m1"}, partitioning_options={"mpmd_infer_transfers": True}
)
# The name in JAX 0.12, and before.
Primitive = getattr(hijax, "HiPrim", None) or hijax.VJPHiPrimitive


class Cube(Primitive):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x):
        return x * x * x

    def jvp(self, primals, tangents):
        (x,), (tangent,) = primals, tangents
        return self(x), 3 * tangent * x * x

    def vjp_fwd(self, nonzeros, x):
        return self(x), x

    def vjp_bwd_retval(self, x, cotangent):
        return (3 * cotangent * x * x,)

    def batch(self, axis, args, dims):
        return cube(args[0]), dims[0]


def cube(x):
    return Cube(jax.typeof(x))(x)


@dataclasses.dataclass(frozen=True)
class Scaled:
    """Numbers that share a scale."""

    numbers: jax.Array
    scale: jax.Array


@dataclasses.dataclass(frozen=True)
class ScaledType(hijax.HiType):
    size: int

    def lo_ty(self):
        shapes = (self.size,), ()
        return [jax.core.ShapedArray(shape, np.dtype("float32")) for shape in shapes]

    def lower_val(self, value):
        return [value.numbers, value.scale]

    def raise_val(self, numbers, scale):
        return Scaled(numbers, scale)

    def str_short(self, *_, **__):
        return f"Scaled[{self.size}]"


hijax.register_hitype(Scaled, lambda value: ScaledType(*value.numbers.shape))


class Scale(Primitive):
    def __init__(self, aval):
        self.in_avals, self.params = (aval,), {}
        self.out_aval = ScaledType(*aval.shape)
        super().__init__()

    def expand(self, x):
        scale = jnp.abs(x).max()
        return Scaled(x / scale, scale)


class Unscale(Primitive):
    def __init__(self, aval):
        self.in_avals, self.params = (aval,), {}
        self.out_aval = jax.core.ShapedArray((aval.size,), np.dtype("float32"))
        super().__init__()

    def expand(self, value):
        return value.numbers * value.scale


def scale(x):
    return Scale(jax.typeof(x))(x)


def unscale(value):
    return Unscale(jax.typeof(value))(value)


def named(function, name="f"):
    return mw.named_computation(function, name=name)


def check(function, config=CONFIG, eagerly=True):
    """The same numbers at once, in plain JAX and on meshes."""
    plain = jax.jit(function)(X)
    others = [mw.jit(function, config)(X)]
    for found in [*others, function(X)] if eagerly else others:
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, plain
        )
    return plain


def two_stages(x):
    return named(cube, "g")(named(lambda x: cube(jnp.sin(x)))(x))


def derivative(x):
    return jax.grad(lambda x: two_stages(x).sum())(x)


def recomputed(x):
    return jax.grad(lambda x: jax.checkpoint(two_stages)(x).sum())(x)


def batched(x):
    return jax.vmap(two_stages)(x.reshape(2, 2))


def calls(x):
    return [mw.call(derivative, call_counter=i)(x + i) for i in range(2)]


def loop(x):
    return mw.fori_loop(3, lambda i, x: jnp.sin(cube(named(jnp.cos)(x))), x)


def elements(x):
    body = lambda c, i, e: c + named(cube)(c * e)  # noqa: E731
    return [
        mw.enumerated_for(body, x, [0.5, 0.25], unroll=unroll)
        for unroll in (False, True)
    ]


@pytest.mark.parametrize(
    "function", [two_stages, derivative, recomputed, batched, calls, loop, elements]
)
def test_primitives(function):
    check(function)


def marked_loss(x):
    return cube(mw.stage_boundary(cube(x))).sum()


def in_microbatches(x):
    def loss(scale, x):
        return marked_loss(scale * x)

    return mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(jnp.float32(2), x)


def in_a_scan(x):
    x, _ = jax.lax.scan(lambda x, _: (cube(x), None), x, length=2)
    return jax.value_and_grad(marked_loss)(x)


def holds_on_each_mesh(lowered):
    return all(mesh["items"] for mesh in lowered.partitioning_result.program["meshes"])


@pytest.mark.parametrize(
    "function",
    [lambda x: jax.value_and_grad(marked_loss)(x), in_microbatches, in_a_scan],
    ids=["step", "microbatches", "scan"],
)
def test_marks_divide_what_has_primitives(function):
    config = mw.make_config(MESHES, {})
    check(function, config)
    assert holds_on_each_mesh(mw.jit(function, config).lower(X))


def test_auto_divides_what_has_primitives():
    def step(x):
        return jax.value_and_grad(lambda x: cube(jnp.sin(cube(x))).sum())(x)

    assert holds_on_each_mesh(mw.auto(step, MESHES).lower(X))


def handed_on(x):
    return named(unscale, "g")(named(scale)(x))


def named_value(x):
    return unscale(mw.named_tensor(scale(x), name="f"))


def carried(x):
    def body(i, value):
        return scale(named(jnp.sin)(unscale(value)))

    return unscale(mw.fori_loop(2, body, scale(x)))


def called(x):
    return unscale(mw.call(lambda v: scale(unscale(v) + 1))(scale(x)))


def marked(x):
    return unscale(mw.stage_boundary(scale(x)))


@pytest.mark.parametrize("function", [handed_on, named_value, carried, called])
def test_values_of_several_arrays(function):
    check(function)


def test_values_of_several_arrays_pass_a_mark():
    config = mw.make_config(MESHES, {})
    check(marked, config)
    assert holds_on_each_mesh(mw.jit(marked, config).lower(X))


def test_jaxprs_of_annotations_can_be_expanded():
    traced = jax.jit(two_stages).trace(X)
    assert traced.jaxpr.jaxpr.is_high
    lowered = traced.lojax.jaxpr.jaxpr
    assert not lowered.is_high
    names = [eqn.primitive.name for eqn in lowered.eqns]
    assert names == ["mpmd_named_computation"] * 2


def test_values_of_several_arrays_do_not_cross_the_border_of_a_program():
    with pytest.raises(NotImplementedError, match=r"an argument is of the hijax type"):
        mw.jit(lambda value: unscale(value), CONFIG)(Scaled(X, jnp.float32(2)))
    with pytest.raises(NotImplementedError, match=r"a result is of the hijax type"):
        mw.jit(lambda x: scale(x), CONFIG)(X)


# Boxes are values that are written to in place. JAX has them up to 0.11.0, under a
# name of its own.
Box = getattr(jax._src.hijax, "Box", None)


def box_of_a_stage(x):
    box = Box(x)

    def add(y):
        box.set(box.get() + y)
        return box.get()

    return named(lambda y: y * 2, "g")(named(add)(x)) + box.get()


def box_of_calls(x):
    box = Box(jnp.zeros_like(x))

    def add(box, y):
        box.set(box.get() + named(jnp.sin)(y))

    for i in range(2):
        mw.call(add, call_counter=i)(box, x + i)
    return box.get()


def box_of_a_loop(x):
    box, other = Box(x), jnp.cos(x)

    def body(i, y):
        box.set(box.get() * 2 + named(jnp.sin)(y + other))
        return y + 1

    return mw.fori_loop(3, body, x) + box.get()


def box_that_changes_its_type(x):
    box = Box(x)

    def add(y):
        box.set((box.get(), y))

    named(add)(2 * x)
    return box.get()


def box_that_cannot_be_carried(x):
    box = Box(x)
    mw.fori_loop(2, lambda i, _: box.set((box.get(), x)), None)
    return x


@pytest.mark.skipif(Box is None, reason="this JAX has no boxes")
def test_boxes():
    for function in (box_of_a_stage, box_of_calls, box_of_a_loop):
        check(function)
    check(box_that_changes_its_type)
    with pytest.raises(TypeError, match="must hold values of the same types"):
        jax.jit(box_that_cannot_be_carried)(X)
    box = Box(X)
    with pytest.raises(NotImplementedError, match="is of the hijax type BoxTy"):
        mw.jit(lambda x: x + box.get(), CONFIG)(X)
