# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose update does not wait for the norm of all gradients.

The problem: to clip by the global norm, or to skip a step whose gradients are not
finite, each stage waits at the end of a step until all stages have their gradients, and
bubbles that a schedule has filled come back.

Example, two stages, whose gradients have the squared norms a and b:

    waiting      g0 ------ a + b - update 0       g1 - a + b - update 1
    validated    g0 - update 0                    g1 - update 1
                 in the next step: a + b, and what was wrong is undone

Invariant: after `settle`, parameters and state are those of the waiting form, in every
bit. An update is right where the norm is finite and clips nothing; else it is done
again from what is kept until then: parameters, state and gradients before it.

Cost: an array for each of these. The name in the literature: post-validation.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..core.order import join
from ..jaxapi import frontend as compat
from ..tracing import bodies
from ..tracing.ops import broadcast
from ..tracing.ops import reduce as reduced
from ..tracing.scopes import body_of, source

_WHAT = "pipeline.optimizer"


class Unvalidated(NamedTuple):
    """The state after an update that was not validated yet.

    Attributes:
      state: of the transformation, after the update.
      params: the parameters before the update.
      before: the state of the transformation before the update.
      grads: the gradients that the update is of.
      total: the sum of their squares, of all stages.
    """

    state: Any
    params: Any
    before: Any
    grads: Any
    total: Any


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """What `pipeline.optimizer` returns.

    Attributes:
      tx: the transformation of Optax.
      clip: the largest global norm; None to clip nothing.
      post_validate: whether updates go ahead of the norm.
    """

    tx: Any
    clip: float | None
    post_validate: bool

    def init(self, params: Any) -> Any:
        """The state of the optimizer.

        Args:
          params: a pytree of floating-point arrays.

        Raises:
          ValueError: a chain whose updates cannot be undone array by array.
        """
        state = self.tx.init(params)
        if not self.post_validate:
            return state
        grads = jax.tree.map(jnp.zeros_like, params)
        self._parts(params, state, grads)  # Raises if it cannot be divided.
        return Unvalidated(state, params, state, grads, jnp.zeros(()))

    def update(self, grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        """Updates the parameters.

        Args:
          grads: the gradients, a tree like that of the parameters.
          state: what `settle` gave.
          params: what `settle` gave.

        Returns:
          The new parameters and state, of which `settle` must be asked before they are
          used.
        """
        squares = [
            jnp.sum(jnp.square(leaf.astype(jnp.promote_types(leaf.dtype, "float32"))))
            for leaf in jax.tree.leaves(grads)
        ]
        total = reduced(functools.reduce(operator.add, squares))
        old, tree = jax.tree.flatten((params, state))
        inputs = [*old, *jax.tree.leaves(grads)]
        known = broadcast(total)
        new = list(old)
        for part in self._parts(params, state, grads):
            if not self.post_validate:
                part.run(new, self._is_right(known), inputs, known)
            elif part.gradient is None:
                part.run(new, None, inputs, None)
            else:
                # What is known so far may say already that the update is wrong.
                part.run(new, self._is_right(squares[part.gradient]), inputs, None)
        new_params, new_state = jax.tree.unflatten(tree, new)
        if not self.post_validate:
            return new_params, new_state
        return new_params, Unvalidated(new_state, params, state, grads, total)

    def settle(self, params: Any, state: Any) -> tuple[Any, Any]:
        """Undoes an update that turned out wrong, and does it again.

        Goes at the beginning of a step, and of what evaluates parameters; to save them,
        save the state as well. In every bit it is the waiting form inside of programs.

        Args:
          params: what `init` was given, or `update` returned.
          state: what `init` or `update` returned.

        Returns:
          The parameters and the state as the waiting form has them.
        """
        if not self.post_validate:
            return params, state
        new, tree = jax.tree.flatten((params, state.state))
        total = broadcast(state.total)
        old = (state.params, state.before, state.grads)
        is_right = self._is_right(total)
        for part in self._parts(*old):
            part.correct(new, is_right, jax.tree.leaves(old), total)
        return jax.tree.unflatten(tree, new)

    def ahead(
        self, step: Callable[..., Any], jit: Callable[..., Callable[..., Any]]
    ) -> Callable[..., Any]:
        """Runs steps before the update of the step before is validated.

        A step is issued with the parameters as they are. Then the norm of the step
        before is looked at; where its update was wrong, the step is issued again, with
        `settle` at its beginning. So its arguments must not be donated.

        Args:
          step: from parameters, state and others to a tuple of any value, the new
            parameters, and the state, as `update` returns them. It has no `settle`.
          jit: makes a program of a function, such as `lambda f: mw.jit(f, config)`.

        Returns:
          A function from parameters, state as `init` or `update` gave it, and others to
          what `step` returns.

        Raises:
          ValueError: the optimizer does not post-validate.
        """
        if not self.post_validate:
            raise ValueError(
                f"{_WHAT}: ahead is for post_validate=True; without, no update is "
                "wrong, and the step can be called as it is"
            )

        def at_once(params: Any, state: Any, *rest: Any) -> Any:
            return step(params, state.state, *rest)

        def settled(params: Any, state: Any, *rest: Any) -> Any:
            return step(*self.settle(params, state), *rest)

        programs = [
            jit(functools.wraps(step)(function)) for function in (at_once, settled)
        ]

        @functools.wraps(step)
        def stepped(params: Any, state: Any, *rest: Any) -> Any:
            result = programs[0](params, state, *rest)
            if bool(self._is_right(jax.device_get(state.total))):
                return result
            return programs[1](params, state, *rest)

        return stepped

    def _is_right(self, total: Any) -> Any:
        """Whether a norm changes nothing of an update."""
        norm = jnp.sqrt(total)
        is_right = jnp.isfinite(norm)
        return is_right if self.clip is None else is_right & (norm < self.clip)

    def _plain(self, params: Any, state: Any, grads: Any) -> tuple[Any, Any]:
        updates, new_state = self.tx.update(grads, state, params)
        new = jax.tree.map(lambda p, u: (p + u).astype(p.dtype), params, updates)
        return new, new_state

    def _clipped(self, params: Any, state: Any, grads: Any, total: Any) -> Any:
        """The update where the norm clips, or the state as it was."""
        norm = jnp.sqrt(total)
        if self.clip is not None:

            def clipped(leaf: Any) -> Any:
                scaled = (leaf / norm.astype(leaf.dtype)) * self.clip
                return jnp.where(norm < self.clip, leaf, scaled)

            grads = jax.tree.map(clipped, grads)
        new = self._plain(params, state, grads)
        is_finite = jnp.isfinite(norm)
        return jax.tree.map(
            lambda new, old: jnp.where(is_finite, new, old), new, (params, state)
        )

    def _parts(self, params: Any, state: Any, grads: Any) -> list[_Part]:
        """The update, right as it is and clipped, for each array."""
        types = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)),
            (params, state, grads),
        )
        total = jax.ShapeDtypeStruct((), jnp.float32)
        clipped = jax.make_jaxpr(self._clipped)(*types, total)
        plain = jax.make_jaxpr(lambda p, s, g, _: self._plain(p, s, g))(*types, total)
        paths = [
            name + jax.tree_util.keystr(path)
            for name, tree in zip(("params", "state", "grads"), types, strict=True)
            for path, _ in jax.tree.leaves_with_path(tree)
        ]
        return _divide(plain, clipped, len(jax.tree.leaves(types[:2])), paths)


