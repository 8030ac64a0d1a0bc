"""`mw.auto`: stages of equal cost, cut where little is sent, without a mark."""

import functools
import io
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import Mesh
from meshwright.staging.search import (
    SLACK,
    Line,
    best_cuts,
    best_cuts_within,
    cuts_of_several,
    make_line,
)

import meshwright as mw

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
TWO = dict(list(MESHES.items())[:2])


def normal(draw, *shape):
    return np.float32(0.1 * draw.standard_normal(shape))


def draws():
    return np.random.default_rng(0)


def norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def attention(layer, x):
    q, k, v = (x @ layer[name] for name in "qkv")
    scores = jnp.einsum("btd,bsd->bts", q, k)
    mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bts,bsd->btd", weights, v) @ layer["o"]


def gpt(params, tokens):
    x = params["embed"][tokens]
    for layer in params["layers"]:
        x = x + attention(layer, norm(x))
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    return norm(x) @ params["embed"].T


def make_gpt(layers=8, width=16, vocabulary=16, length=8):
    k = draws()
    sides = {name: (width, width) for name in "qkvo"}
    sides |= {"up": (width, 4 * width), "down": (4 * width, width)}
    params = {
        "embed": normal(k, vocabulary, width),
        "layers": [
            {name: normal(k, *side) for name, side in sides.items()}
            for _ in range(layers)
        ],
    }
    tokens = k.integers(0, vocabulary, (4, length), np.int32)

    def loss(params, tokens, wanted):
        found = jax.nn.log_softmax(gpt(params, tokens))
        return -jnp.take_along_axis(found, wanted[..., None], -1).mean()

    return loss, params, tokens, np.roll(tokens, 1, -1)


def conv(x, w, stride=1):
    dims = ("NHWC", "HWIO", "NHWC")
    window = (stride, stride)
    return jax.lax.conv_general_dilated(x, w, window, "SAME", dimension_numbers=dims)


def resnet(params, x):
    x = jax.nn.relu(conv(x, params["stem"]))
    for block in params["blocks"]:
        stride = 2 if "short" in block else 1
        h = conv(jax.nn.relu(conv(x, block["a"], stride)), block["b"])
        short = conv(x, block["short"], stride) if "short" in block else x
        x = jax.nn.relu(h + short)
    return x.mean((1, 2)) @ params["head"]


def make_resnet(groups=3, size=4):
    k = draws()
    blocks, width = [], 4
    for group in range(groups):
        for number in range(size):
            wide = width * 2 if group and not number else width
            block = {
                "a": normal(k, 3, 3, width, wide),
                "b": normal(k, 3, 3, wide, wide),
            }
            if wide != width:
                block["short"] = normal(k, 1, 1, width, wide)
            blocks.append(block)
            width = wide
    params = {
        "stem": normal(k, 3, 3, 3, 4),
        "blocks": blocks,
        "head": normal(k, width, 5),
    }

    def loss(params, x, y):
        return ((resnet(params, x) - y) ** 2).mean()

    return loss, params, normal(k, 2, 8, 8, 3), normal(k, 2, 5)


def make_step(loss):
    def step(params, x, y):
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss), 2, batch_argnums=(1, 2)
        )(params, x, y)
        return jax.tree.map(lambda w, g: w - 0.01 * g, params, grads), value

    return step


def stage_flops(lowered):
    """What the compiler counts, over all microbatches."""
    return [cost["flops"] for cost in lowered.cost_analysis().values()]


@functools.cache
def divided(make):
    """A training step over four meshes, and what it was lowered to."""
    loss, *args = make()
    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.auto(make_step(loss), MESHES, pipeline_schedule=schedule)
    return jitted, jitted.lower(*args)


@pytest.mark.parametrize("make", [make_gpt, make_resnet])
def test_stages_are_even(make):
    jitted, lowered = divided(make)
    flops = stage_flops(lowered)
    assert max(flops) <= 1.1 * np.mean(flops)
    (division,) = jitted.divisions
    # Of one of two microbatches, with its share of the optimizer.
    np.testing.assert_allclose(np.array(flops) / 2, division.flops, rtol=0.05)


