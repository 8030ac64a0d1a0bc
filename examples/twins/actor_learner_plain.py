"""An actor plays with the policy of the step before; a learner improves it."""

import jax
import jax.numpy as jnp
import numpy as np

GAMES, ROUNDS, WIDTH, NOISE, RATE = 16, 4, 8, 0.6, 0.05


def make_policy():
    random = np.random.default_rng(0)
    return {
        "in": (0.5 * random.normal(size=(2, WIDTH))).astype(np.float32),
        "out": (0.1 * random.normal(size=WIDTH)).astype(np.float32),
    }


def mean_push(policy, cart):
    return jnp.tanh(cart @ policy["in"]) @ policy["out"]


def play(policy, start, noise):
    """Carts that are to be brought to rest, and how far off they were."""
    carts, pushes, rewards = [], [], []
    place, speed = start[:, 0], start[:, 1]
    for number in range(ROUNDS):
        cart = jnp.stack([place, speed], -1)
        push = mean_push(policy, cart) + NOISE * noise[number]
        speed = speed + 0.5 * push
        place = place + 0.5 * speed
        carts.append(cart)
        pushes.append(push)
        rewards.append(-(place**2) - 0.1 * push**2)
    worth = jnp.cumsum(jnp.stack(rewards)[::-1], 0)[::-1]
    worth = (worth - worth.mean(1, keepdims=True)) / (1 + worth.std(1, keepdims=True))
    carts = jnp.stack(carts)
    return (carts, jnp.stack(pushes), worth), (carts[..., 0] ** 2).mean()


def learn(policy, games):
    def regret(policy):
        carts, pushes, worth = games
        distance = (pushes - mean_push(policy, carts)) / NOISE
        return (distance**2 * jnp.exp(worth)).mean()

    return jax.tree.map(lambda p, g: p - RATE * g, policy, jax.grad(regret)(policy))


def train_step(state, chance):
    policy, copy, games = state
    policy = learn(policy, games)
    games, loss = play(copy, *chance)
    return (policy, policy, games), loss


def make_chance(seed):
    random = np.random.default_rng(seed)
    start = random.normal(size=(GAMES, 2)).astype(np.float32)
    return start, random.normal(size=(ROUNDS, GAMES)).astype(np.float32)


def train(steps=20):
    policy = make_policy()
    games, _ = jax.jit(play)(policy, *make_chance(0))
    state = policy, policy, games
    step = jax.jit(train_step)
    losses = []
    for number in range(steps):
        state, loss = step(state, make_chance(number + 1))
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(train())
