#!/usr/bin/env python3
"""An actor plays while a learner learns, each on its own mesh.

    .venv/bin/python examples/actor_learner.py [--steps 20] [--devices 2]

A cart on a line is to be brought to rest at the origin. In every step the learner
improves the policy from the games of the step before, and the actor plays new
games with the policy it had: neither waits for the other. At the end of the step
the new policy is sent to the actor. The parameters live on the learner's mesh,
the games on the actor's. The loss that is printed is the carts' mean square
distance from the origin.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import training  # Finds the package in a checkout, too.

import meshwright as mw

GAMES, ROUNDS, WIDTH, NOISE, RATE = 16, 8, 16, 0.6, 0.05


def make_policy(seed: int = 0):
    rng = np.random.default_rng(seed)
    return {
        "in": (0.5 * rng.normal(size=(2, WIDTH))).astype(np.float32),
        "out": (0.1 * rng.normal(size=(WIDTH,))).astype(np.float32),
    }


def mean_push(policy, cart):
    """How hard to push a cart at (place, speed)."""
    return jnp.tanh(cart @ policy["in"]) @ policy["out"]


def play(policy, start, noise):
    """Games with some noise in the pushes, and how far off the carts were.

    A game is its carts, its pushes and what each of them was worth.
    """
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
    # A push is worth what comes after it, compared with the other games.
    worth = jnp.cumsum(jnp.stack(rewards)[::-1], 0)[::-1]
    worth = (worth - worth.mean(1, keepdims=True)) / (worth.std(1, keepdims=True) + 1)
    carts = jnp.stack(carts)
    return (carts, jnp.stack(pushes), worth), (carts[..., 0] ** 2).mean()


def regret(policy, games):
    """How far the policy is from what was played; good games count for more."""
    carts, pushes, worth = games
    distance = (pushes - mean_push(policy, carts)) / NOISE
    return (distance**2 * jnp.exp(worth)).mean()


def learn(policy, games):
    grads = jax.grad(regret)(policy, games)
    return jax.tree.map(lambda p, g: p - RATE * g, policy, grads)


def train_step(state, chance):
    """`state` is the learner's policy, the actor's copy and the last games."""
    policy, copy, games = state
    start, noise = chance
    policy = mw.named_computation(learn, name="learner")(policy, games)
    games, loss = mw.named_computation(play, name="actor")(copy, start, noise)
    # The copy for the next step; what the actor plays now does not wait for it.
    copy = jax.tree.map(lambda p: mw.named_tensor(p, name="copy"), policy)
    return (policy, copy, games), loss


def make_chance(number: int):
    rng = np.random.default_rng(number)
    start = rng.normal(size=(GAMES, 2)).astype(np.float32)
    return start, rng.normal(size=(ROUNDS, GAMES)).astype(np.float32)


def main() -> int:
    options = training.parse(__doc__, devices={"type": int, "default": 2})
    meshes = training.make_meshes(
        learner={"games": options.devices}, actor={"games": options.devices}
    )
    config = mw.make_config(
        meshes,
        {"learner": "learner", "actor": "actor", "copy": "actor"},
        input_mesh_assignment=(("learner", "actor", "learner"), "actor"),
        output_mesh_assignment=(("learner", "actor", "learner"), "actor"),
        partitioning_options={"mpmd_infer_transfers": True},
    )
    policy = make_policy()
    games, _ = play(policy, *make_chance(0))
    state = (policy, policy, games)
    partitioned = mw.jit(train_step, config, donate_argnums=(0,))
    return training.race(
        options, jax.jit(train_step), partitioned, state, lambda n: make_chance(n + 1)
    )


if __name__ == "__main__":
    sys.exit(main())
