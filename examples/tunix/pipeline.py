# SPDX-License-Identifier: Apache-2.0
"""Tunix's `PeftTrainer` as a pipeline: its loss, optimizer, LoRA, logs, checkpoints.

trainer = PipelineTrainer(
    model, optimizer, config, pipeline=mw.make_config(...),
    marks=["layers/2"], microbatches=4,
)
trainer.train(batches)
"""

import functools

import optax
from flax import nnx
from tunix.sft.peft_trainer import PeftTrainer

import meshwright as mw


class PipelineTrainer(PeftTrainer):
    def __init__(self, model, optimizer, config, *, pipeline, marks, microbatches):
        super().__init__(mw.marked(model, marks), optimizer, config)
        self._pipeline, self._microbatches = pipeline, microbatches

    def _train_step(self, model, optimizer, inputs):
        def loss(model, inputs):
            return self.loss_fn(model, **inputs)

        wrt = nnx.DiffState(0, nnx.LoRAParam if self._lora_enabled else nnx.Param)
        gradient = nnx.value_and_grad(loss, argnums=wrt, has_aux=self._has_aux)
        sums = mw.pipeline.accumulate(gradient, self._microbatches)
        out, grads = sums(model, self.gen_model_input_fn(inputs))
        optimizer.update(model, grads)
        value, aux = out if self._has_aux else (out, None)
        return value, aux, optax.global_norm(grads)

    def create_train_step_fn(self):
        options = dict(donate_argnums=1, tie_state=True)
        step = mw.nnx.jit(self._train_step, self._pipeline, **options)
        return functools.partial(step, self.model, self.optimizer)

    def create_eval_step_fn(self):
        step = mw.nnx.jit(self._eval_step, self._pipeline)
        return functools.partial(step, self.model)

    def train(self, train_ds, eval_ds=None):
        super().train(train_ds, eval_ds, skip_jit=True)  # It is jitted above.
