# SPDX-License-Identifier: Apache-2.0
"""What the issuing thread does, one step at a time.

A step names slots (positions in the list of a run's arrays). Once executables
exist, `bind` makes it a function of that list, with everything looked up before.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.experimental.layout import Format, Layout

from ...jaxapi import runtime as jax_runtime
from .loaded import Loaded
from .placement import Place
from .python_calls import PythonCalls

Issue = Callable[[list], None]


@dataclass
class Step:
    """One launch or copy.

    Attributes:
      item: position of the program's item that this step belongs to; None for
        what comes after the last item.
      reads: slots of the operands.
      writes: slots of the results, a range.
      places: where each result will be.
      drops: slots that are unused once the step is issued.
      deletes: those of them whose arrays the caller holds, and gave away.
    """

    item: int | None
    reads: tuple[int, ...]
    writes: range
    places: tuple[Place, ...]
    what: str
    drops: list[int] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        raise NotImplementedError

    def finish(self) -> Issue | None:
        """Forgets arrays after their last use."""
        drops, deletes = tuple(self.drops), tuple(self.deletes)
        if deletes:

            def delete(slots):
                for slot in deletes:
                    if not slots[slot].is_deleted():
                        slots[slot].delete()
                for slot in drops:
                    slots[slot] = None

            return delete
        if not drops:
            return None
        if drops == tuple(range(drops[0], drops[0] + len(drops))):
            first, last, nothing = drops[0], drops[-1] + 1, (None,) * len(drops)

            def forget_range(slots):
                slots[first:last] = nothing

            return forget_range

        def forget(slots):
            for slot in drops:
                slots[slot] = None

        return forget


@dataclass
class Launch(Step):
    """Runs an executable: a fragment, or the identity that reshards.

    Attributes:
      callbacks: how it calls Python functions, if it may.
      awaits: slots of arrays that have to be there before it is issued.
    """

    source: int = 0
    fragment: bool = False
    callbacks: PythonCalls | None = None
    awaits: tuple[int, ...] = ()

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        target = loaded[self.source]
        execute = target.executable.execute_sharded
        handlers = [place.handler for place in self.places]
        first, last = self.writes.start, self.writes.stop
        gather, finish, add = _gather(self.reads), self.finish(), tokens.append
        devices, callbacks = target.devices, self.callbacks

        def issue(slots):
            results = execute(gather(slots), True)
            slots[first:last] = results.consume_with_handlers(handlers)
            add(results.consume_token())
            if finish:
                finish(slots)

        def issue_with_callbacks(slots):
            issue(slots)
            jax_runtime.keep_token(devices, tokens[-1], callbacks.effects)

        found = issue_with_callbacks if callbacks else issue
        return after_arrival(self.awaits, found) if self.awaits else found


def after_arrival(awaits: tuple[int, ...], issue: Issue) -> Issue:
    """Waits for arrays; an error in what makes them is that of its own launch."""

    def issue_after_arrival(slots):
        for slot in awaits:
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                slots[slot].block_until_ready()
        issue(slots)

    return issue_after_arrival


@dataclass
class Copy(Step):
    """Copies shard i to device i of another mesh or memory, unchanged.

    Attributes:
      stays: whether the devices stay, and only the memory changes.
    """

    stays: bool = False

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        copy = jax_runtime.copy_arrays
        (read,), write, place = self.reads, self.writes.start, self.places[0]
        devices, shardings = [place.mesh.device_list], [place.sharding]
        semantics, finish = [self._mode], self.finish()

        def issue(slots):
            (slots[write],) = copy([slots[read]], devices, shardings, semantics)
            if finish:
                finish(slots)

        return issue

    @property
    def _mode(self) -> Any:
        # Of devices that both meshes have, each gets a buffer of its own to donate.
        if self.places[0].mesh.sharing:
            return jax_runtime.ALWAYS_COPY
        return jax_runtime.REUSE_INPUT

    def joins(self, other: Step) -> bool:
        """Whether one call may do both: the same way between a mesh and its host."""
        return (
            isinstance(other, Copy)
            and self.stays
            and other.stays
            and self.places[0].mesh is other.places[0].mesh
            and self.places[0].memory == other.places[0].memory
        )


def _bind_together(steps: Sequence[Copy]) -> Issue:
    """All of some copies that join each other, as one call."""
    copy, count = jax_runtime.copy_arrays, len(steps)
    gather = operator.itemgetter(*(step.reads[0] for step in steps))
    writes = [step.writes.start for step in steps]
    devices = [steps[0].places[0].mesh.device_list] * count
    shardings = [step.places[0].sharding for step in steps]
    semantics = [step._mode for step in steps]
    finishes = [finish for step in steps if (finish := step.finish())]

    def issue(slots):
        copies = copy(list(gather(slots)), devices, shardings, semantics)
        for write, made in zip(writes, copies, strict=True):
            slots[write] = made
        for finish in finishes:
            finish(slots)

    return issue


def issued_before(slots: list) -> None:
    """What is left to do of a copy that the one before it has taken along."""


def bind_steps(
    steps: Sequence[Step], loaded: list[Loaded], tokens: list
) -> list[Issue]:
    """A function for each step; neighbouring copies to or from a host are one call."""
    issues: list[Issue] = []
    group: list[Copy] = []

    def close() -> None:
        if len(group) == 1:
            issues.append(group[0].bind(loaded, tokens))
        elif group:
            issues.append(_bind_together(group))
            issues.extend([issued_before] * (len(group) - 1))
        group.clear()

    for step in steps:
        if group and not group[-1].joins(step):
            close()
        if isinstance(step, Copy):
            group.append(step)
        else:
            issues.append(step.bind(loaded, tokens))
    close()
    return issues


class Change(Step):
    """Makes one array of another."""

    def change(self) -> Callable[[jax.Array], jax.Array]:
        raise NotImplementedError

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        (read,), write, finish = self.reads, self.writes.start, self.finish()
        change = self.change()

        def issue(slots):
            slots[write] = change(slots[read])
            if finish:
                finish(slots)

        return issue


@dataclass
class Put(Change):
    """Splits an array of one device over a mesh, or crosses between backends."""

    def change(self) -> Callable[[jax.Array], jax.Array]:
        place = self.places[0]
        if not place.mesh.sharing:
            return functools.partial(jax.device_put, device=place.sharding)
        # Where each device gets all of it, JAX lets a device that has it keep it,
        # whatever `may_alias` says; so it gets another one.
        whole = tuple(place.sharding.shard_shape(place.shape)) == place.shape

        def put(array):
            if whole and not array.devices().isdisjoint(place.mesh.devices):
                array = jax_runtime.copy_shard(array)
            return jax.device_put(array, place.sharding, may_alias=False)

        return put


@dataclass
class Relayout(Change):
    """Reorders the elements of each shard: dimensions from major to minor."""

    order: tuple[int, ...] = ()

    def change(self) -> Callable[[jax.Array], jax.Array]:
        target = Format(Layout(self.order), self.places[0].sharding)
        return functools.partial(jax.device_put, device=target)


@dataclass
class FirstShard(Change):
    """The first device's part of a replicated array, without a copy."""

    def change(self) -> Callable[[jax.Array], jax.Array]:
        return operator.methodcaller("addressable_data", 0)


