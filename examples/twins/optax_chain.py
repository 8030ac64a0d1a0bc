"""A chain of Optax (clipping, a schedule, AdamW) over parameters on two meshes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import meshwright as mw

WIDTH, LAYERS, BATCH = 8, 4, 16
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(0.5),
    optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-2, 5, 20)),
)


def make_params():
    random = np.random.default_rng(0)
    scale = 1 / np.sqrt(WIDTH)
    return {
        f"layer{i}": {
            "w": (scale * random.normal(size=(WIDTH, WIDTH))).astype(np.float32),
            "b": np.zeros(WIDTH, np.float32),
        }
        for i in range(LAYERS)
    }


def predict(params, x):
    for number, layer in enumerate(params.values()):
        x = mw.stage_boundary(x) if number else x
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def loss_of(params, batch):
    x, y = batch
    return ((predict(params, x) - y) ** 2).mean()


def train_step(params, state, batch):
    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss_of), 4)
    loss, grads = gradient(params, batch)
    updates, state = OPTIMIZER.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def make_batch(seed):
    x = np.random.default_rng(seed).normal(size=(BATCH, WIDTH)).astype(np.float32)
    return x, np.sin(x[:, ::-1])


def train(steps=20):
    params = make_params()
    state = OPTIMIZER.init(params)
    devices = jax.devices()
    meshes = {f"m{i}": jax.sharding.Mesh(devices[i : i + 1], "x") for i in (0, 1)}
    schedule = mw.get_pipeline_schedule("Interleaved1F1B")  # Two stages on each mesh.
    config = mw.make_config(meshes, pipeline_schedule=schedule)
    step = mw.jit(train_step, config, donate_argnums=(0, 1), tie_state=True)
    losses = []
    for number in range(steps):
        params, state, loss = step(params, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
