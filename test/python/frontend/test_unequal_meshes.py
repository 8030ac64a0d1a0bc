"""Meshes of any shapes and axis names beside each other, in everyday use."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

SHAPES = {
    "x1": ((1,), "x"),
    "x2": ((2,), "x"),
    "y2": ((2,), "y"),
    "x4": ((4,), "x"),
    "xy": ((2, 2), ("x", "y")),
}


def make_mesh(name, start):
    shape, axes = SHAPES[name]
    count = int(np.prod(shape))
    return Mesh(np.array(jax.devices()[start : start + count]).reshape(shape), axes)


def pair(a, b):
    return {"a": make_mesh(a, 0), "b": make_mesh(b, 4)}


def config(meshes, **options):
    return mw.make_config(
        meshes,
        {"f": "a", "g": "b"},
        partitioning_options={"mpmd_infer_transfers": True},
        **options,
    )


def rows(mesh, **kwargs):
    """Rows over all axes of a mesh."""
    return NamedSharding(mesh, P(mesh.axis_names), **kwargs)


def columns(mesh):
    return NamedSharding(mesh, P(None, mesh.axis_names[0]))


def named(function, name):
    return mw.named_computation(function, name=name)


def step(meshes):
    """One step of training on two meshes, with annotations on both."""
    constrain = jax.lax.with_sharding_constraint

    def first(w, x):
        return constrain(jnp.tanh(x @ w), rows(meshes["a"]))

    def second(v, h):
        h = constrain(h @ v, columns(meshes["b"]))
        total = jax.shard_map(
            lambda part: jax.lax.psum(part.sum(), meshes["b"].axis_names),
            mesh=meshes["b"],
            in_specs=rows(meshes["b"]).spec,
            out_specs=P(),
        )
        return total(h * h)

    def loss(w, v, x):
        return named(second, "g")(v, named(first, "f")(w, x))

    def train(w, v, x):
        value, (dw, dv) = jax.value_and_grad(loss, (0, 1))(w, v, x)
        return w - 0.01 * dw, v - 0.01 * dv, value

    return train


W, V, X = (np.sin(np.arange(64, dtype=np.float32).reshape(8, 8) + i) for i in range(3))
CALLS = 2


@pytest.fixture(scope="module")
def expected():
    """The same step by `jax.jit`, on one device."""
    train = jax.jit(step({name: make_mesh("x1", 8) for name in "ab"}))
    w, v, values = W, V, []
    for _ in range(CALLS):
        w, v, value = train(w, v, X)
        values.append(float(value))
    return np.asarray(w), np.asarray(v), values


@pytest.mark.parametrize(("a", "b"), [*itertools.product(SHAPES, repeat=2)])
def test_training_on_every_pair(a, b, expected):
    """Sharded over each mesh's own axes, donated, and fed with its own results."""
    meshes = pair(a, b)
    shardings = rows(meshes["a"]), columns(meshes["b"])
    function = mw.jit(
        step(meshes),
        config(meshes),
        in_shardings=(*shardings, None),
        out_shardings=(*shardings, None),
        donate_argnums=(0, 1),
    )
    compiled = function.lower(W, V, X).compile()
    w, v, x = map(jax.device_put, (W, V, X), compiled.input_shardings[0])
    for value in expected[2]:
        previous = w, v
        w, v, found = compiled(w, v, x)
        np.testing.assert_allclose(found, value, rtol=1e-5)
        assert all(array.is_deleted() for array in previous)
        for array, sharding in zip((w, v), shardings, strict=True):
            assert array.sharding.mesh == sharding.mesh
            assert array.sharding.is_equivalent_to(sharding, 2)
    np.testing.assert_allclose(w, expected[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(v, expected[1], rtol=1e-4, atol=1e-6)


# The rest is on these two: other sizes, and no axis in common.
MESHES = {
    "a": make_mesh("x2", 0),
    "b": Mesh(np.array(jax.devices()[4:8]).reshape(2, 2), ("y", "z")),
}
A, B = MESHES.values()


def forward(inside=lambda h: h):
    """`g` on mesh b after `f` on mesh a."""
    second = named(lambda h: inside(h) * 2, "g")
    return lambda x: second(named(jnp.sin, "f")(x))


def check(function, *args, plain=None, **options):
    """The outcome of `mw.jit`, compared with that of `jax.jit`."""
    expected = jax.jit(plain or function)(*args)
    found = mw.jit(function, config(MESHES), **options)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    return found


@pytest.mark.parametrize(
    "spec", [P(), P("y"), P(None, "z"), P(("z", "y")), P("y", "z")], ids=str
)
def test_arrays_on_the_axes_of_another_mesh(spec):
    x = jax.device_put(X, NamedSharding(B, spec))
    function = mw.jit(named(jnp.cos, "g"), config(MESHES))
    lowered = function.lower(x)
    (sharding,) = lowered.function_named_shardings.input_specs
    assert sharding.mesh == B and sharding.is_equivalent_to(x.sharding, 2)
    np.testing.assert_allclose(function(function(x)), np.cos(np.cos(X)), rtol=1e-6)


@pytest.mark.parametrize("sequence", [tuple, list])
def test_shardings_of_some_arguments(sequence):
    """A prefix of the arguments; static ones do not count."""
    function = mw.jit(
        lambda n, tree, y: named(lambda a, b: a * n + b, "g")(tree["v"], y),
        config(MESHES),
        static_argnums=0,
        in_shardings=sequence([{"v": NamedSharding(B, P("z"))}, None]),
    )
    lowered = function.lower(3, {"v": X}, X)
    specs = lowered.function_named_shardings.input_specs
    assert specs[0]["v"] == NamedSharding(B, P("z"))
    np.testing.assert_allclose(function(3, {"v": X}, X), X * 4, rtol=1e-6)


def test_typed_keys_on_another_mesh():
    keys = jax.random.split(jax.random.key(0), 4)
    draw = named(jax.vmap(jax.random.uniform), "g")
    placed = jax.device_put(keys, NamedSharding(B, P("z")))
    found = mw.jit(draw, config(MESHES))(placed)
    np.testing.assert_array_equal(found, draw(keys))


def test_meshes_read_from_shardings():
    function = mw.jit(
        forward(),
        config(MESHES, read_input_output_mesh_from_shardings=True),
        in_shardings=NamedSharding(B, P("z")),
        out_shardings=NamedSharding(A, P("x")),
    )
    y = function(X)
    assert y.sharding == NamedSharding(A, P("x"))
    np.testing.assert_allclose(y, np.sin(X) * 2, rtol=1e-6)


def test_layout_and_memory_kind_on_another_mesh():
    given = Format(Layout((1, 0)), NamedSharding(B, P("y"), memory_kind="pinned_host"))
    lowered = mw.jit(named(jnp.sin, "g"), config(MESHES), in_shardings=given).lower(X)
    (found,), _ = lowered.compile().input_formats
    assert found.layout.major_to_minor == (1, 0)
    assert found.sharding == given.sharding


def test_constraints_on_both_meshes():
    constrain = jax.lax.with_sharding_constraint

    def step(x):
        h = constrain(x, NamedSharding(A, P(None, "x")))
        h = constrain(named(jnp.sin, "f")(h), NamedSharding(B, P("y")))
        return constrain(named(jnp.cos, "g")(h), NamedSharding(B.abstract_mesh, P("z")))

    found = check(step, X, plain=lambda x: jnp.cos(jnp.sin(x)))
    assert found.sharding == NamedSharding(B, P("z"))


def test_nested_jit_and_device_put():
    def inside(h):
        h = jax.device_put(h, NamedSharding(B, P(None, "y")))
        on_b = NamedSharding(B, P("y"))
        return jax.jit(jnp.cos, in_shardings=on_b, out_shardings=on_b)(h)

    check(forward(inside), X, plain=lambda x: 2 * jnp.cos(jnp.sin(x)))


def test_loops_and_branches():
    split = NamedSharding(B, P("y"))

    def inside(h):
        def body(total, row):
            total = jax.lax.with_sharding_constraint(total + row, split)
            return total, total.sum()

        total, sums = jax.lax.scan(body, h[0], h)
        return jax.lax.cond(sums[-1] > 0, lambda: total, lambda: sums)

    def plain(x):
        total = jnp.cumsum(jnp.sin(x), 0) + jnp.sin(x)[0]
        sums = total.sum(1)
        return 2 * jnp.where(sums[-1] > 0, total[-1], sums)

    np.testing.assert_allclose(
        mw.jit(forward(inside), config(MESHES))(X), plain(X), rtol=1e-4
    )


def test_argument_returned_with_another_split():
    y, z = mw.jit(
        lambda x: (x, named(jnp.cos, "g")(x)),
        config(MESHES),
        in_shardings=NamedSharding(B, P("y")),
        out_shardings=(NamedSharding(B, P(None, "z")), None),
    )(X)
    assert y.sharding == NamedSharding(B, P(None, "z"))
    np.testing.assert_array_equal(y, X)
    np.testing.assert_allclose(z, np.cos(X), rtol=1e-6)


def test_equal_meshes_beside_another():
    """A transfer that reshards between equal meshes, in an unequal topology."""
    meshes = {"a": A, "c": Mesh(jax.devices()[2:4], "x"), "b": B}
    cfg = mw.make_config(
        meshes,
        {"f": "a", "h": "c", "g": "b"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    split = {name: NamedSharding(meshes[name], P("x")) for name in "ac"}
    across = NamedSharding(meshes["c"], P(None, "x"))
    constrain = jax.lax.with_sharding_constraint

    def step(x):
        h = named(lambda h: constrain(jnp.sin(h), split["a"]), "f")(x)
        h = named(lambda h: constrain(h, across) + h.sum(), "h")(h)
        return named(jnp.cos, "g")(h)

    h = np.sin(X)
    expected = np.cos(h + h.sum())
    np.testing.assert_allclose(mw.jit(step, cfg)(X), expected, atol=1e-5)


def test_axes_of_size_one_do_not_matter():
    meshes = {"a": Mesh(np.array(jax.devices()[:2]).reshape(2, 1), ("x", "y")), "b": A}
    meshes["b"] = Mesh(jax.devices()[2:4], "x")
    constrain = jax.lax.with_sharding_constraint

    def step(x):
        wide = NamedSharding(meshes["a"], P("x", "y"))
        h = named(lambda h: constrain(jnp.sin(h), wide), "f")(x)
        other = NamedSharding(meshes["b"], P(None, "x"))
        return named(lambda h: constrain(h * 2, other), "g")(h)

    f = mw.jit(step, config(meshes), in_shardings=NamedSharding(meshes["b"], P("x")))
    np.testing.assert_allclose(f(X), np.sin(X) * 2, rtol=1e-6)


def test_axis_that_the_mesh_lacks_is_ignored(caplog):
    wrong = NamedSharding(A, P("x"))
    inside = lambda h: jax.lax.with_sharding_constraint(h, wrong)  # noqa: E731
    found = check(forward(inside), X, plain=lambda x: 2 * jnp.sin(x))
    assert found.sharding.mesh == B
    assert 'by axis "x", but the value is on mesh "b"' in caplog.text


def test_shard_map_over_a_mesh_of_another_size():
    mapped = jax.shard_map(jnp.cos, mesh=A, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(RuntimeError, match='shard_map.* runs on mesh "b".*map it over'):
        mw.jit(forward(mapped), config(MESHES)).lower(X)


@pytest.mark.parametrize("side", ["in_shardings", "out_shardings"])
def test_shardings_that_do_not_fit(side):
    function = named(jnp.cos, "g")
    unknown = NamedSharding(Mesh(jax.devices()[:3], "q"), P("q"))
    with pytest.raises(ValueError, match=f"{side}: .*axes q=3, but .* x=2 or y=2, z=2"):
        mw.jit(function, config(MESHES), **{side: unknown})
    uneven = NamedSharding(B, P(("y", "z")))
    with pytest.raises(ValueError, match=rf"{side}: .*float32\[6\] cannot be split"):
        mw.jit(function, config(MESHES), **{side: uneven}).lower(jnp.ones(6))
