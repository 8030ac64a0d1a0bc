#!/usr/bin/env python3
"""Simulated steps beside measured ones, with times from another microbatch count.

    .venv/bin/python bench/simulated_step.py [--models gpt resnet] [--width 256]
        [--profiled 4] [--microbatches 8] [--repeat 5]

For each model, a step of two stages on two CPU meshes of one device is recorded with
`--profiled` microbatches; with these times a step of `--microbatches` is simulated,
and run. Recording and measuring take turns, so that both meet the same load; a
machine with fewer than three idle cores measures itself. Kernels run on one thread,
as a mesh has one device.

Prints a line of JSON for each model: medians over the rounds in seconds and the ratio
of the simulated to the measured step, and the same of the quickest rounds, which were
held up least by others.
"""

import argparse
import json
import os
import pathlib
import statistics
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    " --xla_cpu_multi_thread_eigen=false"
)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import meshwright as mw  # noqa: E402

LENGTH, ROWS, SYMBOLS = 64, 4, 512


def normal(*shape):
    rng = np.random.default_rng(len(shape) + sum(shape))
    return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), jnp.float32)


def block(params, x, memory=None):
    """A transformer's layer, with attention to `memory` if there is one."""
    source = x if memory is None else memory
    scores = jnp.einsum("btd,bsd->bts", x @ params["q"], source @ params["k"])
    x = x + jax.nn.softmax(scores / np.sqrt(x.shape[-1])) @ (source @ params["v"])
    return x + jax.nn.relu(x @ params["up"]) @ params["down"]


def make_block(width):
    square = {name: normal(width, width) for name in "qkv"}
    return square | {"up": normal(width, 4 * width), "down": normal(4 * width, width)}


def cross_entropy(logits, targets):
    found = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(found, targets[..., None], -1).mean()


def gpt(width):
    def first(params, tokens):
        x = params["embed"][tokens]
        for layer in params["layers"]:
            x = block(layer, x)
        return x

    def second(params, x, tokens):
        for layer in params["layers"]:
            x = block(layer, x)
        return cross_entropy(x @ params["out"], tokens)

    def make():
        return [make_block(width) for _ in range(2)]

    params = (
        {"embed": normal(SYMBOLS, width), "layers": make()},
        {"out": normal(width, SYMBOLS), "layers": make()},
    )
    return params, first, second, jnp.ones((ROWS, LENGTH), jnp.int32)


def encoder_decoder(width):
    """An encoder of three layers and a decoder of one: stages that differ."""

    def first(params, tokens):
        x = params["embed"][tokens]
        for layer in params["layers"]:
            x = block(layer, x)
        return x

    def second(params, memory, tokens):
        x = block(params["layer"], params["embed"][tokens], memory)
        return cross_entropy(x @ params["out"], tokens)

    params = (
        {
            "embed": normal(SYMBOLS, width),
            "layers": [make_block(width) for _ in range(3)],
        },
        {
            "embed": normal(SYMBOLS, width),
            "layer": make_block(width),
            "out": normal(width, SYMBOLS),
        },
    )
    return params, first, second, jnp.ones((ROWS, LENGTH), jnp.int32)


def resnet(width):
    channels = max(8, width // 8)

    def convolve(x, kernel, stride=1):
        return jax.lax.conv_general_dilated(
            x,
            kernel,
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    def residual(params, x):
        return x + convolve(jax.nn.relu(convolve(x, params[0])), params[1])

    def first(params, images):
        x = convolve(images, params["stem"])
        for kernels in params["blocks"]:
            x = residual(kernels, x)
        return convolve(x, params["down"], 2)

    def second(params, x, images):
        for kernels in params["blocks"]:
            x = residual(kernels, x)
        logits = x.mean((1, 2)) @ params["out"]
        return cross_entropy(logits, jnp.zeros(len(images), jnp.int32))

    def kernels(size):
        return [normal(3, 3, size, size) / 3 for _ in range(2)]

    params = (
        {
            "stem": normal(3, 3, 3, channels),
            "blocks": [kernels(channels)],
            "down": normal(3, 3, channels, 2 * channels),
        },
        {
            "blocks": [kernels(2 * channels) for _ in range(2)],
            "out": normal(2 * channels, 10),
        },
    )
    return params, first, second, jnp.ones((ROWS, 32, 32, 3))


MODELS = {"gpt": gpt, "encoder_decoder": encoder_decoder, "resnet": resnet}


def lower(first, second, params, batches):
    devices = jax.devices()
    meshes = {
        f"m{i}": jax.sharding.Mesh(np.array(devices[i : i + 1]), ("x",))
        for i in range(2)
    }

    def loss(params, batch):
        h = mw.named_computation(first, name="first")(params[0], batch)
        return mw.named_computation(second, name="second")(params[1], h, batch)

    def step(params, batches):
        grad = jax.grad(loss)
        parts = [
            mw.call(grad, call_counter=i)(params, b) for i, b in enumerate(batches)
        ]
        total = jax.tree.map(lambda *leaves: sum(leaves), *parts)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, total)

    config = mw.make_config(
        meshes,
        {"first": "m0", "second": "m1"},
        name_to_stage_assignment={"first": 0, "second": 1},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    return mw.jit(step, config).lower(params, batches)


def measure(name: str, options: argparse.Namespace) -> dict:
    params, first, second, batch = MODELS[name](options.width)
    programs = {}
    for count in (options.profiled, options.microbatches):
        lowered = lower(first, second, params, [batch] * count)
        compiled = lowered.compile()
        placed = compiled.place(params, [batch] * count)
        jax.block_until_ready(compiled(*placed))
        programs[count] = lowered, compiled, placed
    _, recorded, recorded_arguments = programs[options.profiled]
    lowered, compiled, arguments = programs[options.microbatches]
    measured, simulated = [], []
    for _ in range(options.repeat):
        with mw.profile() as recording:
            for _ in range(3):
                jax.block_until_ready(recorded(*recorded_arguments))
        found = lowered.simulate("cpu", profile=recording)
        simulated.append(found.makespan_s)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            jax.block_until_ready(compiled(*arguments))
            times.append(time.perf_counter() - start)
        measured.append(statistics.median(times))
    result = {
        "model": name,
        "profiled": options.profiled,
        "microbatches": options.microbatches,
        "measured_s": statistics.median(measured),
        "simulated_s": statistics.median(simulated),
        "ratio": statistics.median(
            s / m for s, m in zip(simulated, measured, strict=True)
        ),
        "best_measured_s": min(measured),
        "best_simulated_s": min(simulated),
        "best_ratio": min(simulated) / min(measured),
        "load": os.getloadavg()[0],
        "cores": os.cpu_count(),
    }
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--profiled", type=int, default=4, help="microbatches")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    for name in options.models:
        print(json.dumps(measure(name, options)), flush=True)


if __name__ == "__main__":
    main()
