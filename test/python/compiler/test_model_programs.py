"""Programs as people write them: partitioned, run, erased, and compared with JAX.

Each is a small model with one feature that has to survive the way through the
compiler and the runtime. They run once through `mw.jit` and, erased, as a plain
module; `meshwright partition` must make the same of the same module.
"""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from support import numerics, peer

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

named = mw.named_computation
TRANSFERS = {"mpmd_infer_transfers": True}


def topology(count, size=1, **options):
    devices = np.array(jax.devices()[: count * size]).reshape(count, size)
    return {f"m{i}": Mesh(row, "x", **options) for i, row in enumerate(devices)}


def normal(seed, *shape):
    return 0.3 * jax.random.normal(jax.random.PRNGKey(seed), shape, jnp.float32)


def mixture_of_experts():
    """Routing with top-k, experts as one ragged product, tokens put back."""

    def route(w, x):
        values, experts = jax.lax.top_k(jax.nn.softmax(x @ w), 2)
        return values / values.sum(-1, keepdims=True), experts

    def apply(w1, w2, x, values, experts):
        flat = experts.reshape(-1)
        order = jnp.argsort(flat, stable=True)
        sizes = jnp.bincount(flat, length=w1.shape[0]).astype(jnp.int32)
        hidden = jax.nn.gelu(jax.lax.ragged_dot(x[order // 2], w1, sizes))
        out = jax.lax.ragged_dot(hidden, w2, sizes) * values.reshape(-1)[order][:, None]
        return jnp.zeros_like(x).at[order // 2].add(out)

    def loss(p, x):
        chosen = named(route, name="router")(p["router"], x)
        y = named(apply, name="experts")(p["w1"], p["w2"], x, *chosen)
        return named(lambda a, b: ((a + b) ** 2).mean(), name="loss")(x, y)

    params = {"router": normal(0, 8, 4), "w1": normal(1, 4, 8, 6)}
    params["w2"] = normal(2, 4, 6, 8)
    names = {"router": "m0", "experts": "m1", "loss": "m1"}
    return jax.value_and_grad(loss), (params, normal(3, 12, 8)), names, {}


def convolutions_with_running_statistics():
    """State goes in donated and comes out as an auxiliary result."""

    def block(p, state, x, stride):
        x = jax.lax.conv_general_dilated(
            x,
            p["w"],
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = jax.nn.relu((x - mean) * jax.lax.rsqrt(var + 1e-5) * p["scale"])
        state = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, state, (mean, var))
        return x, state

    def head(w, x, labels):
        x = jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
        scores = jax.nn.log_softmax(x.mean((1, 2)) @ w)
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def loss(params, state, x, labels):
        state = dict(state)
        for name, stride in (("b0", 1), ("b1", 2)):
            layer = named(block, name=name, static_argnames="stride")
            x, state[name] = layer(params[name], state[name], x, stride)
        return named(head, name="head")(params["head"], x, labels), state

    def step(params, state, x, labels):
        grad = jax.value_and_grad(loss, has_aux=True)
        (value, state), grads = grad(params, state, x, labels)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state, value

    params = {"b0": {"w": normal(0, 3, 3, 3, 4)}, "b1": {"w": normal(1, 3, 3, 4, 4)}}
    for layer in params.values():
        layer["scale"] = jnp.ones(4)
    params["head"] = normal(2, 4, 5)
    state = {name: (jnp.zeros(4), jnp.ones(4)) for name in ("b0", "b1")}
    args = params, state, normal(3, 2, 8, 8, 3), jnp.array([1, 4])
    names = {"b0": "m0", "b1": "m1", "head": "m1"}
    return step, args, names, {"donate": (0, 1)}


def decoding_with_caches():
    """Caches are updated in place at a position that is known at run time."""

    def layer(p, cache, x, position):
        query, *new = jnp.split(x @ p["qkv"], 3, -1)
        cache = [
            jax.lax.dynamic_update_slice(old, part[:, None], (0, position, 0))
            for old, part in zip(cache, new, strict=True)
        ]
        keys, values = cache
        scores = jnp.einsum("bd,btd->bt", query, keys)
        scores = jnp.where(jnp.arange(keys.shape[1])[None] <= position, scores, -1e9)
        x = x + jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), values) @ p["out"]
        return x, cache

    def decode(params, caches, tokens, position):
        x = named(lambda e, t: e[t], name="embed")(params["embed"], tokens)
        after = []
        for i, (p, cache) in enumerate(zip(params["layers"], caches, strict=True)):
            x, cache = named(layer, name=f"layer{i}")(p, cache, x, position)
            after.append(cache)
        logits = named(lambda e, x: x @ e.T, name="unembed")(params["embed"], x)
        return jnp.argmax(logits, -1), after, position + 1

    layers = [{"qkv": normal(i, 4, 12), "out": normal(9 + i, 4, 4)} for i in range(2)]
    caches = [[jnp.zeros((2, 5, 4))] * 2 for _ in range(2)]
    caches = jax.tree.map(jnp.copy, caches)
    params = {"embed": normal(5, 10, 4), "layers": layers}
    names = {"embed": "m0", "layer0": "m0", "layer1": "m1", "unembed": "m0"}
    args = params, caches, jnp.array([1, 3]), jnp.int32(2)
    return decode, args, names, {"donate": (1, 3), "options": TRANSFERS}


def dropout_with_hardware_keys():
    """Keys are split outside of the computations and used on two meshes."""

    def layer(w, key, x):
        x = jax.nn.relu(x @ w)
        return jnp.where(jax.random.bernoulli(key, 0.8, x.shape), x / 0.8, 0)

    def loss(params, key, x):
        for i, part in enumerate(jax.random.split(key, 2)):
            x = named(layer, name=f"layer{i}")(params[i], part, x)
        return (x**2).mean(), key

    grad = jax.value_and_grad(loss, has_aux=True)
    args = [normal(0, 4, 4), normal(1, 4, 4)], jax.random.key(3, impl="rbg")
    names = {"layer0": "m0", "layer1": "m1"}
    return grad, (*args, normal(2, 6, 4)), names, {"options": TRANSFERS}


def clipped_adam_over_a_loop_of_calls():
    """Gradients add up in a loop; their norm reduces over all meshes."""

    def loss(params, x, y):
        for i, p in enumerate(params):
            x = named(lambda p, x: jnp.tanh(x @ p["w"] + p["b"]), name=f"l{i}")(p, x)
        return named(lambda x, y: ((x - y) ** 2).mean(), name="loss")(x, y)

    def step(state, xs, ys):
        params, mean, var, count = state

        def body(i, total):
            x, y = (
                jax.lax.dynamic_index_in_dim(a, i, keepdims=False) for a in (xs, ys)
            )
            return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(params, x, y))

        zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        value, grads = mw.fori_loop(3, body, zero)
        norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        var = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, var, grads)
        count = count + 1
        scale = 1 - 0.9 ** count.astype(jnp.float32)
        params = jax.tree.map(
            lambda p, m, v: p - 0.01 * m / scale / (jnp.sqrt(v) + 1e-8),
            params,
            mean,
            var,
        )
        return (params, mean, var, count), value, norm

    params = [{"w": normal(i, 6, 6), "b": normal(4 + i, 6)} for i in range(3)]
    zeros = functools.partial(jax.tree.map, jnp.zeros_like)
    args = (params, zeros(params), zeros(params), jnp.int32(0)), normal(8, 3, 4, 6)
    names = {"l0": "m0", "l1": "m1", "l2": "m2", "loss": "m2"}
    marks = {"stages": {"l0": 0, "l1": 1, "l2": 2, "loss": 2}, "donate": 0}
    options = {**TRANSFERS, "mpmd_infer_cross_mesh_reductions": True}
    options["mpmd_pipeline_schedule"] = "1F1B"
    return step, (*args, normal(9, 3, 4, 6)), names, marks | {"options": options}


