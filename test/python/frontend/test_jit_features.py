"""`mw.jit` takes what `jax.jit` takes, one test for each row of the guide's table."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

M0, M1 = (Mesh(np.array(jax.devices()[i : i + 2]), ("x",)) for i in (0, 2))
X = np.arange(8, dtype=np.float32).reshape(4, 2)
CONFIG = mw.make_config(
    {"m0": M0, "m1": M1},
    {"f": "m0", "g": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)


def model(x, y=None, *, scale=1.0, times=1):
    """Two stages; the second one adds y, if there is one."""
    h = mw.named_computation(lambda x: jnp.sin(x) * scale, name="f")(x)
    for _ in range(times):
        h = mw.named_computation(lambda h: 2 * h, name="g")(h)
    return h if y is None else h + y


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# Forms.


def test_decorator_with_options():
    @mw.jit(config=CONFIG, donate_argnums=0)
    def step(x):
        """Doc."""
        return model(x)

    assert (step.__name__, step.__doc__) == ("step", "Doc.")
    check(step(X), model(X))


def test_decorator_with_config_alone():
    @mw.jit(CONFIG)
    def step(x):
        return model(x)

    check(step(X), model(X))


def test_partial_as_decorator():
    @functools.partial(mw.jit, mpmd_config=CONFIG, static_argnames="times")
    def step(x, times):
        return model(x, times=times)

    check(step(X, times=2), model(X, times=2))


def test_decorated_method():
    class Trainer:
        @functools.partial(mw.jit, config=CONFIG, static_argnums=0)
        def step(self, x):
            return model(x)

    trainer = Trainer()
    check(trainer.step(X), model(X))


class Lookalike:
    """Has attributes by names that a wrapped function uses, too."""

    def __init__(self):
        self.mpmd_config, self.name, self.trace, self._last = None, "own", [], 5
        self.lower = self._jitted = self._requested = self._statics = 3
        self.tag = "mine"

    def __call__(self, x):
        return model(x)


def test_attributes_of_the_function_take_no_place():
    jitted = mw.jit(Lookalike(), CONFIG)
    assert (jitted.tag, jitted.mpmd_config) == ("mine", CONFIG)
    check(jitted(X), model(X))
    check(
        jitted.lower(X).compile()(jax.device_put(X, NamedSharding(M0, P()))), model(X)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mw.jit(model), "needs a config"),
        (lambda: mw.jit(), "needs a config"),
        (lambda: mw.jit(model, CONFIG, config=CONFIG), "once"),
        (lambda: mw.jit(3, CONFIG), "expected a function, got 3"),
        (
            lambda: mw.jit(CONFIG, len),
            r" \.\.\. of type Config; call it as mw.jit\(function, config\)",
        ),
        (lambda: mw.jit(model, {"m0": M0}), "what meshwright.make_config"),
        (lambda: mw.jit(model, CONFIG, device=jax.devices()[0]), "'device': the topo"),
        (lambda: mw.jit(model, CONFIG, backend="cpu"), "'backend': the topology"),
        (lambda: mw.jit(model, CONFIG, inline=True), "'inline': .* applied last"),
        (lambda: mw.jit(model, CONFIG, abstracted_axes={}), "'abstracted_axes'"),
        (lambda: mw.jit(model, CONFIG, static_argnum=1), "'static_argnum'"),
    ],
)
def test_wrong_forms_are_type_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# Arguments.


def test_keyword_arguments():
    step = mw.jit(model, CONFIG)
    check(step(X, y=X), model(X, X))
    check(step(X, X), model(X, X))
    check(step(y=X, x=X), model(X, X))
    check(step(x=X), model(X))


def test_an_argument_may_be_called_self():
    jitted = mw.jit(lambda self, function: model(self) + function, CONFIG)
    check(jitted(self=X, function=X), model(X) + X)
    compiled = jitted.lower(self=X, function=X).compile()
    given = jax.tree.map(
        jax.device_put, {"self": X, "function": X}, compiled.input_shardings[1]
    )
    check(compiled(**given), model(X) + X)


def test_compiled_program_takes_the_keywords_that_it_was_lowered_for():
    compiled = mw.jit(model, CONFIG).lower(X, y=X).compile()
    args, kwargs = compiled.input_shardings
    x, y = jax.device_put(X, args[0]), jax.device_put(X, kwargs["y"])
    check(compiled(x, y=y), model(X, X))
    with pytest.raises(TypeError, match="keyword arguments y, but .* with none"):
        compiled(x, y)
    with pytest.raises(ValueError, match=r"kwargs\['y'\] must be a jax.Array"):
        compiled(x, y=X)


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (-1,)},
        {"static_argnames": "times"},
        {"static_argnames": ["times"]},
        {"static_argnums": 1, "static_argnames": "times"},
    ],
    ids=str,
)
def test_static_arguments(options):
    step = mw.jit(lambda x, times: model(x, times=times), CONFIG, **options)
    check(step(X, 2), model(X, times=2))
    check(step(X, 1), model(X, times=1))
    if options != {"static_argnums": (-1,)}:
        check(step(X, times=2), model(X, times=2))


def test_positions_may_be_integers_of_any_kind():
    def f(x, times):
        return model(x, times=times)

    for numbers in (np.int64(1), np.array([1]), -1, {1}):
        check(mw.jit(f, CONFIG, static_argnums=numbers)(X, 2), model(X, times=2))
    donated = jax.device_put(X, NamedSharding(M0, P()))
    mw.jit(model, CONFIG, donate_argnums=np.int64(0))(donated)
    assert donated.is_deleted()
    with pytest.raises(ValueError, match=r"static_argnums=\(-5,\), but only accepts 2"):
        mw.jit(f, CONFIG, static_argnums=-5)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        mw.jit(f, CONFIG, static_argnums="1")


def test_sizes_may_be_integers_of_any_kind():
    rows = jax.ShapeDtypeStruct((np.int64(4), np.int32(2)), jnp.float32)
    assert mw.jit(model, CONFIG).lower(rows).out_info.shape == (4, 2)


def test_static_arguments_are_left_out_of_a_compiled_call():
    step = mw.jit(model, CONFIG, static_argnames="times")
    compiled = step.lower(X, times=2).compile()
    x = jax.device_put(X, compiled.input_shardings[0][0])
    check(compiled(x), model(X, times=2))


@pytest.mark.parametrize("method", ["__call__", "lower", "trace", "eval_shape"])
def test_static_arguments_that_are_not_hashable(method):
    step = mw.jit(model, CONFIG, static_argnames="times")
    with pytest.raises(ValueError, match=r"must be hashable, got \[2\] of type list"):
        getattr(step, method)(X, times=[2])


@pytest.mark.parametrize(
    "options",
    [
        {"donate_argnums": 0},
        {"donate_argnames": "x"},
        {"donate_argnames": ("x",)},
    ],
    ids=str,
)
def test_donated_arguments(options):
    step = mw.jit(lambda x: model(x), CONFIG, **options)
    x = jax.device_put(X, NamedSharding(M0, P()))
    check(step(x), model(X))
    assert x.is_deleted()


def test_donated_keyword_argument():
    step = mw.jit(model, CONFIG, donate_argnames="y")
    x, y = jax.device_put((X, X), (NamedSharding(M0, P()), NamedSharding(M1, P())))
    check(step(x, y=y), model(X, X))
    assert y.is_deleted() and not x.is_deleted()


def test_arguments_by_keyword_have_no_mesh_assignment():
    assigned = dataclasses.replace(CONFIG, input_mesh_assignment=("m0",))
    meshes = mw.jit(model, assigned).lower(X, y=X).function_mesh_assignment
    assert meshes.input_meshes == (("m0",), {"y": "m1"})
    everywhere = dataclasses.replace(CONFIG, input_mesh_assignment="m0")
    meshes = mw.jit(model, everywhere).lower(X, y=X).function_mesh_assignment
    assert meshes.input_meshes == (("m0",), {"y": "m0"})


# Shardings.


@pytest.mark.parametrize(
    "given",
    [
        NamedSharding(M0, P("x")),
        (NamedSharding(M0, P("x")),),
        [NamedSharding(M1, P("x"))],
        ({"a": NamedSharding(M0, P("x"))},),
        P("x"),
        (P("x"),),
        {"bare": P("x")},
        None,
        (None,),
        jax.sharding.SingleDeviceSharding(jax.devices()[0]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_forms_of_in_shardings(given):
    if isinstance(given, dict):
        given = ({"a": given["bare"]},)
    step = mw.jit(lambda tree: model(tree["a"]), CONFIG, in_shardings=given)
    (tree,) = step.lower({"a": X}).function_named_shardings.input_specs
    split = "P('x'" in str(given) or "PartitionSpec('x'" in str(given)
    assert tree["a"] == NamedSharding(M0, P("x") if split else P())


@pytest.mark.parametrize(
    "given", [NamedSharding(M0, P("x")), {"out": P("x")}, P("x")], ids=str
)
def test_forms_of_out_shardings(given):
    step = mw.jit(lambda x: {"out": model(x)}, CONFIG, out_shardings=given)
    specs = step.lower(X).function_named_shardings.output_specs
    assert specs == {"out": NamedSharding(M1, P("x"))}


def test_bare_specs_with_axes_that_no_mesh_has():
    with pytest.raises(ValueError, match="in_shardings: no mesh .* has all axes"):
        mw.jit(model, CONFIG, in_shardings=P("z"))


def test_keywords_beside_in_shardings_are_refused_as_by_jax():
    step = mw.jit(model, CONFIG, in_shardings=P())
    with pytest.raises(ValueError, match="kwargs"):
        step(x=X)


# Stages.


def test_eval_shape():
    step = mw.jit(lambda x: {"a": model(x), "name": "n"}, CONFIG)
    shapes = step.eval_shape(jax.ShapeDtypeStruct((4, 2), "bfloat16"))
    assert shapes["name"] == "n"
    assert (shapes["a"].shape, shapes["a"].dtype) == ((4, 2), jnp.bfloat16)
    assert not shapes["a"].weak_type
    assert step.eval_shape(1.0)["a"].weak_type


def test_clear_cache_traces_again():
    traced = []

    @mw.jit(config=CONFIG)
    def step(x):
        traced.append(0)
        return model(x)

    for _ in range(2):
        step(X)
    assert len(traced) == 1
    step.clear_cache()
    step(X)
    assert len(traced) == 2


def test_traced_function():
    traced = mw.jit(model, CONFIG).trace(X, y=X)
    assert isinstance(traced, jax.stages.Traced)
    assert traced.fun_name == "model"
    assert traced.out_info.shape == (4, 2)
    assert set(traced.args_info[1]) == {"y"}
    assert len(traced.jaxpr.in_avals) == 2
    assert isinstance(traced.lower(), mw.Lowered)


def test_lowered_and_compiled_program():
    lowered = mw.jit(model, CONFIG).lower(X)
    assert lowered.in_avals[0][0].shape == lowered.out_info.shape == (4, 2)
    assert lowered.cost_analysis()["m1"]["transfers"] == 1
    compiled = lowered.compile({"xla_cpu_enable_fast_math": False})
    text = compiled.as_text()
    assert text.count("HloModule") == 2
    assert 'on mesh "m0"' in text and "sine(" in text
    assert compiled.cost_analysis()["m0"]["bytes accessed"] > 0
    assert compiled.memory_analysis()["m1"].peak_bytes > 0
    assert compiled.runtime_executable().fragments
    with pytest.raises(ValueError, match="known are 'hlo', 'mpmd'"):
        compiled.as_text("stablehlo")


def test_compiler_options_of_jit():
    check(mw.jit(model, CONFIG, compiler_options={"m0": {}})(X), model(X))
    with pytest.raises(ValueError, match="m7"):
        mw.jit(model, CONFIG, compiler_options={"m7": {}})(X)


def test_export_is_refused():
    with pytest.raises(NotImplementedError, match=r"export jax\.jit of the function"):
        jax.export.export(mw.jit(model, CONFIG))(X)


def test_transformations_of_a_jitted_function_are_refused():
    step = mw.jit(lambda x: model(x).sum(), CONFIG)
    for transformed in (jax.grad(step), jax.vmap(step), jax.jit(step)):
        with pytest.raises(TypeError, match="apply meshwright.jit last"):
            transformed(X)
    compiled = step.lower(X).compile()
    for call in (lambda x: compiled(x), lambda x: step(X) + x):
        with pytest.raises(TypeError, match="apply meshwright.jit last"):
            jax.jit(call)(X)
    with pytest.raises(TypeError, match=r"its own method eval_shape"):
        jax.eval_shape(step, X)
    assert step.eval_shape(X) == jax.eval_shape(lambda x: model(x).sum(), X)


def test_unused_arguments_can_be_kept():
    lowered = mw.jit(lambda x, y: model(x), CONFIG, keep_unused=True).lower(X, X)
    assert lowered.kept_inputs_indices == {0, 1}


# What a call finds out about its arguments.


def test_calls_with_other_types_and_places_find_their_programs():
    step = mw.jit(model, CONFIG)
    split = NamedSharding(M0, P("x"))
    for _ in range(2):
        for x in (X, X.astype(np.int32), X[:2], jax.device_put(X, split), jnp.ones(())):
            out = step(x)
            check(out, model(jnp.asarray(x)))
            assert out.sharding.mesh == M1
    with jax.numpy_dtype_promotion("strict"):
        check(step(X), model(X))


def test_own_results_are_recognised_without_a_look_at_their_buffers(monkeypatch):
    from meshwright.jaxapi import runtime as jax_runtime

    @mw.jit(config=CONFIG, donate_argnums=0)
    def step(state, x):
        add = mw.named_computation(lambda w, u, x: (w + x, u + x), name="f")
        w, u = add(state["w"], state["u"], x)
        v = mw.named_computation(lambda v: v + 1, name="g")(state["v"])
        return {"w": w, "u": u, "v": v}

    state = step({"w": X, "u": X, "v": X}, np.float32(2.0))
    state = step(state, np.float32(2.0))
    monkeypatch.setattr(jax_runtime, "shard_pointers", None)
    for _ in range(3):
        state = step(state, np.float32(2.0))
    np.testing.assert_allclose(state["v"], X + 5)
    monkeypatch.undo()
    w = state["w"]
    parts = [shard.data for shard in w.addressable_shards]
    alias = jax.make_array_from_single_device_arrays(w.shape, w.sharding, parts)
    for same in (state["w"], alias):
        with pytest.raises(ValueError, match="share a buffer"):
            step({"w": state["w"], "u": same, "v": state["v"]}, np.float32(2.0))
    with pytest.raises(ValueError, match="share a buffer"):  # Asked once more.
        step({"w": state["w"], "u": alias, "v": state["v"]}, np.float32(2.0))


def test_a_deleted_argument_that_was_seen_before_is_refused():
    step = mw.jit(model, CONFIG)
    x = jax.device_put(X, NamedSharding(M0, P()))
    step(x), step(x)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        step(x)


def test_an_array_seen_before_in_another_order_of_elements_is_refused():
    from jax.experimental.layout import Format, Layout

    compiled = mw.jit(model, CONFIG).lower(X).compile()
    x = jax.device_put(X, compiled.input_shardings[0][0])
    compiled(x), compiled(x)
    turned = jax.device_put(x, Format(Layout((1, 0)), x.sharding))
    with pytest.raises(ValueError, match="order"):
        compiled(turned)