def _gather(reads: tuple[int, ...]) -> Callable[[list], Any]:
    if len(reads) > 1:
        return operator.itemgetter(*reads)
    if not reads:
        return lambda slots: ()
    (only,) = reads
    return lambda slots: (slots[only],)


def identity_text(source: Place, target: Place, donate: bool = False) -> str:
    """A module that gives its argument another split or memory on the same devices.

    To be called in an MLIR context.
    """
    argument = _attributes(source, "source")
    if donate:
        argument.append("tf.aliasing_output = 0 : i32")
    result = _attributes(target, "target")
    meshes = "".join(
        f"  sdy.mesh @{name} = <[{_axes(place)}]>\n"
        for name, place in (("source", source), ("target", target))
        if len(place.mesh.devices) > 1
    )
    kind = source.type_text
    value, total = "%arg0", ""
    if source.split.unreduced and len(source.mesh.devices) > 1:
        # Partial sums are added up where the program says so, not at its border.
        value = "%total"
        total = (
            f"    {value} = sdy.sharding_constraint %arg0"
            f" <@source, [{_dims(source)}]> : {kind}\n"
        )
    return (
        f"module @reshard {{\n{meshes}"
        f"  func.func public @main(%arg0: {kind} {{{', '.join(argument)}}})"
        f" -> ({kind} {{{', '.join(result)}}}) {{\n"
        f"{total}    return {value} : {kind}\n  }}\n}}\n"
    )


def _axes(place: Place) -> str:
    return ", ".join(
        f"{_quoted(axis)}={size}" for axis, size in place.mesh.axes.items()
    )


def _quoted(name: str) -> str:
    """A string as modules have it, in the current MLIR context."""
    return str(jax_runtime.ir.StringAttr.get(name))


def _attributes(place: Place, mesh: str) -> list[str]:
    found = []
    if len(place.mesh.devices) > 1:
        unreduced = ""
        if place.split.unreduced:
            unreduced = f", unreduced={{{_parts(place, place.split.unreduced)}}}"
        sharding = f"#sdy.sharding<@{mesh}, [{_dims(place)}]{unreduced}>"
        found.append(f"sdy.sharding = {sharding}")
    if place.kind is not None:
        found.append(f'mhlo.memory_kind = "{place.kind}"')
    return found


def _dims(place: Place) -> str:
    return ", ".join(f"{{{_parts(place, dim)}}}" for dim in place.split.dims)


def _parts(place: Place, parts) -> str:
    return ", ".join(
        _quoted(part.axis)
        if part.size == place.mesh.axes[part.axis]
        else f"{_quoted(part.axis)}:({part.pre}){part.size}"
        for part in parts
    )
