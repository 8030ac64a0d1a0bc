#!/usr/bin/env python3
"""A vision tower beside a language model, each with meshes and a schedule.

    .venv/bin/python examples/two_towers.py [--steps 20] [--schedule auto]

The model counts: it sees a picture with some bright patches, reads which of two
colours is asked for, and says how many patches have it. The pictures go through two
stages, the question through one, and both into the answer's two. A mark with a tower
begins each stage; what a stage reads of another tower goes through its mark.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import training  # Finds the package in a checkout, too.

import meshwright as mw

PATCHES, PIXELS, COLOURS, WIDTH = 16, 12, 2, 32
MICROBATCHES, ROWS, RATE = 8, 4, 0.05


def make_state(seed: int = 0):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    return {
        "patches": normal(PIXELS, WIDTH),
        "vision": [normal(WIDTH, WIDTH) for _ in range(2)],
        "colours": normal(COLOURS, WIDTH),
        "text": [normal(WIDTH, WIDTH)],
        "answer": [normal(WIDTH, WIDTH) for _ in range(2)],
        "head": normal(WIDTH, PATCHES + 1),
    }


def make_batch(number: int):
    """Pictures of patches, the colour that is asked for, and how often it is there."""
    rng = np.random.default_rng(number)
    rows = MICROBATCHES * ROWS
    colour = rng.integers(0, COLOURS + 1, (rows, PATCHES))
    picture = 0.1 * rng.normal(size=(rows, PATCHES, PIXELS))
    for each in range(COLOURS):
        picture[..., each] += colour == each
    asked = rng.integers(0, COLOURS, rows).astype(np.int32)
    count = (colour == asked[:, None]).sum(1).astype(np.int32)
    return picture.astype(np.float32), asked, count


def layer(weights, x):
    return x + jnp.tanh(x @ weights)


def loss(params, picture, asked, count):
    image = picture @ params["patches"]
    for weights in params["vision"]:
        image = layer(weights, mw.stage_boundary(image, tower="vision"))
    question = params["colours"][asked]
    for weights in params["text"]:
        question = layer(weights, mw.stage_boundary(question, tower="text"))
    # Each stage of the answer looks at the picture again.
    state = question
    for weights in params["answer"]:
        state, image = mw.stage_boundary((state, image), tower="answer")
        scores = jax.nn.sigmoid(jnp.einsum("bw,bpw->bp", state, image))
        state = layer(
            weights, state + jnp.einsum("bp,bpw->bw", scores, image) / PATCHES
        )
    logits = jax.nn.log_softmax(state @ params["head"])
    return -jnp.take_along_axis(logits, count[:, None], -1).mean()


def train_step(params, batch):
    gradient = mw.pipeline.accumulate(
        jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2, 3)
    )
    value, grads = gradient(params, *batch)
    return jax.tree.map(lambda p, g: p - RATE * g, params, grads), value


def main() -> int:
    options = training.parse(__doc__, schedule={"default": "Towers"})
    meshes = training.make_meshes(
        left={"data": 1}, right={"data": 1}, ear={"data": 1}, mind={"data": 2}
    )
    config = mw.make_config(
        meshes,
        towers={
            "vision": mw.pipeline.Tower(["left", "right"], schedule="GPipe"),
            "text": ["ear"],  # In the order of 1F1B.
            "answer": mw.pipeline.Tower(["mind"], schedule="Interleaved1F1B"),
        },
        pipeline_schedule=mw.get_pipeline_schedule(options.schedule),
    )
    compiled = mw.jit(train_step, config).lower(make_state(), make_batch(0)).compile()
    places, _ = compiled.input_shardings

    def partitioned(params, batch):
        return compiled(*jax.device_put((params, batch), places))

    plain = jax.jit(train_step)
    return training.race(options, plain, partitioned, make_state(), make_batch)


if __name__ == "__main__":
    sys.exit(main())
