# SPDX-License-Identifier: Apache-2.0
"""Tunix's own trainer and the pipeline, from the same start (scripts/trainers.sh)."""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import qwix
from flax import nnx
from jax.sharding import Mesh
from tunix.models.llama3 import model as llama3
from tunix.models.qwen3 import model as qwen3
from tunix.sft.peft_trainer import PeftTrainer, TrainingConfig, TrainingInput

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import trainer_table
from pipeline import PipelineTrainer

import meshwright as mw

MARKS = ["layers/1", "layers/2", "layers/3"]
MICROBATCHES, ROWS, TOKENS = 4, 4, 16
SIZES = dict(
    num_layers=4,
    vocab_size=128,
    embed_dim=32,
    hidden_dim=64,
    num_heads=4,
    head_dim=8,
    num_kv_heads=2,
    rope_theta=10000,
    norm_eps=1e-6,
)
MODELS = {
    "Qwen 3": lambda: qwen3.Qwen3(qwen3.ModelConfig(**SIZES), rngs=nnx.Rngs(0)),
    "Llama 3": lambda: llama3.Llama3(llama3.ModelConfig(**SIZES), rngs=nnx.Rngs(0)),
}
random = np.random.default_rng(0)
BATCHES = [
    TrainingInput(
        random.integers(1, 128, (MICROBATCHES * ROWS, TOKENS)),
        np.ones((MICROBATCHES * ROWS, TOKENS), bool),
    )
    for _ in range(20)
]


def make(name, lora):
    model = MODELS[name]()
    if not lora:
        return model
    adapter = qwix.LoraProvider(module_path=".*(q|kv)_einsum", rank=4, alpha=8.0)
    inputs = model.get_model_input()
    return qwix.apply_lora_to_model(model, adapter, rngs=nnx.Rngs(1), **inputs)


def model_inputs(batch):
    shape = batch.input_tokens.shape
    causal = jnp.tril(jnp.ones((TOKENS, TOKENS), bool))
    return dict(
        input_tokens=batch.input_tokens,
        input_mask=batch.input_mask,
        positions=jnp.broadcast_to(jnp.arange(TOKENS), shape),
        attention_mask=jnp.broadcast_to(causal, (shape[0], TOKENS, TOKENS)),
    )


class Losses:
    """A logger that keeps the losses."""

    def __init__(self):
        self.found = []

    def log(self, prefix, name, value, mode, step=None):
        if name == "loss":
            self.found.append(float(value))

    def close(self):
        pass


def losses(trainer, batches):
    trainer.metrics_logger = Losses()
    trainer.with_gen_model_input_fn(model_inputs)
    trainer.train(batches)
    return trainer.metrics_logger.found


def own_losses(name, lora):
    """Tunix has its microbatches one by one, and adds up their gradients."""
    config = TrainingConfig(
        eval_every_n_steps=1000, gradient_accumulation_steps=MICROBATCHES
    )
    trainer = PeftTrainer(make(name, lora), optax.adamw(1e-2), config)
    parts = [
        jax.tree.map(lambda x, i=i: x[i * ROWS : (i + 1) * ROWS], batch)
        for batch in BATCHES
        for i in range(MICROBATCHES)
    ]
    return losses(trainer, parts)


def pipelined(name, lora, schedule, count, marks):
    devices = np.reshape(jax.devices(), (count, -1))
    meshes = {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}
    schedule = mw.get_pipeline_schedule(schedule)
    trainer = PipelineTrainer(
        make(name, lora),
        optax.adamw(1e-2),
        TrainingConfig(eval_every_n_steps=1000),
        pipeline=mw.make_config(meshes, pipeline_schedule=schedule),
        marks=marks,
        microbatches=MICROBATCHES,
    )
    return losses(trainer, BATCHES)


for name, lora in (("Qwen 3", True), ("Qwen 3", False), ("Llama 3", True)):
    own = own_losses(name, lora)
    for schedule, count, marks in (
        ("1F1B", 2, MARKS[1:2]),
        ("Interleaved1F1B", 2, MARKS),
        ("ZeroBubbleH1", 4, MARKS),
    ):
        trainer_table.row(
            f"Tunix, {name}" + (", LoRA" if lora else ""),
            schedule,
            count,
            len(marks) + 1,
            own,
            lambda case=(name, lora, schedule, count, marks): pipelined(*case),
        )
trainer_table.finish()