def spectra_and_triangular_solves():
    """Complex values cross meshes, library calls run inside of fragments."""

    def solve(w, f):
        low = jnp.linalg.cholesky(w @ w.T + jnp.eye(w.shape[0]))
        parts = jnp.stack([f.real, f.imag], -1)
        solved = jax.scipy.linalg.solve_triangular(low, parts, lower=True)
        return jax.lax.complex(solved[..., 0], solved[..., 1])

    def loss(w, x):
        f = named(jnp.fft.rfft, name="forward")(x)
        y = named(lambda f: jnp.fft.irfft(f), name="back")(
            named(solve, name="solve")(w, f)
        )
        return named(lambda y: (jnp.cumsum(y) ** 2).mean(), name="back")(y)

    names = {"forward": "m0", "solve": "m1", "back": "m2"}
    return jax.value_and_grad(loss), (normal(0, 5, 5), normal(1, 8)), names, {}


def bodies_with_control_flow():
    """Loops and branches, some of them between the computations."""

    def newton(a, x):
        def going(c):
            return (c[1] < 20) & (jnp.abs(c[0] ** 2 - a).max() > 1e-5)

        return jax.lax.while_loop(
            going, lambda c: ((c[0] + a / c[0]) / 2, c[1] + 1), (x, 0)
        )

    def choose(n, y):
        return jax.lax.switch(n % 3, [lambda y: y, jnp.negative, jnp.sin], y)

    def solve(a, x):
        y, n = named(newton, name="newton")(a, x)
        y = jax.lax.fori_loop(0, 3, lambda i, y: y + a * i, y)
        return named(choose, name="choose")(n, y), n, y

    names = {"newton": "m0", "choose": "m1"}
    args = jnp.array([2.0, 3.0, 9.0]), jnp.ones(3)
    return solve, args, names, {"options": TRANSFERS}


