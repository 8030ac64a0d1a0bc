"""FLOPs of fragments are those that XLA's cost analysis counts.

XLA's are of the program before it is optimized. It takes loops to run once, where the
compiler knows better, and counts a running sum as a sum of its own for each element.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import xla_bridge
from jaxlib import _jax
from jaxlib.mlir import ir  # noqa: F401  (registers what parses the text)
from support.tools import PROGRAMS

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")


def counted_by_xla(text: str) -> dict[str, float]:
    computation = _jax.mlir.mlir_module_to_xla_computation(
        text, use_tuple_args=False, return_tuple=False
    )
    return _jax.hlo_module_cost_analysis(
        xla_bridge.get_backend("cpu"), computation.get_hlo_module()
    )


def check(fragments, least=0):
    """Compares pairs of FLOPs and the text of a module."""
    compared = 0
    for flops, text in fragments:
        found = counted_by_xla(text).get("flops", 0.0)
        assert flops == pytest.approx(found, rel=0.01, abs=2), text[:400]
        compared += found > 0
    assert compared >= least


def in_folder(folder):
    schedule = json.loads((folder / "schedule.json").read_text())
    for fragment in schedule["fragments"]:
        name = fragment["name"]
        yield fragment["flops"], (folder / "fragments" / f"{name}.mlir").read_text()


def lowered(function, *shapes):
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    config = mw.make_config({"m": mesh}, {"f": "m"})
    step = mw.jit(mw.named_computation(function, name="f"), config)
    return of_lowered(step.lower(*shapes))


def of_lowered(lowered):
    result = lowered.partitioning_result
    for fragment in result.program["fragments"]:
        yield fragment["flops"], result.fragments[fragment["name"]]


def test_gpt(tools, tmp_path):
    program = PROGRAMS / "mpmd" / "gpt_4_4_4"
    tools.check(
        "meshwright",
        "partition",
        f"{program}.mlir",
        f"--config={program}.json",
        "-o",
        tmp_path / "out",
    )
    check(in_folder(tmp_path / "out"), least=12)


@pytest.mark.parametrize("name", ["resnet", "mlp"])
def test_whole_training_steps(tools, tmp_path, name):
    config = tmp_path / "one.json"
    config.write_text(
        json.dumps(
            {
                "topology": {"m": {"x": 1}},
                "assignment": {},
                "options": {"mpmd_fail_on_inferred_fragments": False},
            }
        )
    )
    program = PROGRAMS / f"{name}_train_step.mlir"
    out = tmp_path / "out"
    tools.check("meshwright", "partition", program, f"--config={config}", "-o", out)
    check(in_folder(out), least=1)


def test_encoder_and_decoder():
    """Attention over another sequence, an embedding, a loss; both directions."""

    def attend(q, k, v):
        weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 4)
        return jnp.einsum("bqk,bkd->bqd", weights, v)

    def encode(params, tokens):
        x = params["embed"][tokens]
        x = x + attend(x @ params["q"], x @ params["k"], x @ params["v"])
        return jax.nn.gelu(x @ params["up"]) @ params["down"]

    def decode(params, memory, targets):
        x = params["embed"][targets]
        x = x + attend(x @ params["q"], memory @ params["k"], memory @ params["v"])
        logits = x @ params["embed"].T
        return -jnp.take_along_axis(
            jax.nn.log_softmax(logits), targets[..., None], axis=-1
        ).mean()

    def loss(params, tokens, targets):
        memory = mw.named_computation(encode, name="enc")(params["enc"], tokens)
        return mw.named_computation(decode, name="dec")(params["dec"], memory, targets)

    def step(params, tokens, targets):
        grads = jax.grad(loss)(params, tokens, targets)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    sizes = {"q": (16, 16), "k": (16, 16), "v": (16, 16), "embed": (32, 16)}
    layer = {name: jax.ShapeDtypeStruct(s, jnp.float32) for name, s in sizes.items()}
    wide = {"up": (16, 64), "down": (64, 16)}
    encoder = layer | {
        name: jax.ShapeDtypeStruct(s, jnp.float32) for name, s in wide.items()
    }
    tokens = jax.ShapeDtypeStruct((4, 8), jnp.int32)
    meshes = {
        f"m{i}": jax.sharding.Mesh(jax.devices()[i : i + 1], ("x",)) for i in range(2)
    }
    config = mw.make_config(meshes, {"enc": "m0", "dec": "m1"})
    result = mw.jit(step, config).lower({"enc": encoder, "dec": layer}, tokens, tokens)
    check(of_lowered(result), least=3)


F32 = jax.ShapeDtypeStruct((16, 12), jnp.float32)
IMAGE = jax.ShapeDtypeStruct((2, 9, 11, 4), jnp.float32)
KERNEL = jax.ShapeDtypeStruct((3, 3, 4, 8), jnp.float32)


def convolve(**options):
    options = {"window_strides": (1, 1), "padding": "SAME"} | options
    return lambda x, k: jax.lax.conv_general_dilated(
        x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options
    )


def pool(x):
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"
    )


OPS = {
    "elementwise": (lambda x: jnp.where(x > 1, x * x - 3, jnp.abs(x)), F32),
    "integers": (lambda x: (x.astype(jnp.int32) << 2) & 7, F32),
    "reduce": (lambda x: (x.sum(0), x.max(), x.prod(1)), F32),
    "argmax": (lambda x: jnp.argmax(x, axis=1), F32),
    "mean and variance": (lambda x: (x.mean(0), x.var(1)), F32),
    "moving": (lambda x: jnp.pad(x.T[::-1], 2)[1:5].reshape(-1, 2), F32),
    "gather": (lambda x: x[jnp.arange(3)], F32),
    "scatter": (lambda x: x.at[jnp.arange(3)].add(x[:3]), F32),
    "product": (lambda x: jnp.einsum("ij,kj->ik", x, x), F32),
    "batched product": (lambda x: jnp.einsum("bij,bjk->bik", x, x), None),
    "convolution": (convolve(), IMAGE, KERNEL),
    "strided": (convolve(window_strides=(2, 2), padding="VALID"), IMAGE, KERNEL),
    "dilated": (
        convolve(lhs_dilation=(2, 2), rhs_dilation=(2, 1), padding=[(1, 3), (0, 2)]),
        IMAGE,
        KERNEL,
    ),
    "pooling": (pool, IMAGE),
    "pooling backward": (jax.grad(lambda x: pool(x).sum()), IMAGE),
    "softmax": (jax.nn.softmax, F32),
    "fft": (lambda x: jnp.fft.rfft(x).real, F32),
    "clamp": (lambda x: jnp.clip(x, 0, 1), F32),
}


@pytest.mark.parametrize("name", OPS)
def test_operations(name):
    function, *shapes = OPS[name]
    if shapes == [None]:
        shapes = [jax.ShapeDtypeStruct((3, 8, 8), jnp.float32)]
    check(lowered(function, *shapes))


def test_transcendentals_are_apart():
    """An exponential is none of the FLOPs, here as there."""
    ((flops, text),) = lowered(lambda x: jnp.exp(x) + 1, F32)
    found = counted_by_xla(text)
    assert flops == F32.size
    assert flops == pytest.approx(found["flops"], abs=2)
    assert found["transcendentals"] == F32.size


def test_loops_count_each_trip():
    """XLA counts one of them."""

    def loop(x):
        return jax.lax.fori_loop(0, 10, lambda _, y: y @ x, x)

    ((flops, text),) = lowered(loop, jax.ShapeDtypeStruct((32, 32), jnp.float32))
    assert flops == pytest.approx(10 * counted_by_xla(text)["flops"], rel=0.01)
    assert flops >= 10 * 2 * np.prod((32, 32, 32))
