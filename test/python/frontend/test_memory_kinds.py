"""Values are in the memory where the user put them, or he hears why not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.compiler import native

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

EQUAL = {"a": Mesh(jax.devices()[:2], "x"), "b": Mesh(jax.devices()[2:4], "x")}
UNEQUAL = {"a": EQUAL["a"], "b": Mesh(jax.devices()[4:8], "y")}
X = np.arange(4, dtype=np.float32)
HOST, DEVICE = "pinned_host", "device"


def config(meshes=EQUAL, **options):
    return mw.make_config(
        meshes,
        {"f": "a", "g": "b", "t": "a#pinned_host"},
        partitioning_options={"mpmd_infer_transfers": True},
        **options,
    )


def named(function, name):
    return mw.named_computation(function, name=name)


def offloaded(x):
    return mw.named_tensor(x, name="t")


def kinds(tree):
    return [leaf.memory_kind for leaf in jax.tree.leaves(tree)]


def check(function, cfg, inputs, outputs, **options):
    """Numbers like those of `jax.jit`, and the memory of the input and outputs."""
    lowered = mw.jit(function, cfg, **options).lower(X)
    assert kinds(lowered.function_named_shardings.input_specs) == [inputs]
    compiled = lowered.compile()
    found = compiled(jax.device_put(X, compiled.input_shardings[0][0]))
    assert [leaf.sharding.memory_kind for leaf in jax.tree.leaves(found)] == outputs
    for mine, plain in zip(
        jax.tree.leaves(found), jax.tree.leaves(jax.jit(function)(X)), strict=True
    ):
        np.testing.assert_allclose(mine, plain, rtol=1e-6)


FUNCTIONS = {
    "unnamed": (lambda x: offloaded(x * 2), DEVICE, [HOST]),
    "computation": (lambda x: offloaded(named(jnp.sin, "f")(x)), DEVICE, [HOST]),
    "other mesh": (lambda x: offloaded(named(jnp.sin, "g")(x)), DEVICE, [HOST]),
    "argument": (offloaded, HOST, [HOST]),
    "argument in both": (
        lambda x: (offloaded(x), named(jnp.sin, "f")(x)),
        DEVICE,
        [HOST, DEVICE],
    ),
    "constant": (lambda x: (offloaded(jnp.ones(3)), x + 1), DEVICE, [HOST, DEVICE]),
    "read by unnamed": (
        lambda x: (lambda h: (h, jnp.sin(h)))(offloaded(x * 2)),
        DEVICE,
        [HOST, DEVICE],
    ),
    "read on other mesh": (
        lambda x: named(jnp.sin, "g")(offloaded(x * 2)),
        DEVICE,
        [DEVICE],
    ),
    "in a call": (
        lambda x: mw.call(lambda v: (offloaded(v), offloaded(v * 2)), call_counter=0)(
            x
        ),
        DEVICE,
        [HOST, HOST],
    ),
}


@pytest.mark.parametrize("meshes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("case", FUNCTIONS)
def test_named_tensors_are_where_they_are_assigned(meshes, case):
    function, inputs, outputs = FUNCTIONS[case]
    check(function, config(meshes), inputs, outputs)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * 2, lambda x: named(jnp.sin, "f")(x), lambda x: x],
    ids=["unnamed", "named", "identity"],
)
@pytest.mark.parametrize("inputs", [HOST, DEVICE])
@pytest.mark.parametrize("outputs", [HOST, DEVICE])
def test_inputs_and_outputs_are_where_they_are_assigned(function, inputs, outputs):
    cfg = config(
        input_mesh_assignment=(f"a#{inputs}",), output_mesh_assignment=f"a#{outputs}"
    )
    check(function, cfg, inputs, [outputs])


def test_shardings_say_the_memory():
    on_host = NamedSharding(EQUAL["a"], P("x"), memory_kind=HOST)
    sine = named(jnp.sin, "f")
    check(sine, config(), HOST, [DEVICE], in_shardings=on_host)
    check(sine, config(), DEVICE, [HOST], out_shardings=on_host)


def test_state_on_the_host_stays_there():
    cfg = config(input_mesh_assignment=("a#pinned_host",))
    step = mw.jit(lambda x: offloaded(named(jnp.sin, "f")(x)), cfg, donate_argnums=0)
    x, expected = X, X
    for _ in range(3):
        x, expected = step(x), np.sin(expected)
        assert x.sharding.memory_kind == HOST
    np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_placement_without_effect_is_no_secret(caplog):
    mw.jit(named(jnp.sin, "f"), mw.make_config(EQUAL, {"f": "a#pinned_host"})).lower(X)
    assert "of named computation 'f' has no effect" in caplog.text
    mw.jit(named(lambda x: offloaded(x * 2), "f"), config()).lower(X)
    assert "of named tensor 't' has no effect inside" in caplog.text


ON_HOST, ON_DEVICE = jax.memory.Space.Host, jax.memory.Space.Device


def on_host(x, mesh="a"):
    return jax.device_put(x, NamedSharding(EQUAL[mesh], P(), memory_kind=HOST))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.device_put(x * 2, ON_HOST),
        lambda x: (jax.device_put(x, ON_HOST), x, x + 1),
        lambda x: jax.device_put(jax.device_put(x * 2, ON_HOST), ON_DEVICE) + 1,
        lambda x: named(lambda x: jax.device_put(x * 2, ON_HOST), "f")(x),
        lambda x: jax.device_put(
            mw.stage_boundary(jnp.tanh(x)) * jnp.ones((2,)).sum(), ON_HOST
        ),
        jax.jit(lambda x: jax.device_put(x * 2, ON_HOST)),
    ],
)
def test_results_that_are_put_on_the_host_are_there(function):
    wanted, found = jax.jit(function)(X), mw.jit(function, config())(X)
    assert kinds(jax.tree.map(lambda a: a.sharding, found)) == kinds(
        jax.tree.map(lambda a: a.sharding, wanted)
    )
    jax.tree.map(np.testing.assert_allclose, found, wanted)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: jax.device_put(x, ON_DEVICE) * 2,
        lambda x: (jax.device_put(x, ON_DEVICE), x, jax.device_put(x, ON_DEVICE) + 1),
        lambda x: jax.device_put(jax.device_put(x, ON_DEVICE) * 2, ON_HOST),
    ],
)
@pytest.mark.parametrize("mesh", ["a", "b"])
def test_arguments_on_the_host_are_taken_as_they_are(function, mesh):
    wanted = jax.jit(function)(on_host(X))
    found = mw.jit(function, config())(on_host(X, mesh=mesh))
    assert kinds(jax.tree.map(lambda a: a.sharding, found)) == kinds(
        jax.tree.map(lambda a: a.sharding, wanted)
    )
    jax.tree.map(np.testing.assert_allclose, found, wanted)


@pytest.mark.parametrize("name", ["f", "g"])
def test_an_array_that_was_put_on_the_host_as_a_whole_is_an_argument(name):
    """`jax.device_put(x, Space.Host)` gives it the sharding of one device."""

    def function(x):
        y = named(lambda x: jax.device_put(x, ON_DEVICE) * 2, name)(x)
        return y, jax.device_put(y, ON_HOST), x

    meshes = {mesh: Mesh(jax.devices()[i : i + 1], "x") for i, mesh in enumerate("ab")}
    x, jitted = jax.device_put(X, ON_HOST), mw.jit(function, config(meshes))
    found = [jitted(x) for _ in range(2)][1]
    wanted = jax.jit(function)(x)
    assert kinds(jax.tree.map(lambda a: a.sharding, found)) == kinds(
        jax.tree.map(lambda a: a.sharding, wanted)
    )
    jax.tree.map(np.testing.assert_allclose, found, wanted)
    assert len(*jitted._programs.values()) == 1


@pytest.mark.parametrize("tie_state", [False, True])
def test_moments_rest_on_the_host_between_steps(tie_state):
    def loss(ws, x):
        return (mw.stage_boundary(jnp.tanh(x @ ws[0])) @ ws[1]).mean()

    def step(ws, moments, count, x):
        value, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(ws, x)
        moments, count = jax.device_put((moments, count), ON_DEVICE)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        rate = 0.1 / (count + 1)  # Read on both meshes.
        ws = jax.tree.map(lambda w, m: w - rate * m, ws, moments)
        return ws, *jax.device_put((moments, count + 1), ON_HOST), value

    ws, x = [jnp.eye(4), jnp.eye(4)], jnp.ones((4, 4))
    state = jax.tree.map(on_host, (jax.tree.map(jnp.zeros_like, ws), jnp.zeros(())))
    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.jit(
        step,
        mw.make_config(EQUAL, pipeline_schedule=schedule),
        tie_state=tie_state,
        donate_argnums=1,
    )
    found, wanted = (ws, *state), (ws, *state)
    for _ in range(2):
        *wanted, loss_wanted = jax.jit(step)(*wanted, x)
        *found, loss_found = jitted(*jax.tree.map(jnp.copy, found[:1]), *found[1:], x)
    shardings = jax.tree.map(lambda a: a.sharding, found[1:])
    assert set(kinds(shardings)) == {HOST}
    assert shardings[0][1].mesh == EQUAL["b"]
    jax.tree.map(np.testing.assert_allclose, found, wanted)
    np.testing.assert_allclose(loss_found, loss_wanted)


def test_host_memory_and_ties_are_asked_for_at_once(monkeypatch):
    """The first time the compiler says where arguments are, the second time it is given
    what is to be there, too."""
    requests, session = [], native.Session

    class Session(session):
        def import_program(self, request, **options):
            requests.append(request)
            return super().import_program(request, **options)

    monkeypatch.setattr(native, "Session", Session)

    def step(moment, x):
        return jax.device_put(moment, ON_DEVICE) + mw.stage_boundary(jnp.tanh(x)), x

    jitted = mw.jit(step, config(), tie_state=True)
    moment, _ = jitted(on_host(X), X)
    assert moment.sharding.memory_kind == HOST
    first, second = requests
    assert first["input_meshes"] == first["output_meshes"] == []
    assert second["input_meshes"][0] == second["output_meshes"][0] == "b#pinned_host"