@dataclasses.dataclass(eq=False)
class _Part:
    """The update of one array, or of numbers alone.

    All forms run the same two functions, each as a branch of its own, so that their
    results are the same in every bit.

    Attributes:
      plain: what is right if the norm changes nothing: a closed jaxpr, and positions
        of its inputs among parameters, state and gradients before, and the norm.
      clipped: what is right else; likewise.
      outputs: positions among parameters and state.
      gradient: the number of the gradient that it is of; None for numbers alone.
    """

    plain: tuple[Any, list[int]]
    clipped: tuple[Any, list[int]]
    outputs: list[int]
    gradient: int | None

    def _choose(
        self,
        results: list[Any],
        is_right: Any,
        right: Callable[..., list[Any]],
        wrong: Callable[..., list[Any]],
        given: Sequence[Any],
    ) -> None:
        """Replaces results by those of one of two functions of them and of others."""
        kept = [results[at] for at in self.outputs]
        # What another array has would have to be sent here.
        read = {*self.plain[1], *self.clipped[1]}
        own = [leaf if at in read else None for at, leaf in enumerate(given)]
        new = (
            right(kept, own)
            if is_right is None
            else jax.lax.cond(is_right, right, wrong, kept, own)
        )
        for at, leaf in zip(self.outputs, new, strict=True):
            results[at] = leaf

    def run(
        self, results: list[Any], is_right: Any, inputs: Sequence[Any], total: Any
    ) -> None:
        """Updates, or without a norm leaves what would be wrong for later."""
        right = functools.partial(_branch, self.plain)
        wrong = _keep if total is None else functools.partial(_branch, self.clipped)
        self._choose(results, is_right, right, wrong, [*inputs, total])

    def correct(
        self, results: list[Any], is_right: Any, inputs: Sequence[Any], total: Any
    ) -> None:
        """Replaces an update that is wrong."""
        clipped = functools.partial(_branch, self.clipped)
        self._choose(results, is_right, _keep, clipped, [*inputs, total])