@pytest.mark.parametrize(
    "made", [make_gpt(2), make_resnet(2, 1)], ids=["gpt", "resnet"]
)
def test_training_equals_that_of_the_whole(made):
    loss, params, x, y = made
    step = make_step(loss)
    jitted = mw.auto(step, TWO, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    ours = theirs = params
    for _ in range(2):
        ours, mine = jitted(ours, x, y)
        theirs, value = jax.jit(step)(theirs, x, y)
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_parameters_of_a_transformer_stay_with_their_layers():
    homes = divided(make_gpt)[1].function_mesh_assignment.input_meshes[0]["layers"]
    assert [set(layer.values()) for layer in homes] == [
        {f"m{number // 2}"} for number in range(8)
    ]


WIDTHS = [8, 4, 16, 8, 12, 8, 4, 16, 8]


def narrow(ws, x, y, mark_at=()):
    for number, w in enumerate(ws):
        x = jnp.tanh(x @ w)
        if number in mark_at:
            x = mw.stage_boundary(x)
    return ((x - y) ** 2).mean()


def test_no_other_cut_sends_much_less():
    """Beside all ways to mark two or three stages between the layers that are even."""
    k = draws()
    ws = [normal(k, a, b) for a, b in itertools.pairwise(WIDTHS)]
    x, y = normal(k, 6, WIDTHS[0]), normal(k, 6, WIDTHS[-1])
    # The product of a layer and its derivatives, of which the first one has one.
    work = [(3 if number else 2) * w.size for number, w in enumerate(ws)]

    def measure(lowered):
        costs = list(lowered.cost_analysis().values())
        flops = [cost["flops"] for cost in costs]
        evenness = max(flops) / np.mean(flops)
        return evenness, sum(cost["bytes_transferred"] for cost in costs)

    for meshes in (TWO, dict(list(MESHES.items())[:3])):
        found = mw.auto(jax.value_and_grad(narrow), meshes).lower(ws, x, y)
        evenness, sent = measure(found)
        assert evenness <= 1.1
        others = []
        for marks in itertools.combinations(range(len(ws) - 1), len(meshes) - 1):
            parts = np.split(work, [mark + 1 for mark in marks])
            if max(map(sum, parts)) > 1.3 * sum(work) / len(parts):
                continue  # Far from even, also with all that is not counted here.
            marked = jax.value_and_grad(functools.partial(narrow, mark_at=marks))
            config = mw.make_config(meshes)
            others.append(measure(mw.jit(marked, config).lower(ws, x, y)))
        assert sent <= 1.2 * min(sent for even, sent in others if even <= 1.1)


def test_search_finds_what_trying_all_finds():
    rng = np.random.default_rng(0)
    for count, parts in [(7, 2), (8, 3), (9, 4), (6, 6)] * 10:
        cost = rng.integers(1, 10, count).astype(float)
        spans = [
            (*sorted(rng.integers(0, count, 2)), int(rng.integers(1, 9)))
            for _ in range(2 * count)
        ]
        line = make_line(list(cost), spans)
        for cut in range(1, count):
            want = sum(size for first, last, size in spans if first < cut <= last)
            assert line.crossing[cut] == want

        def worst(cuts, cost=cost):
            return max(part.sum() for part in np.split(cost, cuts))

        ways = list(itertools.combinations(range(1, count), parts - 1))
        limit = SLACK * cost.sum() / parts
        if min(map(worst, ways)) > limit:
            limit = 1.02 * min(map(worst, ways))
        allowed = [cuts for cuts in ways if worst(cuts) <= limit]
        least = min(line.crossing[list(cuts)].sum() for cuts in allowed)
        found = best_cuts(line, parts)
        assert worst(found) <= limit * (1 + 1e-6)
        assert line.crossing[found].sum() == least
    assert best_cuts(Line(np.ones(3), np.zeros(3)), 1) == []


def test_search_in_ranges_finds_what_trying_all_finds():
    rng = np.random.default_rng(0)
    for count, parts in [(7, 2), (8, 3), (9, 4)] * 10:
        line = Line(rng.integers(1, 10, count).astype(float), rng.random(count))
        ranges = [sorted(rng.integers(1, count, 2)) for _ in range(parts - 1)]

        def worst(cuts, line=line):
            return max(part.sum() for part in np.split(line.cost, cuts))

        ways = [
            cuts
            for cuts in itertools.combinations(range(1, count), parts - 1)
            if all(a <= c <= b for c, (a, b) in zip(cuts, ranges, strict=True))
        ]
        found = best_cuts_within(line, ranges)
        assert (found is None) == (not ways)
        if ways:
            least = min(map(worst, ways))
            limit = max(SLACK * line.cost.sum() / parts, least)
            assert tuple(found) in ways
            assert worst(found) <= 1.02 * limit * (1 + 1e-6)


def test_cuts_of_several_bodies_keep_the_limit_of_each():
    first, second = [4.0, 1, 1, 1, 1], [1.0, 1, 1, 1, 4]
    line = Line(np.add(first, second), np.array([0.0, 3, 1, 2, 3]))
    assert cuts_of_several(line, [first, second], [5.0, 6.0], 2) == [2]
    assert cuts_of_several(line, [first, second], [6.0, 5.0], 2) == [3]
    assert cuts_of_several(line, [first, second], [4.0, 4.0], 2) is None


def test_other_programs():
    k = draws()
    ws = [normal(k, 8, 8) for _ in range(8)]
    x = normal(k, 4, 8)

    def layer(w, x):
        return jnp.tanh(x @ w)

    def model(ws, x, layer=layer):
        for w in ws:
            x = layer(w, x)
        return (x**2).sum()

    functions = {
        "forward": model,
        "remat of layers": jax.value_and_grad(
            functools.partial(model, layer=jax.checkpoint(layer))
        ),
        "remat of all": jax.value_and_grad(jax.checkpoint(model)),
        "nested jit": jax.value_and_grad(jax.jit(model)),
        "vmap": jax.vmap(jax.grad(model), (None, 0)),
    }
    for name, function in functions.items():
        jitted = mw.auto(function, MESHES)
        found = jitted(ws, x)
        for a, b in zip(
            jax.tree.leaves(found),
            jax.tree.leaves(jax.jit(function)(ws, x)),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)
        assert jitted.divisions[0].evenness <= 1.1, name


def test_an_optimizer_that_computes_more_than_the_microbatches():
    """Microbatches are divided all the same, and each layer is in one stage."""
    k = draws()
    ws = [normal(k, 16, 16) for _ in range(2)]
    x = normal(k, 4, 16)

    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return (x**2).sum()

    def step(ws, x):
        _, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(ws, x)
        for _ in range(8):
            grads = [grad @ grad.T @ grad for grad in grads]
        return [w - grad for w, grad in zip(ws, grads, strict=True)]

    schedule = mw.get_pipeline_schedule("1F1B")
    lowered = mw.auto(step, TWO, pipeline_schedule=schedule).lower(ws, x)
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [2 * 16 * 4] * 4  # An activation and its gradient of each.


DECAYS = {
    "squares": lambda ws: sum((w**2).sum() for w in ws),
    "products": lambda ws: sum(((w.T @ w - jnp.eye(16)) ** 2).sum() for w in ws),
    "largest": lambda ws: functools.reduce(jnp.maximum, [jnp.abs(w).max() for w in ws]),
}


@pytest.mark.parametrize(
    ("decay", "is_first", "runs"),
    [
        ("squares", False, True),
        ("squares", True, False),
        ("products", False, False),
        ("products", True, True),
        ("largest", False, False),
        ("largest", True, True),
    ],
)
def test_a_decay_of_weights_is_computed_with_their_layers(decay, is_first, runs):
    """It is added to the loss at the end; there only numbers arrive. Each decay and
    each place is in a case that runs."""
    k = draws()
    ws = [normal(k, 16, 16) for _ in range(4)]
    x = normal(k, 4, 16)

    def loss(ws, x):
        first = DECAYS[decay](ws) if is_first else 0
        for w in ws:
            x = jnp.tanh(x @ w)
        return (x**2).sum() + 0.1 * (first if is_first else DECAYS[decay](ws))

    def step(ws, x):
        value, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(ws, x)
        return value, [w - g for w, g in zip(ws, grads, strict=True)]

    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.auto(step, TWO, pipeline_schedule=schedule)
    lowered = jitted.lower(ws, x)
    meshes = ["m0", "m0", "m1", "m1"]
    assert lowered.function_mesh_assignment.output_meshes[1] == meshes
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sorted(size for size in sent if size > 4) == [2 * 16 * 4] * 4
    if not runs:
        return
    value, new = jax.jit(step)(ws, x)
    found = jitted(ws, x)
    np.testing.assert_allclose(found[0], value, rtol=1e-5)
    for one, other in zip(found[1], new, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def descend(w, x):
    """A step so small that numbers do not grow from layer to layer."""
    return w - 0.1 * jax.grad(lambda w: jnp.tanh(x @ w).mean(0).sum())(w)


@pytest.mark.parametrize(
    "layer",
    [
        lambda w, x: x + jax.grad(lambda x: jnp.tanh(x @ w).sum())(x),
        lambda w, x: x @ descend(w, x),
        lambda w, x: x @ jax.lax.fori_loop(0, 2, lambda _, w: descend(w, x), w),
    ],
)
def test_layers_that_take_gradients_are_even(layer, caplog):
    k = draws()
    ws, x = [normal(k, 32, 32) for _ in range(4)], 3 * normal(k, 16, 32)

    def loss(ws, x, y):
        return ((functools.reduce(lambda x, w: layer(w, x), ws, x) - y) ** 2).mean()

    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.auto(make_step(loss), TWO, pipeline_schedule=schedule)
    flops = stage_flops(jitted.lower(ws, x, x))
    assert max(flops) <= 1.1 * np.mean(flops)
    assert not caplog.records
    found, wanted = jitted(ws, x, x), jax.jit(make_step(loss))(ws, x, x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_biases_of_layers_that_read_weights_twice_stay_with_their_gradients():
    """Their gradients need no saved value, which says nothing of where they belong."""
    k = draws()
    params = {f"s{i}": (normal(k, 32, 32), normal(k, 32)) for i in range(3)}
    x = normal(k, 6, 32)

    def loss(params, x):
        for w, b in jax.tree.map(
            lambda leaf: leaf.astype(jnp.bfloat16), list(params.values())
        ):
            x = jnp.tanh(x.astype(w.dtype) @ w) @ w.T + b
        return (x.astype(jnp.float32) ** 2).mean()

    def step(params, moments, x):
        grads = mw.pipeline.accumulate(jax.grad(loss), 3)(params, x)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        return jax.tree.map(jnp.subtract, params, moments), moments

    three = dict(list(MESHES.items())[:3])
    lowered = mw.auto(step, three).lower(params, params, x)
    assigned = lowered.function_mesh_assignment
    weights, moments, _ = assigned.input_meshes
    assert weights == moments == assigned.output_meshes[1]
    assert {w for w, _ in weights.values()} == set(three)


@pytest.mark.parametrize(
    "branch",
    [
        lambda w, x: 0.5 * jnp.tanh(x @ w),
        lambda w, x: 0.5 * (0.7 * jnp.tanh(x @ w)).reshape(2, -1, 16).reshape(x.shape),
        lambda w, x: jnp.tanh(x.astype("bfloat16") @ w.astype("bfloat16")).astype("f"),
        lambda w, x: jax.lax.map(jnp.tanh, (x @ w).T).T,
    ],
    ids=["scaled", "reshaped", "cast", "transposed"],
)
def test_a_residual_layer_sends_its_cotangent_once(branch):
    def loss(layers, x):
        for w in layers:
            x = x + branch(w, x)
        return (x**2).mean()

    layers, x = [jnp.eye(16)] * 8, jnp.ones((16, 16))
    step = mw.pipeline.accumulate(jax.grad(loss), 4)
    schedule = mw.get_pipeline_schedule("1F1B")
    lowered = mw.auto(step, MESHES, pipeline_schedule=schedule).lower(layers, x)
    items = lowered.partitioning_result.program["items"]
    sent = [item for item in items if item["kind"] == "transfer"]
    assert len(sent) == 4 * 2 * (len(MESHES) - 1)
    assert {item["bytes"] for item in sent} == {x.nbytes // 4}


def with_backward_rule(function, solve=None):
    """A layer whose rule takes a vector-Jacobian product, as implicit layers do."""

    @jax.custom_vjp
    def layer(w, x):
        return function(w, x, x) if solve is None else solve(w, x)

    def forward(w, x):
        out = layer(w, x)
        return out, (w, x, out)

    def backward(saved, cotangent):
        w, x, out = saved
        _, product = jax.vjp(lambda w, x: function(w, x, out), w, x)
        return product(cotangent)

    layer.defvjp(forward, backward)
    return layer


def recomputed(w, x, out):
    return jnp.tanh(x @ w)


def implicit(w, x, out):
    return jnp.tanh(out @ w + x)


def fixed_point(w, x):
    return jax.lax.fori_loop(0, 9, lambda _, out: implicit(w, x, out), 0 * x)


@pytest.mark.parametrize(
    "layer",
    [with_backward_rule(recomputed), with_backward_rule(implicit, fixed_point)],
    ids=["recomputed", "implicit"],
)
def test_derivatives_in_a_backward_rule_stay_with_their_layer(layer, caplog):
    def loss(layers, x):
        return (functools.reduce(lambda x, w: layer(w, x), layers, x) ** 2).mean()

    def step(layers, x):
        value, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 4)(layers, x)
        return jax.tree.map(lambda w, g: w - 0.1 * g, layers, grads), value

    k = draws()
    layers, x = [normal(k, 16, 16) for _ in range(4)], normal(k, 32, 16)
    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.auto(step, TWO, pipeline_schedule=schedule)
    lowered = jitted.lower(layers, x)
    assert not caplog.text
    homes = lowered.function_mesh_assignment.input_meshes[0]
    assert homes == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [x.nbytes // 4] * 8
    found, wanted = jitted(layers, x), jax.jit(step)(layers, x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "view",
    [
        lambda w: jax.lax.stop_gradient(w.astype("bfloat16")),
        lambda w: checkpoint_name(w.astype("bfloat16"), "base"),
        lambda w: (jnp.round(8 * w) / 8).astype("bfloat16"),
    ],
    ids=["frozen", "named", "quantized"],
)
def test_no_cut_between_a_weight_and_its_view(view):
    def loss(adapters, base, x):
        for (down, up), w in zip(adapters, map(view, base), strict=True):
            fixed = (x.astype("bfloat16") @ w).astype("float32")
            x = x + jnp.tanh(fixed + 2 * (x @ down) @ up)
        return (x**2).mean()

    adapters = [(jnp.ones((32, 4)), jnp.zeros((4, 32)))] * 4
    base, x = [jnp.eye(32)] * 4, jnp.ones((16, 32))
    step = mw.pipeline.accumulate(jax.grad(loss), 4, batch_argnums=2)
    schedule = mw.get_pipeline_schedule("1F1B")
    lowered = mw.auto(step, TWO, pipeline_schedule=schedule).lower(adapters, base, x)
    homes = lowered.function_mesh_assignment.input_meshes[1]
    assert homes == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [x.nbytes // 4] * 8


@pytest.mark.parametrize("has_zero_points", [False, True])
@pytest.mark.parametrize("is_in_front", [False, True])
def test_quantized_weights_stay_with_their_scales(has_zero_points, is_in_front):
    def whole(w, scale, zero):
        shifted = w.astype("float32") - zero if has_zero_points else w.astype("float32")
        return shifted * scale

    def loss(adapters, base, x):
        weights = (whole(*parts) for parts in base)
        weights = list(weights) if is_in_front else weights
        for (down, up), w in zip(adapters, weights, strict=True):
            x = x + jnp.tanh(x @ w + 2 * (x @ down) @ up)
        return (x**2).mean()

    adapters = [(jnp.ones((32, 4)), jnp.zeros((4, 32)))] * 4
    scale, zero = jnp.full((1, 32), 0.1), jnp.full((32,), 0.5)
    base = [(jnp.eye(32, dtype="int8"), scale, zero)] * 4
    x = jnp.ones((16, 32))
    step = mw.pipeline.accumulate(jax.grad(loss), 4, batch_argnums=2)
    schedule = mw.get_pipeline_schedule("1F1B")
    lowered = mw.auto(step, TWO, pipeline_schedule=schedule).lower(adapters, base, x)
    homes = lowered.function_mesh_assignment.input_meshes[1]
    assert [weight for weight, *_ in homes] == ["m0", "m0", "m1", "m1"]
    assert [scale for _, scale, _ in homes] == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [x.nbytes // 4] * 8


def test_each_operation_on_a_scale_is_looked_at_once():
    """Two paths from each product to the next are a million paths to the end."""

    def loss(weights, scales, x):
        for w, scale in zip(weights, scales, strict=True):
            for _ in range(40):
                scale = scale * (scale * 0.5)
            x = jnp.tanh(x @ w) * scale
        return (x**2).mean()

    weights, scales = [jnp.eye(32)] * 2, [jnp.ones(32)] * 2
    schedule = mw.get_pipeline_schedule("1F1B")
    step = mw.pipeline.accumulate(jax.grad(loss), 4, batch_argnums=2)
    jitted = mw.auto(step, TWO, pipeline_schedule=schedule)
    lowered = jitted.lower(weights, scales, jnp.ones((16, 32)))
    assert lowered.function_mesh_assignment.input_meshes[:2] == (["m0", "m1"],) * 2


def test_references_and_empty_gradients():
    def model(empty, w, x):
        ref = jax.new_ref(x)
        for _ in range(4):
            x = jnp.tanh(x @ w)
            ref[...] += x
        return (ref[...] ** 2).sum() * (1 + empty.sum())

    k = draws()
    args = jnp.zeros((0, 3)), normal(k, 8, 8), normal(k, 4, 8)
    for function in (
        jax.value_and_grad(model, 1),
        lambda *args: jnp.sin(jax.grad(model)(*args)),
    ):
        found, wanted = mw.auto(function, TWO)(*args), jax.jit(function)(*args)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_is_recomputed_stays_with_its_stage(caplog):
    loss, params, x, y = make_gpt(layers=2, width=8)
    schedule = mw.get_pipeline_schedule("1F1B")

    def lower(loss):
        return mw.auto(make_step(loss), TWO, pipeline_schedule=schedule).lower(
            params, x, y
        )

    plain = lower(loss).cost_analysis()
    found = lower(jax.checkpoint(loss)).cost_analysis()
    assert not caplog.records
    for mesh, costs in found.items():
        assert costs["fragments"] == plain[mesh]["fragments"]
        # At most the cotangent of a residual more, in each microbatch.
        assert costs["transfers"] <= plain[mesh]["transfers"] + 4
        assert costs["bytes_transferred"] <= 1.5 * plain[mesh]["bytes_transferred"]


def test_recomputed_layers_that_read_a_mask_of_the_batch_stay_in_their_stages():
    @jax.checkpoint
    def layer(w, x, mask):
        heads = (x @ w).reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)
        scores = jnp.where(mask, heads @ heads.swapaxes(2, 3), -1e9)
        heads = (jax.nn.softmax(scores) @ heads).swapaxes(1, 2)
        return x + jnp.tanh(heads.reshape(x.shape))

    def loss(weights, batch):
        x, segments = batch
        mask = (segments[:, :, None] == segments[:, None, :])[:, None]
        for w in weights:
            x = layer(w, x, mask)
        return (x**2).mean()

    weights, x = [jnp.eye(32)] * 4, jnp.ones((8, 4, 32))
    segments = jnp.zeros((8, 4), int)
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)
    schedule = mw.get_pipeline_schedule("1F1B")
    lowered = mw.auto(step, TWO, pipeline_schedule=schedule).lower(
        weights, (x, segments)
    )
    homes = ["m0", "m0", "m1", "m1"]
    assert lowered.function_mesh_assignment.input_meshes[0] == homes
    assert lowered.function_mesh_assignment.output_meshes[1] == homes
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    # Activations and their cotangents; the rest is the segments, or a mask of them.
    activation = x.nbytes // 2
    assert max(sent) == activation
    assert sum(sent) <= 4 * activation + 2 * segments.nbytes


def test_report_says_where_and_why():
    with pytest.raises(RuntimeError, match="nothing is divided yet"):
        mw.auto(make_step(narrow), TWO).report()
    out = io.StringIO()
    divided(make_gpt)[0].report(out)
    text = out.getvalue()
    assert "stage 0 on m0" in text and "stage 1 on m1" in text
    assert "test_auto.py:" in text and "bytes cross" in text

    def scanned(stacked, x):
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, stacked)[0].sum()

    jitted = mw.auto(scanned, TWO)
    jitted.lower(jnp.ones((6, 8, 8)), jnp.ones((4, 8)))
    out = io.StringIO()
    jitted.report(out)
    assert "uneven because of scan" in out.getvalue()
    assert "mw.jit divides its layers, with mw.pipeline.scan" in out.getvalue()


LENGTHS = {"norm": jnp.linalg.norm, "largest": lambda v: jnp.abs(v).max()}


@pytest.mark.parametrize(
    ("length", "reads", "runs"),
    [
        ("norm", "first layer", False),
        ("norm", "every layer", True),
        ("norm", "variance", True),
        ("largest", "first layer", True),
        ("largest", "every layer", False),
        ("largest", "variance", False),
    ],
)
def test_a_number_of_all_weights_may_be_needed_before_their_layers(length, reads, runs):
    """Activations, their derivatives and numbers are sent, whatever reads it. Each
    length, and each reader, is in a case that runs."""
    k, length = draws(), LENGTHS[length]
    ws = [normal(k, 8, 8) for _ in range(4)]

    def loss(ws, x):
        whole = jnp.concatenate([w.ravel() for w in ws])
        number = 1 + length(whole - whole.mean() if reads == "variance" else whole)
        if reads == "first layer":
            x = x / number
        for w in ws:
            x = jnp.tanh(x @ (w / number if reads == "every layer" else w))
        return (x**2).mean() + number

    step, x = mw.pipeline.accumulate(jax.value_and_grad(loss), 2), jnp.ones((4, 8))
    lowered = mw.jit(step, mw.auto_config(TWO)).lower(ws, x)
    assigned = lowered.function_mesh_assignment
    assert assigned.input_meshes[0] == ["m0", "m0", "m1", "m1"]
    assert assigned.output_meshes[1] == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sum(size for size in sent if size > 4) == 2 * 2 * 2 * 8 * 4
    if not runs:
        return
    compiled = lowered.compile()
    found, wanted = compiled(*compiled.place(ws, x)), jax.jit(step)(ws, x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_layers_in_a_scan_are_one_piece_and_that_is_said(caplog):
    def step(stacked, x):
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, stacked)[0].sum()

    args = jnp.ones((6, 8, 8)), jnp.ones((4, 8))
    for jitted in (mw.auto(step, TWO), mw.jit(step, mw.auto_config(TWO))):
        caplog.clear()
        jitted.lower(*args)
        jitted.lower(*args)
        (record,) = [r for r in caplog.records if r.levelname == "WARNING"]
        text = record.getMessage()
        assert "test_auto.py:" in text and "has this scan in one piece" in text
        assert "mw.pipeline.scan in its place divides the layers" in text


def test_bad_input():
    with pytest.raises(ValueError, match="num_stages is 5, but there are 4 meshes"):
        mw.auto(gpt, MESHES, num_stages=5)
    with pytest.raises(ValueError, match="num_stages must be 1 or more"):
        mw.auto(gpt, MESHES, num_stages=0)
    with pytest.raises(TypeError, match="no option 'schedule'"):
        mw.auto(gpt, MESHES, schedule="1F1B")
    with pytest.raises(ValueError, match=r"all are of hosts \(/cpu\): a/cpu"):
        mw.auto(gpt, {"a/cpu": MESHES["m0"]})
    with pytest.raises(ValueError, match="num_stages"):
        schedule = mw.get_pipeline_schedule("Interleaved1F1B")
        mw.auto(gpt, MESHES, num_stages=5, pipeline_schedule=schedule)
    with pytest.raises(ValueError, match="stage_boundary under mw.auto"):
        mw.auto(lambda x: mw.stage_boundary(2 * x) + 1, TWO).lower(jnp.ones(3))
    with pytest.raises(ValueError, match="4 stages of a function with 1 operations"):
        mw.auto(lambda x: 2 * x, MESHES).lower(jnp.ones(3))
    with pytest.raises(ValueError, match=r"test_auto.py:.* Replace it by mw.pipeline"):
        mw.auto(lambda x: jax.lax.scan(lambda c, x: (c + x, c), x, x), MESHES).lower(
            jnp.ones((3, 3))
        )
    whole = {
        "loop": lambda flag: jax.lax.while_loop(lambda i: i < 3, lambda i: i + 1, flag),
        "choice": lambda flag: jax.lax.cond(flag, lambda: 1.0, lambda: 2.0),
    }
    for name, function in whole.items():
        match = rf"the {name} at .*test_auto.py:.* is one of them, and runs on one mesh"
        with pytest.raises(ValueError, match=match):
            mw.auto(function, MESHES).lower(jnp.int32(1))
