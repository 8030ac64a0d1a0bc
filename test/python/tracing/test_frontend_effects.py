"""Side effects, references, exports and symbolic shapes: they work, or say why not."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify, io_callback
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

CONFIG = mw.make_config(
    {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)},
    {"f": "m0", "g": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
X = jnp.arange(4, dtype=jnp.float32)


def named(fn, name="f"):
    return mw.named_computation(fn, name=name)


def on_meshes(function):
    return mw.jit(function, CONFIG)


def check(actual, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), actual, expected
    )


def prints(x):
    jax.debug.print("x", ordered=True)
    return named(jnp.sin)(x)


def calls_back(x):
    return io_callback(lambda x: x, x, x, ordered=True)


@pytest.mark.parametrize(
    "function",
    [
        prints,
        calls_back,
        jax.jit(prints),
        lambda x: jax.lax.scan(lambda c, _: (prints(c), None), x, None, length=2)[0],
        lambda x: jax.lax.cond(x[0] > 0, calls_back, lambda x: x, x),
    ],
    ids=["print", "callback", "in jit", "in scan", "in cond"],
)
def test_ordered_effects_outside_of_annotations_are_refused(function):
    with pytest.raises(NotImplementedError) as error:
        on_meshes(lambda x: function(x))(X)
    text = str(error.value)
    assert "test_frontend_effects.py" in text and "ordered side effects" in text
    assert "meshes have no common order, use unordered effects" in text


@pytest.mark.parametrize("mark", [named, mw.call])
def test_ordered_effects_inside_annotations_are_refused(mark):
    with pytest.raises(NotImplementedError, match="has ordered side effects"):
        on_meshes(mark(calls_back))(X)


def test_unordered_effects_happen(capfd):
    def f(x):
        jax.debug.print("outside {}", x.sum())
        return named(lambda x: (jax.debug.print("inside {}", x.sum()), x + 1)[1])(x)

    on_meshes(f)(X)
    jax.effects_barrier()
    out = capfd.readouterr().out
    assert out.count("outside 6.0") == out.count("inside 6.0") == 1


def test_effects_that_two_meshes_need_happen_once(capfd):
    drawn = []

    def draw():
        drawn.append(len(drawn) + 2)
        return np.float32(drawn[-1])

    def f(x):
        noise = io_callback(draw, jax.ShapeDtypeStruct((), jnp.float32))
        jax.debug.print("read by both {}", x.sum())
        total = named(lambda a, n: a + n)(x, noise)
        return total, named(lambda a, n: a * n, "g")(x, noise)

    out = on_meshes(f)(X)
    jax.effects_barrier()
    assert drawn == [2]
    assert capfd.readouterr().out.count("read by both 6.0") == 1
    check(out, (X + 2, X * 2))


seen = []


def sees(x):
    jax.debug.callback(lambda x: seen.append(float(x.sum())), x)


def only_sees(x):
    named(sees)(x)
    return named(lambda x: x + 1, "g")(x)


def nothing_reads(x):
    named(lambda x: (sees(x), 2 * x)[1])(x)
    return named(lambda x: x + 1, "g")(x)


def nothing_reads_what_is_called_back(x):
    def back(x):
        seen.append(float(x.sum()))
        return x

    named(lambda x: io_callback(back, x, x))(x)
    return named(lambda x: x + 1, "g")(x)


def forward_of_a_gradient(x):
    return jax.grad(named(lambda x: (sees(x), (x * x).sum())[1]))(x)


def inside_of_calls(x):
    for i in range(2):
        mw.call(only_sees, call_counter=i)(x)
    return x


@pytest.mark.parametrize(
    ("function", "times"),
    [
        (only_sees, 1),
        (nothing_reads, 1),
        (nothing_reads_what_is_called_back, 1),
        (forward_of_a_gradient, 1),
        (inside_of_calls, 2),
        (lambda x: named(sees)(x), 1),
        (lambda x: (named(lambda: sees(X))(), x)[1], 1),
    ],
    ids=["no result", "unread", "io", "gradient", "calls", "nothing", "no operand"],
)
def test_effects_of_what_nothing_reads_happen(function, times):
    for jit in (jax.jit, on_meshes):
        seen.clear()
        jax.block_until_ready(jit(lambda x: function(x))(X))
        jax.effects_barrier()
        assert seen == [6.0] * times


def inside(mark, x):
    def body(x):
        ref = jax.new_ref(x)
        ref[...] = ref[...] * 2
        ref[0] += 1
        return ref[...]

    return mark(body)(x)


def across(mark, x):
    ref = jax.new_ref(x)

    def add(x):
        ref[...] += x
        return x + 1

    results = [mark(add)(x + i) for i in range(3)]
    return results, ref[...]


def as_argument(mark, x):
    ref = jax.new_ref(x)

    def swap(ref, x):
        old = ref[...]
        ref[...] = x
        return old

    return mark(swap)(ref, x + 1), ref[...]


@pytest.mark.parametrize("use", [inside, across, as_argument])
@pytest.mark.parametrize("mark", [named, mw.call, lambda f: mw.call(named(f))])
def test_references_made_by_a_program_work(use, mark):
    expected = use(lambda fn: fn, X)
    check(use(mark, X), expected)
    check(jax.jit(lambda x: use(mark, x))(X), expected)
    check(on_meshes(lambda x: use(mark, x))(X), expected)


def test_references_of_the_caller_work_under_plain_jax():
    ref = jax.new_ref(X)

    def add(x):
        ref[...] += x
        return x + 1

    jax.jit(lambda x: named(add)(x))(X)
    named(add)(X)
    np.testing.assert_array_equal(ref[...], 3 * X)


def test_references_of_the_caller_are_refused_on_meshes():
    ref = jax.new_ref(X)
    with pytest.raises(NotImplementedError, match="an argument is a jax.Ref"):
        on_meshes(lambda ref: ref[...] + 1)(ref)
    for function in (lambda x: x + ref[...], named(lambda x: x + ref[...])):
        with pytest.raises(NotImplementedError, match="closes over a jax.Ref"):
            on_meshes(function)(X)


def test_references_in_loops():
    def double(i, x):
        return inside(lambda fn: fn, x)

    expected = double(0, double(0, X))
    for jit in (lambda f: f, jax.jit, on_meshes):
        check(jit(lambda x: mw.fori_loop(2, double, x))(X), expected)


def written_by_iterations(x):
    total, product = jax.new_ref(jnp.zeros_like(x)), jax.new_ref(jnp.float32(1))
    given = 2 * x

    def body(i, y):
        h = named(jnp.sin)(y + given)
        total[...] += named(lambda h: h * h, "g")(h)
        product[...] *= i.astype(jnp.float32) + 1
        return y + total[...]

    return mw.fori_loop(3, body, x), total[...], product[...]


def written_by_elements(x):
    total = jax.new_ref(x)

    def body(carry, i, element):
        total[...] += named(jnp.sin)(carry * element)
        return carry + 1

    return mw.enumerated_for(body, x, [1.0, 2.0, 3.0]), total[...]


def written_without_a_carry(x):
    count = jax.new_ref(jnp.int32(0))

    def body(i, _):
        count[...] += i.astype(jnp.int32)

    mw.fori_loop(4, body, None)
    return named(lambda x: x)(x), count[...]


def only_read(x):
    ref = jax.new_ref(x)
    return mw.fori_loop(2, lambda i, y: y + ref[...], x), ref[...]


@pytest.mark.parametrize(
    "function",
    [written_by_iterations, written_by_elements, written_without_a_carry, only_read],
)
def test_references_from_outside_of_a_loop(function):
    expected = function(X)
    check(jax.jit(function)(X), expected)
    check(on_meshes(function)(X), expected)


@pytest.mark.parametrize("mark", [named, mw.call, lambda f: f])
def test_checks_of_the_user_are_reported(mark):
    def positive(x):
        checkify.check(jnp.all(x > 0), "not positive: {}", x.min())
        return x * 2

    checked = on_meshes(checkify.checkify(mark(positive)))
    error, result = checked(X + 1)
    assert error.get() is None
    check(result, 2 * (X + 1))
    assert "not positive: 0.0" in checked(X)[0].get()


def two_kinds(x):
    """Checks of two kinds, of which each mesh has one."""

    def positive(x):
        checkify.check(jnp.all(x > 0), "not positive: {}", x.min())
        return jnp.abs(x)

    return named(lambda x: jnp.log(x - 2), name="g")(named(positive)(x))


def checked_two(kinds=checkify.user_checks | checkify.float_checks):
    return checkify.checkify(two_kinds, errors=kinds)


@pytest.mark.parametrize("first", [-1.0, 0.5, 9.0])
def test_errors_of_several_kinds_on_several_meshes(first):
    x = np.array([first, 4.0], np.float32)
    error, _ = on_meshes(checked_two())(x)
    wanted, _ = jax.jit(checked_two())(x)
    assert error.get() == wanted.get()
    assert mw.fetch(error).get() == wanted.get()
    if wanted.get() is not None:
        with pytest.raises(checkify.JaxRuntimeError) as found:
            error.throw()
        assert str(found.value) == wanted.get()


def test_errors_of_several_kinds_within_other_results():
    """Batched, as `vmap` makes them, with a payload on either mesh."""
    x = np.array([[9, 4], [-1, 4], [1, 9]], np.float32)

    def batched(x):
        return {"error": jax.vmap(checked_two())(x)[0], "x": x}

    found, wanted = on_meshes(batched)(x), jax.jit(batched)(x)
    assert found["error"].get() == wanted["error"].get()
    assert "at mapped index 1: not positive" in found["error"].get()


def test_checks_that_are_not_collected_are_an_error_of_jax():
    def positive(x):
        checkify.check(jnp.all(x > 0), "not positive")
        return x

    with pytest.raises(ValueError, match="functionaliz"):
        on_meshes(named(positive))(X)


def test_export_is_for_plain_jit():
    function = named(jnp.sin)
    with pytest.raises(NotImplementedError, match="export jax.jit of the function"):
        jax.export.export(on_meshes(function))(X)
    exported = jax.export.export(jax.jit(function))(X)
    check(exported.call(X), jnp.sin(X))


def test_symbolic_shapes_are_for_plain_jit():
    shape = jax.export.symbolic_shape("n, 4")
    symbolic = jax.ShapeDtypeStruct(shape, jnp.float32)
    function = mw.call(named(lambda x: jnp.sin(x).sum(1)))
    with pytest.raises(NotImplementedError, match=r"symbolic shape \(n, 4\)"):
        on_meshes(function).lower(symbolic)
    exported = jax.export.export(jax.jit(function))(symbolic)
    check(exported.call(jnp.ones((3, 4))), jnp.sin(jnp.ones((3, 4))).sum(1))


@pytest.mark.parametrize("effect", [jax.debug.print, jax.debug.callback])
def test_schedules_hold_with_effects_in_layers_that_are_recomputed(effect):
    """The recomputed print of one microbatch comes after the first one of the next."""

    @jax.checkpoint
    def layer(w, h):
        h = jnp.tanh(h @ w)
        say = "h {}" if effect is jax.debug.print else lambda total: None
        effect(say, h.sum())
        return h

    def loss(ws, x):
        return layer(ws[1], mw.stage_boundary(layer(ws[0], x))).sum()

    step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches=4)
    config = mw.make_config(
        CONFIG.topology, pipeline_schedule=mw.get_pipeline_schedule("1F1B")
    )
    args = [jnp.eye(4)] * 2, jnp.ones((8, 4))
    lowered = mw.jit(step, config).lower(*args)
    order = [
        "B" if "(1)" in item["origins"][0] else "F"
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call" and item["mesh"] == "m0" and item["origins"]
    ]
    assert "".join(order) == "FFBFBFBB"
    compiled = lowered.compile()
    check(compiled(*compiled.place(*args)), jax.jit(step)(*args))