def what_goes_in_comes_out():
    """Inputs, constants and repeated values as results, and donated inputs."""

    def step(p, x, unused):
        h = named(lambda w, x: x @ w + jnp.arange(4.0), name="a")(p["w"], x)
        y = named(jnp.sin, name="b")(h)
        return {"p": p, "h": (h, h), "y": y, "again": y, "c": 3, "x": x, "u": unused}

    args = {"w": normal(0, 4, 4), "v": normal(1, 3)}, normal(2, 2, 4), normal(3, 5)
    marks = {"options": TRANSFERS, "donate": (0, 1, 2)}
    out = {"p": "m1", "h": ("m1", "m0"), "y": "m0", "again": "m1", "c": "m1", "x": None}
    return step, args, {"a": "m0", "b": "m1"}, marks | {"outputs": out | {"u": "m1"}}


PROGRAMS = [
    mixture_of_experts,
    convolutions_with_running_statistics,
    decoding_with_caches,
    dropout_with_hardware_keys,
    clipped_adam_over_a_loop_of_calls,
    spectra_and_triangular_solves,
    bodies_with_control_flow,
    what_goes_in_comes_out,
]


def plain(value):
    """A typed key as its numbers, anything else as an array."""
    if jnp.issubdtype(jnp.asarray(value).dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(value))
    return np.asarray(value)


