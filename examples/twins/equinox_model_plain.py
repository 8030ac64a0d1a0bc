"""An Equinox model with convolutions, trained with Adam."""

import equinox as eqx
import jax
import numpy as np
import optax

CHANNELS, CLASSES, SIDE, BATCH = 4, 3, 6, 16


class Classifier(eqx.Module):
    layers: list
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Conv2d(1, CHANNELS, 3, key=keys[0]),
            eqx.nn.Conv2d(CHANNELS, CHANNELS, 3, key=keys[1]),
        ]
        self.head = eqx.nn.Linear(CHANNELS, CLASSES, key=keys[2])

    def __call__(self, image):
        x = jax.nn.relu(self.layers[0](image))
        x = jax.nn.relu(self.layers[1](x))
        return self.head(x.mean((1, 2)))


def loss_of(model, batch):
    images, labels = batch
    logits = jax.vmap(model)(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


OPTIMIZER = optax.adam(1e-2)


def train_step(model, state, batch):
    loss, grads = eqx.filter_value_and_grad(loss_of)(model, batch)
    updates, state = OPTIMIZER.update(grads, state)
    return eqx.apply_updates(model, updates), state, loss


def make_batch(seed):
    """Images with a bright row, a bright column, or noise alone."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, BATCH)
    images = random.normal(size=(BATCH, 1, SIDE, SIDE))
    images[labels == 1, :, SIDE // 2] += 2
    images[labels == 2, :, :, SIDE // 2] += 2
    return images.astype(np.float32), labels


def train(steps=20):
    model = Classifier(jax.random.key(0))
    state = OPTIMIZER.init(eqx.filter(model, eqx.is_array))
    step = eqx.filter_jit(train_step)
    losses = []
    for number in range(steps):
        model, state, loss = step(model, state, make_batch(number))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
