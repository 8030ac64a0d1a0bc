# SPDX-License-Identifier: Apache-2.0
"""`fit` and `evaluate` of Keras 3 as a pipeline (docs/trainers.md).

class Net(Pipeline): ...  # With call; or Pipeline(inputs, outputs) as it is.

model = mw.marked(Net(), ["block_2"])
model.meshes = {"m0": Mesh(...), "m1": Mesh(...)}
model.microbatches, model.schedule = 4, mw.get_pipeline_schedule("1F1B")
"""

import jax
import jax.numpy as jnp
import keras

import meshwright as mw


class Pipeline(keras.Model):
    def train_step(self, state, data):
        weights, fixed, moments, metrics = state
        gradient = jax.grad(self.compute_loss_and_updates, has_aux=True)

        def microbatch(carry, rows):
            total, fixed, metrics = carry
            x, y, w = keras.utils.unpack_x_y_sample_weight(rows)
            grads, aux = gradient(weights, fixed, metrics, x, y, w, True, moments)
            loss, out, fixed, metrics = aux
            logs, metrics = self._update_metrics_variables(metrics, loss, x, y, out, w)
            return (jax.tree.map(jnp.add, total, grads), fixed, metrics), logs

        n = self.microbatches
        rows = jax.tree.map(lambda x: x.reshape(n, -1, *x.shape[1:]), data)
        carry = list(map(jnp.zeros_like, weights)), fixed, metrics
        carry, logs = mw.pipeline.scan_microbatches(microbatch, carry, rows)
        grads = [grad / n for grad in carry[0]]
        weights, moments = self.optimizer.stateless_apply(moments, grads, weights)
        state = weights, carry[1], moments, carry[2]
        return jax.tree.map(lambda log: log[-1], logs), state

    def _jit(self, step, places):
        *_, last = self.meshes  # Where the loss is: metrics are kept together there.
        meshes = dict(input_mesh_assignment=((*places, last), None))
        meshes |= dict(output_mesh_assignment=(last, (*places, last)))
        config = mw.make_config(self.meshes, pipeline_schedule=self.schedule, **meshes)
        step = mw.jit(step, config, donate_argnums=0, tie_state=True)
        return self._make_function(step)

    def make_train_function(self, force=False):
        self.train_function = self._jit(self.train_step, [None] * 3)

    def make_test_function(self, force=False):
        self.test_function = self._jit(self.test_step, [None] * 2)