def _branch(
    form: tuple[Any, list[int]], kept: Sequence[Any], given: Sequence[Any]
) -> list[Any]:
    closed, inputs = form
    found = bodies.run(closed, [given[at] for at in inputs])
    return [
        jax.lax.convert_element_type(new, old.dtype)
        for new, old in zip(found, kept, strict=True)
    ]


def _keep(kept: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    del given
    return list(kept)


def _reads(jaxpr: Any, start: list[set[int]], mixes: Any = None) -> list[set[int]]:
    """Which inputs each result depends on, looking into what only applies a function.

    `mixes` gets each operation with its inputs' sets.
    """
    reads: dict[Any, set[int]] = dict(zip(jaxpr.invars, start, strict=True))

    for eqn in jaxpr.eqns:
        given = [compat.look_up(reads, atom, set()) for atom in eqn.invars]
        body = body_of(eqn)
        if body is None:
            if mixes is not None:
                mixes(eqn, given)
            found = [set().union(*given)] * len(eqn.outvars)
        else:
            found = _reads(body.jaxpr, given, mixes)
        reads.update(zip(eqn.outvars, found, strict=True))
    return [compat.look_up(reads, atom, set()) for atom in jaxpr.outvars]


def _divide(plain: Any, clipped: Any, count: int, paths: list[str]) -> list[_Part]:
    """Divides functions of parameters, state, gradients and a norm, array by array.

    Args:
      plain: one that does not read the norm, its last input, a closed jaxpr.
      clipped: one that does.
      count: the number of results, as many as parameters and state have arrays.
      paths: what the inputs but the last are called.
    """
    jaxpr = clipped.jaxpr
    last = len(jaxpr.invars) - 1
    reads = _reads(jaxpr, [{at} for at in range(last + 1)])
    reads = [found - {last} for found in reads]
    grads = set(range(count, last))
    # Numbers such as steps: no gradient reaches them.
    shared = {
        at
        for at in range(count)
        if not reads[at] & grads and not jaxpr.invars[at].aval.shape
    }
    owner: dict[int, set[int]] = {at: {at} for at in range(last)}
    for at in set(range(count)) - shared:
        join(owner, {at, *reads[at]} - shared)
    groups = {id(group): group for at, group in owner.items() if at not in shared}
    found = []
    for group in [*groups.values(), *({at} for at in sorted(shared))]:
        own = sorted(group & grads)
        if len(own) > 1:
            raise ValueError(_refusal(jaxpr, own, last, paths))
        if outputs := sorted(at for at in group if at < count):
            forms = [_part_of(form, outputs, last) for form in (plain, clipped)]
            found.append(_Part(*forms, outputs, own[0] - count if own else None))
    return found


def _part_of(closed: Any, outputs: list[int], last: int) -> tuple[Any, list[int]]:
    """What gives some results alone, and the inputs that it reads."""
    wanted = [at in outputs for at in range(len(closed.jaxpr.outvars))]
    small, used = compat.remove_dead(closed, wanted, [True] * (last + 1))
    return small, list(itertools.compress(itertools.count(), used))


def _link(eqn: Any) -> str:
    """The link of a chain of Optax that an operation is of, or where it is written."""
    frames = getattr(eqn.source_info.traceback, "frames", ())
    for frame in frames:
        name = re.fullmatch(r"(\w+)\.<locals>\.update(_fn)?", frame.function_name)
        if name and name[1] != "chain":
            return name[1]
    return source(eqn)


def _refusal(jaxpr: Any, own: list[int], last: int, paths: list[str]) -> str:
    """Names what makes one array depend on the gradient of another."""
    found: list[str] = []

    def mixes(eqn: Any, given: list[set[int]]) -> None:
        together = [at for at in own if any(at in inputs for inputs in given)]
        alone = any(len(inputs & set(own)) == len(together) for inputs in given)
        if len(together) > 1 and not alone and not found:
            found.append(_link(eqn))

    _reads(jaxpr, [{at} for at in range(last + 1)], mixes)
    where = f" for {found[0]}" if found else ""
    return (
        f"{_WHAT}: the chain cannot be undone array by array{where}: what becomes of "
        f"one array depends on {paths[own[0]]} and {paths[own[1]]}; clip by clip=, and "
        "leave what else reads all gradients out, or take post_validate=False"
    )


def optimizer(
    tx: Any, *, clip: float | None = None, post_validate: bool = False
) -> Optimizer:
    """An optimizer that clips by the global norm, and skips what is not finite.

    A step whose gradients are not finite leaves parameters and state as they are. With
    `post_validate`, no stage waits for the norm: each one updates as if nothing had to
    be clipped, and the next step begins with `settle`, which undoes what was wrong.
    Until then the parameters, the state and the gradients before the update are kept.

    Args:
      tx: a chain of Optax that treats each array alone, such as `optax.adamw(1e-3)`.
      clip: the largest global norm of the gradients; larger ones are scaled down to it.
      post_validate: whether updates go ahead of the norm.

    Returns:
      The optimizer: `init`, `update` and `settle`.

    Raises:
      TypeError: `tx` is no transformation of Optax.
      ValueError: a norm that is not positive.

    Example:

      >>> import optax
      >>> opt = optimizer(optax.sgd(0.5), clip=1.0, post_validate=True)
      >>> params = {"w": jnp.array([3.0, 4.0])}
      >>> state = opt.init(params)
      >>> params, state = opt.update(params, *reversed(opt.settle(params, state)))
      >>> params, state = opt.settle(params, state)
      >>> [round(float(w), 3) for w in params["w"]]
      [2.7, 3.6]
    """
    if not (
        callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))
    ):
        raise TypeError(
            f"{_WHAT}: tx must be a transformation of Optax, such as optax.adam(1e-3), "
            f"got {tx!r} of type {type(tx).__name__}"
        )
    if clip is not None and not (
        isinstance(clip, (int, float)) and 0 < clip < math.inf
    ):
        raise ValueError(
            f"{_WHAT}: clip must be a positive norm, or None to clip nothing, got "
            f"{clip!r}"
        )
    return Optimizer(tx, clip, post_validate)
