"""The module that the front end hands to the compiler, and toy programs."""

import re

import jax
import jax.numpy as jnp
from meshwright.jaxapi import frontend as compat
from meshwright.lowering.rules import RULES

import meshwright as mw


def emitted(fn, *args, locations=False, **options) -> str:
    """Text of the module that `fn` becomes, before any partitioning."""
    traced = jax.jit(fn, **options).trace(*args)
    lowered = compat.lower_with_rules(traced, RULES, "cpu")
    if locations:
        return compat.module_text(lowered.compiler_ir("stablehlo").operation)
    return lowered.as_text()


def computations(text: str) -> list[str]:
    """Origins of all named computations in a module, in order of appearance."""
    return re.findall(r"mpmd\.named_computation<([^>]*)>", text)


def calls(text: str) -> list[tuple[str, int | None]]:
    """Callee and counter of all calls in a module."""
    found = re.findall(
        r'mpmd\.call @("[^"]*"|\S+?)\(.*?\)(?: {call_counter = (\d+) : ui32})? :', text
    )
    return [(callee.strip('"'), int(n) if n else None) for callee, n in found]


def mlp_step(w, x):
    """Two computations with a named tensor in between."""
    h = mw.named_computation(lambda a: jnp.tanh(a @ w), name="enc")(x)
    h = mw.named_tensor(h, name="mid")
    return mw.named_computation(lambda a: (a * a).sum(), name="dec")(h)


def plain_step(w, x):
    """What `mlp_step` computes."""
    return (jnp.tanh(x @ w) ** 2).sum()


def microbatched(step, num_microbatches):
    """Sums a step over microbatches, one call each."""

    def loss(w, xs):
        total = 0.0
        for index in range(num_microbatches):
            total += mw.call(step, call_counter=index)(w, xs[index])
        return total

    return loss


def microbatched_gradients(step, num_microbatches):
    """Sums loss and gradient over microbatches, one call for both directions."""

    def gradients(w, xs):
        total = None
        for index in range(num_microbatches):
            part = mw.call(jax.value_and_grad(step), call_counter=index)(w, xs[index])
            total = part if total is None else jax.tree.map(jnp.add, total, part)
        return total

    return gradients
