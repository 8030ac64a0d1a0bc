# SPDX-License-Identifier: Apache-2.0
"""Keras' own `fit` and the pipeline, from the same start (scripts/trainers.sh)."""

import pathlib
import sys

import jax
import keras
import numpy as np
from jax.sharding import Mesh

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import trainer_table
from pipeline import Pipeline

import meshwright as mw

random = np.random.default_rng(0)
X = random.normal(size=(64, 16)).astype(np.float32)
Y = random.integers(0, 4, 64).astype(np.int32)
MARKS = ["block_1", "block_2", "block_3"]


def make(kind):
    keras.utils.set_random_seed(0)
    x = inputs = keras.Input((16,))
    for number in range(4):
        x = keras.layers.Dense(16, "relu", name=f"block_{number}")(x)
    x = keras.layers.LayerNormalization()(x)
    return kind(inputs, keras.layers.Dense(4)(x))


def losses(model):
    """Of 20 steps, and of what is validated after each epoch."""
    optimizer = keras.optimizers.AdamW(1e-2, global_clipnorm=1.0)
    error = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, error, metrics=["accuracy"])
    options = dict(shuffle=False, verbose=0, validation_data=(X[:32], Y[:32]))
    history = model.fit(X, Y, batch_size=32, epochs=10, **options).history
    return [float(value) for values in history.values() for value in values]


def pipelined(schedule, count, marks):
    model = mw.marked(make(Pipeline), marks)
    devices = np.reshape(jax.devices(), (count, -1))
    model.meshes = {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}
    model.microbatches, model.schedule = 4, mw.get_pipeline_schedule(schedule)
    return losses(model)


own = losses(make(keras.Model))
for schedule, count, marks in (
    ("1F1B", 2, MARKS[1:2]),
    ("1F1B", 4, MARKS),
    ("Interleaved1F1B", 2, MARKS),
    ("ZeroBubbleH1", 4, MARKS),
):
    trainer_table.row(
        "Keras",
        schedule,
        count,
        len(marks) + 1,
        own,
        lambda case=(schedule, count, marks): pipelined(*case),
    )
trainer_table.finish()