def check(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(plain(a), plain(b), rtol=1e-3, atol=1e-5)


def lower(function, args, meshes, names, marks, types=None):
    config = mw.make_config(
        meshes,
        names,
        name_to_stage_assignment=marks.get("stages"),
        output_mesh_assignment=marks.get("outputs", ()),
        partitioning_options=marks.get("options"),
    )
    jitted = mw.jit(function, config, donate_argnums=marks.get("donate"))
    return jitted.lower(*(types or args))


def run(lowered, args):
    compiled = lowered.compile()

    def place(leaf, sharding):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(
            leaf.dtype, jax.dtypes.prng_key
        ):
            return jax.device_put(leaf, sharding)
        return jax.device_put(np.array(leaf), sharding)

    return compiled(*jax.tree.map(place, args, compiled.input_shardings[0]))


def command_line_config(lowered, meshes, names, marks):
    """What `meshwright partition` has to be given to do the same."""
    stages, kept = marks.get("stages", {}), sorted(lowered.kept_inputs_indices)
    config = {
        "topology": {name: dict(mesh.shape) for name, mesh in meshes.items()},
        "assignment": {
            name: [mesh, stages[name]] if name in stages else mesh
            for name, mesh in names.items()
        },
        "donate": [i for i, k in enumerate(kept) if k in lowered.donate_argnums],
        "options": marks.get("options", {}),
    }
    if "outputs" in marks:
        outputs = lowered.function_mesh_assignment.output_meshes
        config["output_meshes"] = jax.tree.leaves(outputs)
    return json.dumps(config)


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_runs_and_erases_to_what_jax_computes(tools, tmp_path, make):
    function, args, names, marks = make()
    expected = jax.jit(function)(*args)
    meshes = topology(len(set(names.values())))
    lowered = lower(function, args, meshes, names, marks)
    assert lowered.mpmd_module.operation.verify()
    check(run(lowered, args), expected)

    module = lowered.partitioning_result.module_text
    erased = tools.check("meshwright", "erase", "-", stdin=module)
    flat = [plain(leaf) for leaf in jax.tree.leaves(args)]
    kept = [flat[index] for index in sorted(lowered.kept_inputs_indices)]
    check(numerics.run(erased, kept), [plain(x) for x in jax.tree.leaves(expected)])

    config = tmp_path / "config.json"
    config.write_text(command_line_config(lowered, meshes, names, marks))
    source = lowered.as_text("stablehlo")
    text = tools.check(
        "meshwright", "partition", "-", f"--config={config}", "-o=-", stdin=source
    )
    assert peer.count(text) == peer.count(lowered.as_text())


# meshes of several devices


def language_model(mesh):
    """Attention split over heads, embedding tied between first and last mesh."""

    def split(x, *spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def layer(p, x):
        q, k, v = (
            split(jnp.einsum("btd,dhe->bhte", x, w), None, "x") for w in p["qkv"]
        )
        scores = jax.nn.softmax(jnp.einsum("bhte,bhse->bhts", q, k))
        mixed = jnp.einsum("bhts,bhse->bthe", scores, v)
        return x + jnp.einsum("bthe,hed->btd", mixed, p["out"])

    def loss(p, tokens):
        x = named(lambda e, t: e[t], name="embed")(p["embed"], tokens)
        for i, part in enumerate(p["layers"]):
            x = named(layer, name=f"layer{i}")(part, x)

        def score(e, x, t):
            scores = jax.nn.log_softmax(x @ e.T)
            return -jnp.take_along_axis(scores, t[..., None], -1).mean()

        return named(score, name="score")(p["embed"], x, tokens)

    def train(p, batches):
        total = None
        for i in range(batches.shape[0]):
            step = mw.call(jax.value_and_grad(loss), call_counter=i)
            part = step(p, batches[i])
            total = part if total is None else jax.tree.map(jnp.add, total, part)
        value, grads = total
        return jax.tree.map(lambda a, g: a - 0.1 * g, p, grads), value

    return train


def test_sharded_language_model_trains_like_jax():
    meshes = topology(2, 2)
    train = language_model(meshes["m0"].abstract_mesh)
    layers = [
        {
            "qkv": tuple(normal(3 * i + j, 4, 2, 2) for j in range(3)),
            "out": normal(7, 2, 2, 4),
        }
        for i in range(2)
    ]
    params = {"embed": normal(8, 10, 4), "layers": layers}
    tokens = jax.random.randint(jax.random.PRNGKey(1), (2, 4, 6), 0, 10)
    rows = NamedSharding(meshes["m0"], P(None, "x"))
    types = params, jax.ShapeDtypeStruct(tokens.shape, tokens.dtype, sharding=rows)
    names = {"embed": "m0", "layer0": "m0", "layer1": "m1", "score": "m1"}
    stages = {"embed": 0, "layer0": 0, "layer1": 1, "score": 1}
    options = {**TRANSFERS, "mpmd_pipeline_schedule": "ZeroBubbleH1"}
    options["mpmd_split_bwd_fragments"] = True
    marks = {"stages": stages, "options": options, "donate": 0}
    lowered = lower(train, (params, tokens), meshes, names, marks, types)
    check(run(lowered, (params, tokens)), jax.jit(train)(params, tokens))


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_collectives_by_hand_give_what_jax_computes(axis_type):
    meshes = topology(2, 2, axis_types=(axis_type,))
    mesh = meshes["m0"]

    def local(w, x):
        total = jax.lax.psum(x @ w, "x")
        whole = jax.lax.all_gather(x, "x", axis=1, tiled=True)
        whole = whole * (1.0 + jax.lax.axis_index("x"))
        own = jax.lax.psum_scatter(whole, "x", scatter_dimension=1, tiled=True)
        return total + jax.lax.ppermute(total, "x", [(0, 1), (1, 0)]), own

    specs = {"in_specs": (P("x"), P(None, "x")), "out_specs": (P(), P(None, "x"))}
    mapped = jax.shard_map(local, mesh=mesh, check_vma=False, **specs)

    def loss(w, x):
        y, own = named(mapped, name="a")(w, x)
        z, own = named(mapped, name="b")(w, own)
        return named(lambda z, own: z.sum() + (own**2).sum(), name="b")(z, own), y

    grad = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    args = tuple(
        jax.device_put(normal(i, *shape), NamedSharding(mesh, spec))
        for i, (shape, spec) in enumerate([((4, 4), P("x")), ((2, 4), P(None, "x"))])
    )
    lowered = lower(grad, args, meshes, {"a": "m0", "b": "m1"}, {"options": TRANSFERS})
    check(run(lowered, args), jax.jit(grad)(*args))
