# SPDX-License-Identifier: Apache-2.0
"""Stacked layers as one array that spans the meshes of their stages.

Stages that are on meshes of the same axes, with as many layers each, are what a
`NamedSharding` on all of these meshes says: split by stage, and in each stage as on
its mesh. So an array [L, ...] is one `jax.Array`, for optimizers, checkpoints and
`jax.jit`; the program takes its shards as the pieces that its fragments want, and
what it gives is put together without a copy.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.layout import Format
from jax.sharding import NamedSharding

from ..jaxapi import runtime as jax_runtime
from ..runtime.processes.values import place_value
from ..shardings.joint import join_shardings
from ..shardings.signature import IOSpecs, ProgramSignature
from ..tracing.arguments import describe, kind_of
from .argument_errors import InputErrors
from .executable import Executable, Ready, delete


class Stacking(NamedTuple):
    """Which inputs and outputs of a program are pieces of the caller's arrays.

    Attributes:
      signature: what the caller gives and gets.
      inputs: for each flat input of the caller the number of pieces, 1 for what is
        not in pieces.
      outputs: the same for the outputs.
    """

    signature: ProgramSignature
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def specs(self, program: IOSpecs) -> IOSpecs | None:
        """Meshes and shardings as the caller sees them; None if that cannot be."""
        found: dict[str, tuple[Any, ...]] = {}
        for side, counts in (("input", self.inputs), ("output", self.outputs)):
            meshes, shardings = f"{side}_meshes", f"{side}_shardings"
            names = grouped(counts, getattr(program, meshes))
            joined = [
                group[0] if len(group) == 1 else join_shardings(group)
                for group in grouped(counts, getattr(program, shardings))
            ]
            if None in joined:
                return None
            found |= {meshes: tuple(map(" and ".join, names)), shardings: tuple(joined)}
        return program._replace(**found)


def grouped(counts: Sequence[int], flat: Sequence[Any]) -> list[Sequence[Any]]:
    """A flat list in groups of this size."""
    rest = iter(flat)
    return [list(itertools.islice(rest, count)) for count in counts]


class _StackedReady(NamedTuple):
    """Inputs as the caller gave them, and what the program takes of them."""

    given: Sequence[Any]
    inner: Ready


class _Joint:
    """How an array of several pieces is taken apart and put together."""

    def __init__(self, aval: Any, whole: NamedSharding, pieces: Sequence[Any]):
        self.shape, self.dtype, self.sharding = aval.shape, aval.dtype, whole
        self.rows = aval.shape[0] // len(pieces)
        shape = (self.rows, *aval.shape[1:])
        make = jax_runtime.make_aval
        self.aval = make(aval.shape, aval.dtype, whole)
        self.pieces = [(make(shape, aval.dtype, piece), piece) for piece in pieces]

    def put_together(self, pieces: Sequence[Any]) -> Any:
        """One array of the shards of several."""
        shards = [shard for piece in pieces for shard in piece._arrays]
        return jax_runtime.make_array(self.aval, self.sharding, shards)

    def is_joint(self, array: Any) -> bool:
        """Whether the shards of an array are those of the pieces."""
        if not isinstance(array, jax.Array) or not array.committed:
            return False
        return array.sharding.is_equivalent_to(self.sharding, array.ndim)

    def take_apart(self, array: Any) -> list[Any]:
        """The pieces of an array, wherever it is, without a copy if they are there."""
        if not self.is_joint(array):
            limits = [
                (n * self.rows, (n + 1) * self.rows) for n in range(len(self.pieces))
            ]
            if isinstance(array, jax.Array):
                return [jax.lax.slice_in_dim(array, *limit) for limit in limits]
            return [np.asarray(array)[slice(*limit)] for limit in limits]
        by_device = {next(iter(s.devices())): s for s in array._arrays}
        return [
            jax_runtime.make_array(
                aval,
                sharding,
                [by_device[d] for d in sharding.mesh.devices.flat if d in by_device],
            )
            for aval, sharding in self.pieces
        ]


class StackedExecutable(Executable):
    """An executable whose stacked arrays are pieces for the program that it wraps."""

    def __init__(self, inner: Executable, stacking: Stacking, specs: IOSpecs):
        self._inner, self.stacking, self._specs = inner, stacking, specs
        self.program_signature = inner.signature
        self.signature = signature = stacking.signature
        self.out_avals = list(signature.output_avals)
        self._errors = InputErrors(signature, specs)
        self._program = inner.runtime_executable()
        self.partitioned = inner.partitioned

        def formats(counts: Any, flat: Any, shardings: Any) -> list[Any]:
            groups = zip(grouped(counts, flat), shardings, strict=True)
            return [g[0] if len(g) == 1 else Format(None, s) for g, s in groups]

        def joints(counts: Any, avals: Any, wholes: Any, pieces: Any) -> dict[int, Any]:
            return {
                index: _Joint(avals[index], wholes[index], group)
                for index, group in enumerate(grouped(counts, pieces))
                if len(group) > 1
            }

        inputs, outputs = stacking.inputs, stacking.outputs
        self._input_formats = formats(
            inputs, inner.input_formats(), specs.input_shardings
        )
        self._output_formats = formats(
            outputs, inner.output_formats(), specs.output_shardings
        )
        self._joint_inputs = joints(
            inputs,
            signature.input_avals,
            specs.input_shardings,
            inner.input_shardings(),
        )
        self._joint_kinds = {
            index: kind_of(signature.input_avals[index]) for index in self._joint_inputs
        }
        self._joint_outputs = joints(
            outputs, self.out_avals, specs.output_shardings, inner.output_shardings()
        )
        self._start = np.cumsum([0, *inputs]).tolist()
        # The pieces of arrays that are still there, by the identity of the array.
        self._known: dict[int, tuple[weakref.ref, list[Any]]] = {}

    def _pieces(self, index: int, leaf: Any) -> list[Any]:
        known = self._known.get(id(leaf))
        if known is not None and known[0]() is leaf:
            return known[1]
        pieces = self._joint_inputs[index].take_apart(leaf)
        if self._joint_inputs[index].is_joint(leaf):
            self._remember(leaf, pieces)
        return pieces

    def _remember(self, array: Any, pieces: list[Any]) -> None:
        forget, key = self._known.pop, id(array)
        self._known[key] = weakref.ref(array, lambda _: forget(key, None)), pieces

    def _apart(self, leaves: Sequence[Any]) -> list[Any]:
        flat: list[Any] = []
        for index, leaf in enumerate(leaves):
            if index in self._joint_inputs:
                flat += self._pieces(index, leaf)
            else:
                flat.append(leaf)
        return flat

    def prepare(
        self,
        leaves: Sequence[Any],
        *,
        typed: bool = False,
        new: bool = False,
        alone: bool = True,
    ) -> Any:
        """As for every executable; stacked arrays may be apart, or anywhere."""
        for index, kind in self._joint_kinds.items():
            leaf = leaves[index]
            # Of the shards of other types there are no pieces of these.
            if not typed and describe(leaf)[0] != kind:
                return None
            if isinstance(leaf, jax.Array) and leaf.is_deleted():
                self._errors.check(index, leaf)
        ready = self._inner.prepare(
            self._apart(leaves), typed=typed, new=new, alone=alone
        )
        return None if ready is None else _StackedReady(leaves, ready)

    def call(self, *args: Any) -> list[jax.Array]:
        """As for every executable, with stacked arrays where they are expected."""
        if len(args) != len(self.signature.input_avals):
            raise self._errors.count(len(args))
        for index in self._joint_inputs:
            self._errors.check(index, args[index])
        find_lost = functools.partial(self._find_lost, args)
        inner = self._inner.call(*self._apart(args), find_lost=find_lost)
        return self._result(args, inner)

    def run(self, ready: Any) -> list[jax.Array]:
        """Runs the program with what `prepare` made of its inputs."""
        find_lost = functools.partial(self._find_lost, ready.given)
        return self._result(ready.given, self._inner.run(ready.inner, find_lost))

    def _find_lost(self, given: Sequence[Any]) -> dict[str, jax.Array]:
        for index in self.signature.donated.intersection(self._joint_inputs):
            known = self._known.get(id(given[index]))
            if known is not None and any(piece.is_deleted() for piece in known[1]):
                given[index].delete()  # A part of it is gone.
        return super()._find_lost(given)

    def _result(self, given: Sequence[Any], flat: Sequence[Any]) -> list[jax.Array]:
        donated = self.signature.donated.intersection(self._joint_inputs)
        delete(given[index] for index in donated)
        outs = []
        for index, group in enumerate(grouped(self.stacking.outputs, flat)):
            joint = self._joint_outputs.get(index)
            if joint is None:
                outs += group
                continue
            outs.append(joint.put_together(group))
            self._remember(outs[-1], list(group))
        return outs

    def _placed(self, index: int, leaf: Any) -> jax.Array:
        if index not in self._joint_inputs:
            return self._inner._placed(self._start[index], leaf)
        sharding = self._specs.input_shardings[index]
        if not isinstance(leaf, jax.Array):
            leaf = np.asarray(leaf, self.signature.input_avals[index].dtype)
        return place_value(leaf, sharding)
