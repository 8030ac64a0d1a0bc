"""Shardings in the types of values: gradients that stay partial until they are summed.

Where a weight is marked as reduced, JAX gives its gradient as one part per device; the
types say so, and the program adds the parts up where the user reshards them.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

EXPLICIT = {"axis_types": (AxisType.Explicit,)}
MESHES = {f"m{i}": Mesh(jax.devices()[2 * i :][:2], "x", **EXPLICIT) for i in range(2)}
WIDER = {"m0": MESHES["m0"], "m1": Mesh(jax.devices()[4:8], "x", **EXPLICIT)}
PARTS = 3
WEIGHTS = [0.5 * jax.random.normal(jax.random.key(i), (4, 4)) for i in range(2)]
BATCHES = jax.random.normal(jax.random.key(2), (PARTS, 8, 4))
INFER = {"mpmd_infer_transfers": True, "mpmd_infer_cross_mesh_reductions": True}


def layer(h, w):
    # As many operations as bodies need to be shared by all microbatches.
    return jnp.tanh(h @ w) + jnp.sin(h) * jnp.cos(h)


def named(weights, x):
    h = mw.named_computation(layer, name="a")(x, weights[0])
    error = mw.named_computation(lambda h, w: (layer(h, w) ** 2).sum(), name="b")
    return error(h, weights[1])


def marked(weights, x):
    h = mw.stage_boundary(layer(x, weights[0]))
    return (layer(h, weights[1]) ** 2).sum()


def tied(weights, x):
    return named([weights[0], weights[0].T], x)


def replicated(tree):
    return jax.reshard(tree, P())


def batch(batches, index):
    return jax.reshard(batches[index], P("x"))


def by_calls(loss, weights, batches):
    total = None
    for i in range(PARTS):
        grads = mw.call(jax.grad(loss), call_counter=i)(weights, batch(batches, i))
        total = grads if total is None else jax.tree.map(jnp.add, total, grads)
    return total


def by_accumulate(loss, weights, batches):
    step = mw.pipeline.accumulate(jax.grad(loss), microbatches=PARTS, reduce="sum")
    return step(weights, [batch(batches, i) for i in range(PARTS)])


def by_mean(loss, weights, batches):
    step = mw.pipeline.accumulate(jax.grad(loss), microbatches=PARTS)
    return step(weights, [batch(batches, i) for i in range(PARTS)])


def zeros(weights):
    return jax.reshard(jax.tree.map(jnp.zeros_like, weights), P(unreduced={"x"}))


def by_loop(loss, weights, batches):
    batches = jax.reshard(batches, P(None, "x"))

    def body(i, total):
        grads = jax.grad(loss)(weights, jax.reshard(batches[i], P("x")))
        return jax.tree.map(jnp.add, total, grads)

    return mw.fori_loop(PARTS, body, zeros(weights))


def by_elements(loss, weights, batches):
    def body(total, i, x):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(weights, x))

    elements = [batch(batches, i) for i in range(PARTS)]
    return mw.enumerated_for(body, zeros(weights), elements)


def by_names_of_tensors(loss, weights, batches):
    first, second = by_calls(loss, weights, batches)
    return [mw.named_tensor(first, name="a"), mw.reduce(mw.broadcast(second))]


@functools.cache
def step_of(way, loss):
    def step(weights, batches):
        whole = jax.reshard(weights, P(reduced={"x"}))
        return replicated(way(loss, whole, batches))

    return step


def config_of(loss, meshes=MESHES, schedule=None):
    names = {} if loss is marked else {"a": "m0", "b": "m1"}
    options = {"partitioning_options": INFER}
    if schedule:
        options["pipeline_schedule"] = mw.get_pipeline_schedule(schedule)
    return mw.make_config(meshes, names, **options)


def compiled_of(step, config):
    with jax.sharding.use_abstract_mesh(config.sharding_mesh):
        return mw.jit(step, config).lower(WEIGHTS, BATCHES).compile()


@functools.cache
def expected_of(step):
    with jax.set_mesh(MESHES["m0"]):
        return jax.jit(step)(WEIGHTS, BATCHES)


def check(step, config):
    expected = expected_of(step)
    program = compiled_of(step, config)
    found = program(*program.place(WEIGHTS, BATCHES))
    for actual, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-4)
    return program


def sums_over_devices(program):
    return sum(
        found.count
        for all_of_mesh in program.traffic().collectives.values()
        for found in all_of_mesh
        if found.kind in ("all-reduce", "reduce-scatter")
    )


WAYS = [by_calls, by_accumulate, by_loop, by_elements, by_names_of_tensors]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_parts_of_named_computations_are_summed_once(way):
    program = check(step_of(way, named), config_of(named))
    assert sums_over_devices(program) <= len(WEIGHTS)


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
@pytest.mark.parametrize("way", [by_calls, by_accumulate, by_mean])
def test_parts_of_marked_stages_are_summed_once(way, schedule):
    program = check(step_of(way, marked), config_of(marked, schedule=schedule))
    assert sums_over_devices(program) <= len(WEIGHTS)


def test_parts_of_chunks_of_sequences_are_summed_once():
    def loss(weights, x, _):
        h = jnp.tanh(jax.reshard(x, P("x")) @ weights[0])
        return (jnp.tanh(mw.stage_boundary(h) @ weights[1]) ** 2).mean()

    def step(weights, batches):
        whole = jax.reshard(weights, P(reduced={"x"}))
        step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2, sequence_chunks=2)
        return replicated(step(whole, batches[:2].reshape(4, 4, 4))[1])

    program = check(step, config_of(marked, schedule="Seq1F1B"))
    # Two of weights, and one of the loss of each chunk.
    assert sums_over_devices(program) <= len(WEIGHTS) + 4


def test_without_such_types_each_microbatch_sums_its_gradients():
    def step(weights, batches):
        return by_accumulate(marked, weights, batches)

    program = check(step, config_of(marked, schedule="1F1B"))
    assert sums_over_devices(program) >= PARTS * len(WEIGHTS)


def test_parts_are_summed_into_split_weights():
    def step(weights, batches):
        split = jax.reshard(weights, P("x"))
        whole = jax.reshard(split, P(reduced={"x"}))
        return jax.reshard(by_calls(named, whole, batches), P("x"))

    program = check(step, config_of(named))
    assert sums_over_devices(program) <= len(WEIGHTS)
    assert all(s.spec == P("x") for s in program.output_shardings)


def test_parts_of_a_weight_of_both_meshes_meet_before_they_are_summed():
    program = check(step_of(by_calls, tied), config_of(tied))
    assert sums_over_devices(program) == 1


def test_parts_can_be_results_and_arguments():
    def parts(weights, batches):
        return by_calls(named, jax.reshard(weights, P(reduced={"x"})), batches)

    config = config_of(named)
    first = compiled_of(parts, config)
    found = first(*first.place(WEIGHTS, BATCHES))
    assert all(grad.sharding.spec.unreduced == {"x"} for grad in found)
    assert sums_over_devices(first) == 0

    def add_up(grads):
        return [
            mw.named_computation(lambda g: replicated(g + g), name=name)(grad)
            for name, grad in zip("ab", grads, strict=True)
        ]

    with jax.sharding.use_abstract_mesh(config.sharding_mesh):
        summed = mw.jit(add_up, config)(found)
    expected = expected_of(step_of(by_calls, named))
    for actual, wanted in zip(summed, expected, strict=True):
        np.testing.assert_allclose(actual, 2 * wanted, rtol=1e-4, atol=1e-4)


def test_annotations_of_parts_are_transparent_to_jax():
    def step(weights, batches):
        whole = jax.reshard(weights, P(reduced={"x"}))
        grads = by_names_of_tensors(named, whole, batches)
        return replicated(mw.stage_boundary(grads))

    with jax.set_mesh(MESHES["m0"]):
        found = jax.jit(step)(WEIGHTS, BATCHES)
    expected = expected_of(step_of(by_calls, named))
    for actual, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-6)


def test_meshes_may_differ_where_parts_stay_on_theirs():
    check(step_of(by_calls, named), config_of(named, WIDER))


def test_parts_do_not_go_to_a_mesh_of_other_axes():
    with pytest.raises(RuntimeError, match='over axis "x" go to mesh.*jax.reshard'):
        compiled_of(step_of(by_calls, tied), config_of(tied, WIDER))
