# SPDX-License-Identifier: Apache-2.0
"""What no microbatch changes is computed once, and sums over devices wait for the sum
over microbatches: fewer collectives, the same numbers."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from support import numerics
from support.tools import ROOT

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

ROWS, WIDTH = 4, 8
WEIGHTS = 2 * 4 * WIDTH * WIDTH  # Bytes of both stages.
DEFER, HOIST = {"mpmd_defer_reductions": True}, {"mpmd_hoist_invariants": True}


@pytest.fixture(scope="module")
def topology():
    devices = jax.devices()
    return {
        f"m{i}": Mesh(np.array(devices[2 * i : 2 * i + 2]), "data") for i in range(2)
    }


def _normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _batch(microbatches):
    rows = _normal(1, microbatches * ROWS, WIDTH)
    return rows, np.sin(rows)


def _params():
    return [
        {"w": _normal(seed, WIDTH, WIDTH) / 3, "b": np.zeros(WIDTH, np.float32)}
        for seed in (2, 3)
    ]


def _step(microbatches, split):
    def loss(params, batch):
        x, y = (split(value) for value in batch)
        h = jnp.tanh(x @ params[0]["w"] + params[0]["b"])
        h = mw.stage_boundary(split(h))
        h = jnp.tanh(h @ params[1]["w"] + params[1]["b"])
        return ((h - y) ** 2).mean()

    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)

    def step(params, batch):
        value, grads = gradient(params, batch)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    return step


def _jit(topology, microbatches, schedule, weight, options):
    rows = NamedSharding(topology["m0"], P("data"))
    step = _step(microbatches, lambda x: jax.lax.with_sharding_constraint(x, rows))
    config = mw.make_config(
        topology,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
        partitioning_options=options,
    )
    params = [
        {"w": NamedSharding(mesh, weight), "b": NamedSharding(mesh, P())}
        for mesh in topology.values()
    ]
    batch = tuple(NamedSharding(mesh, P("data")) for mesh in topology.values())
    return mw.jit(step, config, in_shardings=(params, batch))


def _bytes(topology, microbatches, weight, kind, options):
    step = _jit(topology, microbatches, "1F1B", weight, options)
    compiled = step.lower(_params(), _batch(microbatches)).compile()
    found = compiled.traffic().collectives
    return sum(c.bytes for m in found.values() for c in m if c.kind == kind)


@pytest.mark.parametrize("weight", [P(), P("data")], ids=["replicated", "split"])
@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_numbers_stay(topology, schedule, weight):
    step = _jit(topology, 4, schedule, weight, DEFER | HOIST)
    got = step(_params(), _batch(4))
    expected = jax.jit(_step(4, lambda x: x))(_params(), _batch(4))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
        jax.device_get(got),
        jax.device_get(expected),
    )


def test_reduced_bytes_do_not_grow_with_microbatches(topology):
    gradients = WEIGHTS + 2 * 4 * WIDTH  # And of biases.
    for microbatches in (4, 8):
        size = microbatches, P(), "all-reduce"
        assert _bytes(topology, *size, {}) >= microbatches * gradients
        # And the loss.
        assert gradients <= _bytes(topology, *size, DEFER) <= gradients + 16


@pytest.mark.parametrize(
    "used",
    [
        lambda w: w**2,
        lambda w: w * jnp.cos(w),
        lambda w: jnp.where(w > 0, w, 0),
        lambda w: w / (1 + jnp.exp(-w[0])),
    ],
    ids=["squared", "scaled", "masked", "divided"],
)
def test_sums_wait_that_are_scaled_by_what_all_devices_have(topology, used):
    rows = NamedSharding(topology["m0"], P("data"))

    def loss(params, batch):
        x, y = (jax.lax.with_sharding_constraint(part, rows) for part in batch)
        h = mw.stage_boundary(jnp.tanh(x @ used(params[0])))
        h = jax.lax.with_sharding_constraint(h, rows)
        return ((h @ used(params[1]) - y) ** 2).mean()

    params = [p["w"] for p in _params()]
    config = mw.make_config(topology, partitioning_options=DEFER | HOIST)

    def reduced(microbatches):
        step = mw.pipeline.accumulate(jax.grad(loss), microbatches)
        batch = _batch(microbatches)
        program = mw.jit(step, config).lower(params, batch).compile()
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
            jax.device_get(program(*program.place(params, batch))),
            jax.device_get(jax.jit(step)(params, batch)),
        )
        found = program.traffic().collectives.values()
        return sum(c.bytes for m in found for c in m if c.kind == "all-reduce")

    assert 0 < reduced(2) == reduced(4)


SCALED = {
    "squared": lambda w: w**2,
    "scaled": lambda w: w * jnp.cos(w),
    "masked": lambda w: jnp.where(w > 0, w, 0),
    "divided": lambda w: w / (1 + jnp.exp(-w[0])),
}


def _scaled(topology, used, microbatches, options):
    """Gradients with weights that the devices of the batch split, and their bytes."""
    rows = NamedSharding(topology["m0"], P("data"))

    def split(value):
        return jax.lax.with_sharding_constraint(value, rows)

    def loss(params, x):
        h = split(mw.stage_boundary(split(jnp.tanh(split(x) @ used(params[0])))))
        return (split(jnp.tanh(h @ used(params[1]))) ** 2).mean()

    params = [p["w"] for p in _params()]
    shardings = [NamedSharding(mesh, P("data")) for mesh in topology.values()]
    batch = list(_batch(microbatches)[0].reshape(microbatches, ROWS, WIDTH))
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)
    config = mw.make_config(topology, partitioning_options=options)
    program = (
        mw.jit(step, config, in_shardings=(shardings, rows))
        .lower(params, batch)
        .compile()
    )
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
        jax.device_get(program(*program.place(params, batch))),
        jax.device_get(jax.jit(step)(params, batch)),
    )
    found = program.traffic().collectives.values()
    return sum(c.bytes for mesh in found for c in mesh)


@pytest.mark.parametrize("used", SCALED.values(), ids=SCALED)
def test_sums_wait_that_are_scaled_by_what_devices_split(topology, used):
    """As the gradient of `w ** 2` by `2 * w`, which is gathered once for that."""
    few, many = (_scaled(topology, used, count, DEFER | HOIST) for count in (2, 4))
    assert 0 < few == many


def test_sums_do_not_wait_for_what_memory_does_not_hold(topology):
    used = SCALED["squared"]
    options = DEFER | HOIST | {"mpmd_hoist_bytes": WEIGHTS // 4}
    bounded = [_scaled(topology, used, count, options) for count in (2, 8)]
    assert bounded[1] > 3 * bounded[0]


def test_gathered_bytes_do_not_grow_with_microbatches(topology):
    # Both stages need their weights whole forward, where devices split the rows; what
    # else is gathered is of a microbatch, and stays.
    for microbatches in (4, 8):
        size = microbatches, P("data"), "all-gather"
        before = _bytes(topology, *size, {})
        after = _bytes(topology, *size, HOIST)
        assert before - after == (microbatches - 1) * WEIGHTS


@pytest.mark.parametrize("schedule", ["1F1B", "GPipe"])
def test_bytes_do_not_grow_without_constraints(topology, schedule):
    """Weights and rows are split by their own shardings alone, and a weight gets to the
    products of the backward before the rows do."""

    def block(params, x):
        scale = jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        hidden = jax.nn.gelu((x * scale * params["norm"]) @ params["up"])
        return x + hidden @ params["down"]

    def loss(params, x):
        return (block(params[1], mw.stage_boundary(block(params[0], x))) ** 2).mean()

    shapes = {"norm": (WIDTH,), "up": (WIDTH, 32), "down": (32, WIDTH)}
    params = [
        {name: _normal(0, *shape) / 4 for name, shape in shapes.items()}
        for _ in topology
    ]
    split = [
        dict.fromkeys(shapes, NamedSharding(mesh, P("data")))
        for mesh in topology.values()
    ]
    config = mw.make_config(
        topology,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
        partitioning_options=DEFER | HOIST,
    )
    found = []
    for microbatches in (2, 4):
        rows = _normal(0, microbatches, ROWS, 3, WIDTH)
        step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)
        shardings = split, NamedSharding(topology["m0"], P("data"))
        compiled = (
            mw.jit(step, config, in_shardings=shardings)
            .lower(params, list(rows))
            .compile()
        )
        traffic = compiled.traffic().collectives
        found.append(sum(c.bytes for mesh in traffic.values() for c in mesh))
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
            jax.device_get(compiled(*compiled.place(params, list(rows)))),
            jax.device_get(jax.jit(step)(params, list(rows))),
        )
    assert found[0] == found[1] > 0


def _zero3(topology, microbatches, options):
    """Weights that are split, gathered in each microbatch, and used in bfloat16."""
    rows, whole = (NamedSharding(topology["m0"], spec) for spec in (P("data"), P()))

    def constrain(value, sharding):
        return jax.lax.with_sharding_constraint(value, sharding)

    def use(weight):
        return constrain(weight, whole).astype(jnp.bfloat16)

    def loss(params, x):
        h = jnp.tanh(constrain(x.astype(jnp.bfloat16), rows) @ use(params[0]["w"]))
        h = mw.stage_boundary(constrain(h, rows))
        h = jnp.tanh(h @ use(params[1]["w"])).astype(jnp.float32)
        return (constrain(h, rows) ** 2).mean()

    def step(params, x):
        gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)
        value, grads = gradient(params, x)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    config = mw.make_config(
        topology,
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
        partitioning_options=options,
    )
    params = [{"w": NamedSharding(mesh, P("data"))} for mesh in topology.values()]
    return mw.jit(step, config, in_shardings=(params, rows)), step


def _weights():
    return [{"w": layer["w"]} for layer in _params()]


def _counts(step, microbatches):
    """Of each mesh how many gathers, and how many reductions, of how many bytes."""
    x = _batch(microbatches)[0]
    found = step.lower(_weights(), x).compile().traffic().collectives
    return [
        {
            mesh: (
                sum(c.count for c in all_of_it if c.kind == kind),
                sum(c.bytes for c in all_of_it if c.kind == kind),
            )
            for mesh, all_of_it in found.items()
        }
        for kind in ("all-gather", "all-reduce")
    ]


def test_weights_gathered_by_constraints_are_gathered_once(topology):
    counts = {
        microbatches: _counts(
            _zero3(topology, microbatches, DEFER | HOIST)[0], microbatches
        )
        for microbatches in (4, 8)
    }
    assert counts[4] == counts[8]
    gathers, _ = counts[4]
    # Of each stage its weight, once, and in no wider type than it has.
    for count, size in gathers.values():
        assert count == 1
        assert size <= WEIGHTS // 2
    plain, _ = _counts(_zero3(topology, 4, {})[0], 4)
    assert all(count >= 4 for count, _ in plain.values())


def test_numbers_stay_with_constraints(topology):
    jitted, step = _zero3(topology, 4, DEFER | HOIST)
    x = _batch(4)[0]
    got, expected = jitted(_weights(), x), jax.jit(step)(_weights(), x)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3),
        jax.device_get(got),
        jax.device_get(expected),
    )


def test_loops_over_weights_run_once(topology):
    """Weights divided by their norm, which a loop finds, in each microbatch."""

    def use(weight):
        def again(_, vector):
            vector = weight.T @ (weight @ vector)
            return vector / jnp.linalg.norm(vector)

        vector = jax.lax.fori_loop(0, 5, again, jnp.ones(WIDTH))
        return weight / jnp.linalg.norm(weight @ vector)

    def forward(params, batch):
        h = mw.stage_boundary(jnp.tanh(batch[0] @ use(params[0]["w"])))
        return jnp.tanh(h @ use(params[1]["w"])).sum()

    def step(params, batch):
        rows = [value.reshape(4, -1, WIDTH) for value in batch]
        parts = [
            mw.call(forward, call_counter=i)(params, [value[i] for value in rows])
            for i in range(4)
        ]
        return sum(parts)

    args = _weights(), _batch(4)
    expected = jax.jit(step)(*args)
    loops = {}
    few = HOIST | {"mpmd_hoist_bytes": 2}  # Less than the norm takes.
    for name, options in {"plain": {}, "once": HOIST, "bounded": few}.items():
        config = mw.make_config(topology, partitioning_options=options)
        lowered = mw.jit(step, config).lower(*args)
        result = lowered.partitioning_result
        loops[name] = sum(
            "stablehlo.while" in result.fragments[fragment["name"]]
            for fragment in (
                result.program["fragments"][item["fragment"]]
                for item in result.program["items"]
                if item["kind"] == "call"
            )
        )
        compiled = lowered.compile()
        got = compiled(*compiled.place(*args))
        np.testing.assert_allclose(got, expected, rtol=2e-5)
    assert loops == {"plain": 8, "once": 2, "bounded": 8}


def test_nothing_is_kept_beyond_the_bound(topology):
    size = 4, P("data"), "all-gather"
    assert _bytes(topology, *size, HOIST | {"mpmd_hoist_bytes": 8}) == _bytes(
        topology, *size, {}
    )


def test_the_memory_is_that_of_the_device(tools):
    program = (ROOT / "docs" / f"first.{suffix}" for suffix in ("mlir", "json"))
    source, config = program

    def find_bound(*settings):
        options = [f"--set={setting}" for setting in settings]
        text = tools.check(
            *("meshwright", "partition", source, "--config", config),
            *("--print-pipeline", "--set=mpmd_hoist_invariants=true", *options),
        )
        hoisting = r"hoist-invariant-computations\{device=(.*) limit=-1 memory=(\d+) "
        ((device, memory),) = re.findall(hoisting, text)
        return device.strip('{}"'), int(memory)

    assert find_bound() == ("", 0)
    assert find_bound("mpmd_device_memory=4096") == ("", 4096)
    name, memory = find_bound("mpmd_schedule_device=tpu-v5e")
    assert name == "tpu-v5e" and memory == 16e9
    # Its memory is given, and how it keeps arrays is known.
    known = find_bound("mpmd_schedule_device=h100", "mpmd_device_memory=1")
    assert known == ("h100", 1)


@pytest.mark.parametrize("options", [{}, HOIST], ids=["plain", "hoisted"])
def test_a_simulation_knows_the_microbatches(topology, options):
    step = _jit(topology, 4, "1F1B", P("data"), options)
    items = step.lower(_params(), _batch(4)).simulate("cpu").items
    hoisted = [item for item in items if "hoisted" in item.origins]
    assert len(hoisted) == (2 if options else 0)
    assert all(item.kind == "other" and item.stage is None for item in hoisted)
    for kind in ("forward", "backward"):
        for stage in (0, 1):
            found = [x.microbatch for x in items if (x.kind, x.stage) == (kind, stage)]
            assert found == [0, 1, 2, 3]


def _programs(name):
    return (ROOT / "test" / "Sharding" / name).read_text().split("// -----")


@pytest.mark.parametrize(
    "text",
    _programs("defer-reductions.mlir") + _programs("defer-reductions-kinds.mlir"),
)
def test_partial_sums_add_up_to_the_sum(tools, text):
    """Dot products, sums, scatters and convolutions, on one device."""
    name = re.search(r"func.func @(\w+)", text)[1]
    before = text.replace(f"@{name}(", "@main(")
    after = tools.opt(before, "-mpmd-defer-reductions")
    assert "tensor<2x" in after or "tensor<3x3x" in after
    plain = [
        tools.check("meshwright", "erase", "-", stdin=tools.opt(part))
        for part in (before, after)
    ]
    arguments = numerics.random_arguments(plain[0])
    found = [numerics.run(part, arguments) for part in plain]
    rounding = 1e-2 if "bf16" in text else 1e-5
    assert numerics.largest_difference(*found) <= rounding


def test_gradients_of_a_shared_weight_are_reduced_once(topology):
    rows = NamedSharding(topology["m0"], P("data"))
    whole = NamedSharding(topology["m0"], P())

    def split(value):
        return jax.lax.with_sharding_constraint(value, rows)

    def loss(w, x):
        h = mw.stage_boundary(split(jnp.tanh(split(x) @ w)))
        return (split(jnp.tanh(h @ w.T)) ** 2).mean()

    def reduced(microbatches, options):
        step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)
        config = mw.make_config(
            topology,
            pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
            partitioning_options=options,
        )
        jitted = mw.jit(step, config, in_shardings=(whole, rows))
        args = np.ones((WIDTH, WIDTH), np.float32) / 9, _batch(microbatches)[0]
        compiled = jitted.lower(*args).compile()
        value, gradient = compiled(*compiled.place(*args))
        right, expected = jax.jit(step)(*args)
        np.testing.assert_allclose(value, right, rtol=1e-5)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-7)
        return sum(
            found.bytes
            for mesh in compiled.traffic().collectives.values()
            for found in mesh
            if found.kind == "all-reduce"
        )

    # The part of each mesh, and the loss, once.
    size = 2 * 4 * WIDTH * WIDTH
    assert reduced(4, {}) >= 4 * size
    for microbatches in (4, 8):
        assert size <= reduced(microbatches, DEFER) <= size + 16


def test_gradients_of_a_shared_weight_cross_once(topology):
    def bytes_sent(microbatches):
        def loss(w, x):
            h = mw.stage_boundary(jnp.tanh(x @ w))
            return (jnp.tanh(h @ w.T) ** 2).mean()

        step = mw.pipeline.accumulate(jax.grad(loss), microbatches)
        config = mw.make_config(
            topology, pipeline_schedule=mw.get_pipeline_schedule("1F1B")
        )
        args = jnp.ones((WIDTH, 2 * WIDTH)), jnp.ones((microbatches, WIDTH))
        program = mw.jit(step, config).lower(*args).partitioning_result.program
        return sum(
            item["bytes"]
            for item in program["items"]
            if item["kind"] == "transfer" and item["to"] == "m0"
        )

    # And the derivative by the activation, of each microbatch.
    weight, row = 4 * WIDTH * 2 * WIDTH, 4 * 2 * WIDTH
    assert bytes_sent(4) == weight + 4 * row
    assert bytes_sent(8) == weight + 8 * row
