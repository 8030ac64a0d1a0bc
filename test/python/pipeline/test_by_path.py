"""Placement by path: meshes and stages of names, arguments and results."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.pipeline import accumulate, by_path

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

WIDTH = 4
PLACES = by_path({"embed|layers/[01]": "m0", "layers/.*": "m1", "head": "m1"})


def make_meshes(size=1, axis="x"):
    devices = jax.devices()
    return {f"m{i}": Mesh(devices[i * size : (i + 1) * size], axis) for i in range(2)}


def make_params():
    random = np.random.default_rng(0)

    def draw():
        return {"kernel": random.normal(size=(WIDTH, WIDTH)).astype(np.float32)}

    return {
        "embed": draw(),
        "layers": [draw() for _ in range(4)],
        "head": draw(),
    }


def make_batch():
    random = np.random.default_rng(1)
    return random.normal(size=(8, WIDTH)).astype(np.float32)


def layer(p, x):
    return jnp.tanh(x @ p["kernel"])


def loss(params, x):
    x = mw.named_computation(layer, name="embed")(params["embed"], x)
    for i, p in enumerate(params["layers"]):
        x = mw.named_computation(layer, name=f"layers/{i}")(p, x)
    return mw.named_computation(lambda p, x: (layer(p, x) ** 2).mean(), name="head")(
        params["head"], x
    )


OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(0.01))


def make_step(gradient):
    def step(state, x):
        params, moments = state
        value, grads = gradient(params, x)
        updates, moments = OPTIMIZER.update(grads, moments, params)
        return (optax.apply_updates(params, updates), moments), value

    return step


def make_state():
    params = make_params()
    return params, OPTIMIZER.init(params)


def test_patterns_match_paths_and_what_is_in_them():
    assert PLACES.mesh("layers/1/kernel") == "m0"
    assert PLACES.mesh("0/mu/layers/1/kernel") == "m0"
    assert PLACES.mesh("layers/10/kernel") == "m1"
    assert PLACES.mesh("blocks/layers") is None
    assert PLACES.mesh("count") is None
    assert by_path({"(?i)LAYERS|head": "m0"}).mesh("layers/1") == "m0"
    assert [PLACES.stage(name) for name in ("embed", "layers/3", "head")] == [0, 1, 1]
    tree = {"embed": {"kernel": 0}, "step": 0}
    assert PLACES.meshes(tree) == {"embed": {"kernel": "m0"}, "step": None}


def test_stages_go_by_the_order_of_meshes_or_are_given():
    places = by_path({"a": "m0", "b": "m1", "c": "m0", "d": "m0"})
    assert [places.stage(name) for name in "abcd"] == [0, 1, 2, 2]
    places = by_path({"a": ("m0", 0), "b": ("m1", 1), "c": ("m1", 2)})
    assert [places.stage(name) for name in "abc"] == [0, 1, 2]
    assert places.mesh("c/bias") == "m1"


def test_host_memory_of_a_mesh_is_no_stage_of_its_own():
    places = by_path({"a": "m0", "moments": "m0#pinned_host", "b": "m1"})
    assert [places.stage(name) for name in ("a", "moments", "b")] == [0, 0, 1]


def test_one_mapping_places_names_parameters_and_moments():
    config = mw.make_config(
        make_meshes(),
        PLACES,
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
    )
    gradient = jax.value_and_grad(loss)
    step = mw.jit(make_step(accumulate(gradient, 4)), config)
    plain = jax.jit(make_step(gradient))
    states = [make_state()] * 2
    for _ in range(3):
        values = []
        for side, run in enumerate((step, plain)):
            states[side], value = run(states[side], make_batch())
            values.append(float(value))
        assert values[0] == pytest.approx(values[1], rel=1e-5)
    meshes = config.topology
    params, moments = states[0]
    for tree in (params, moments[1][0].mu, moments[1][0].nu):
        assert tree["embed"]["kernel"].sharding.mesh == meshes["m0"]
        assert tree["layers"][1]["kernel"].sharding.mesh == meshes["m0"]
        assert tree["layers"][2]["kernel"].sharding.mesh == meshes["m1"]
        assert tree["head"]["kernel"].sharding.mesh == meshes["m1"]
    lowered = step.lower(make_state(), make_batch())
    origins = [
        (item["mesh"], sorted(item["origins"]))
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call" and any("(1)" in o for o in item["origins"])
    ]
    # Each stage is one fragment.
    assert len(origins) == 8
    assert all(len(names) >= 2 for _, names in origins)


def test_names_beside_paths():
    config = mw.make_config(
        make_meshes(), by_path({"embed|layers": "m0", "head": "m1"})
    )
    step = mw.jit(lambda p, x: loss(p, x), config)
    np.testing.assert_allclose(
        step(make_params(), make_batch()), loss(make_params(), make_batch()), 1e-6
    )


def test_place_puts_a_state_where_it_belongs():
    config = mw.make_config(make_meshes(), PLACES)
    step = mw.jit(make_step(jax.value_and_grad(loss)), config)
    state, batch = make_state(), make_batch()
    compiled = step.lower(state, batch).compile()
    placed = compiled.place(state)
    assert placed[0]["head"]["kernel"].sharding.mesh == config.topology["m1"]
    # What is somewhere is moved; an argument is known by its tree.
    elsewhere = jax.device_put(batch, jax.devices()[-1])
    both = compiled.place(state, elsewhere)
    alone = compiled.place(elsewhere)
    assert alone.sharding == both[1].sharding == compiled.input_shardings[0][1]
    new, _ = compiled(*both)
    assert float(new[0]["head"]["kernel"].sum()) != 0
    with pytest.raises(TypeError, match="place got .* match no argument"):
        compiled.place({"x": 1.0})


def test_shardings_per_mesh_and_without_one():
    config = mw.make_config(make_meshes(size=2), PLACES)
    step = mw.jit(
        jax.value_and_grad(loss),
        config,
        in_shardings=({"m0": P("x"), "m1": P(None, "x")}, P("x")),
        out_shardings=(None, {"m0": P(), "m1": P(None, "x")}),
    )
    params, batch = make_params(), make_batch()
    compiled = step.lower(params, batch).compile()
    found, on_batch = compiled.input_shardings[0]
    m0, m1 = config.topology.values()
    assert found["embed"]["kernel"] == NamedSharding(m0, P("x"))
    assert found["head"]["kernel"] == NamedSharding(m1, P(None, "x"))
    assert on_batch == NamedSharding(m0, P("x"))
    grads = compiled.output_shardings[1]
    assert grads["embed"]["kernel"] == NamedSharding(m0, P())
    assert grads["head"]["kernel"] == NamedSharding(m1, P(None, "x"))
    value, _ = step(params, batch)
    np.testing.assert_allclose(value, loss(params, batch), 1e-6)


def test_a_dict_of_the_tree_may_have_names_of_meshes():
    config = mw.make_config(make_meshes(size=2), by_path({"f": "m0", "g": "m1"}))

    def apply(p, x):
        h = mw.named_computation(lambda w, x: x @ w, name="f")(p["m0"], x)
        return mw.named_computation(lambda w, x: x @ w, name="g")(p["m1"], h)

    params = {"m0": np.eye(WIDTH), "m1": np.eye(WIDTH)}
    step = mw.jit(apply, config, in_shardings=({"m0": P("x"), "m1": P()}, None))
    found = step.lower(params, make_batch()).compile().input_shardings[0][0]
    assert found["m0"].spec == P("x")
    assert found["m1"].spec == P()


def test_an_unknown_axis_is_refused():
    config = mw.make_config(make_meshes(), PLACES)
    with pytest.raises(ValueError, match="in_shardings: no mesh .* has all axes of"):
        mw.jit(loss, config, in_shardings=P("rows"))


def shared(state, x):
    """`w` is read on both meshes, and comes out of the second one."""
    w = state["w"]
    h = mw.named_computation(lambda w, x: x * w, name="f")(w, x)
    return {"w": mw.named_computation(lambda w, h: w + h.sum(0), name="g")(w, h)}, h


@pytest.mark.parametrize("tied", [False, True])
def test_a_tied_state_returns_to_where_it_came_from(tied):
    config = mw.make_config(
        make_meshes(size=2),
        {"f": "m0", "g": "m1"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    step = mw.jit(shared, config, in_shardings=({"w": P("x")}, P()), tie_state=tied)
    state, x = {"w": np.ones(WIDTH, np.float32)}, make_batch()
    compiled = step.lower(state, x).compile()
    came, went = compiled.input_shardings[0][0]["w"], compiled.output_shardings[0]["w"]
    assert (came == went) == tied
    for _ in range(2):
        expected, _ = shared(state, x)
        state, _ = compiled(*compiled.place(state, x))
        np.testing.assert_allclose(state["w"], expected["w"], 1e-5)
    if tied:  # No one has to place it.
        compiled(state, compiled.place(x))


def test_what_is_assigned_stays_assigned():
    config = mw.make_config(
        make_meshes(),
        {"f": "m0", "g": "m1"},
        input_mesh_assignment=("m0", None),
        output_mesh_assignment=("m1", None),
        partitioning_options={"mpmd_infer_transfers": True},
    )
    lowered = mw.jit(shared, config, tie_state=True).lower(
        {"w": np.ones(WIDTH, np.float32)}, make_batch()
    )
    assert lowered.function_mesh_assignment.output_meshes[0] == {"w": "m1"}


REFUSED = {
    "no dict": (lambda: by_path([("a", "m0")]), TypeError, "must be a dict"),
    "empty": (lambda: by_path({}), ValueError, "at least one"),
    "pattern": (lambda: by_path({"(": "m0"}), ValueError, "no regular expression"),
    "no text": (
        lambda: by_path({re.compile("a"): "m0"}),
        TypeError,
        "a pattern must be a string",
    ),
    "mixed": (lambda: by_path({"a": "m0", "b": ("m1", 1)}), TypeError, "'a' has a"),
    "stage": (lambda: by_path({"a": ("m0", -1)}), TypeError, "a stage of 0 or more"),
    "mesh": (
        lambda: mw.make_config(make_meshes(), by_path({"a": "m7"})),
        ValueError,
        "by_path: mesh: unknown 'm7'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    run, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        run()


def test_without_a_schedule_names_may_occur_often():
    """Two networks that train each other, each used twice in a step."""
    made = mw.named_computation(lambda w, z: jnp.tanh(z @ w), name="gen")
    judged = mw.named_computation(lambda w, x: (x @ w).mean(), name="disc")

    def step(params, x, z):
        def of_disc(w):
            return judged(w, x) - judged(w, made(params["gen"], z)) ** 2

        of_gen = jax.grad(lambda w: judged(params["disc"], made(w, z)))
        return {"gen": of_gen(params["gen"]), "disc": jax.grad(of_disc)(params["disc"])}

    params = {"gen": jnp.ones((3, 4)) / 3, "disc": jnp.ones((4, 1))}
    x, z = jnp.ones((2, 4)), jnp.ones((2, 3)) / 2
    config = mw.make_config(make_meshes(), by_path({"gen": "m0", "disc": "m1"}))
    found = mw.jit(step, config)(params, x, z)
    for name, wanted in step(params, x, z).items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5)
