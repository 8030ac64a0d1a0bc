# SPDX-License-Identifier: Apache-2.0
"""From a program to the steps that run it.

Planning checks the program against its fragments: every launch gets arrays of the
type, split and memory that its module was compiled for, and no array that is
still needed is donated. Where the two differ the plan has a step that reshards or
copies. So the raw executables, which check nothing, can be trusted with what
flows between fragments; what users pass is checked at the boundary.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jax.sharding import Mesh

from .errors import ProgramError
from .order import issue_order
from .pair_options import pair_options
from .placement import Place, ProgramMesh
from .schedule import Schedule
from .source import Signature, Source, describe_fragment, read_source
from .steps import Copy, FirstShard, Launch, Put, Step, identity_text


@dataclass
class Plan:
    """Everything about a run that does not depend on the arrays."""

    steps: list[Step] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    fragment_sources: list[int | None] = field(default_factory=list)
    inputs: list[Place] = field(default_factory=list)
    donated: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    outputs: list[Place] = field(default_factory=list)
    output_slots: list[int] = field(default_factory=list)
    slots: dict[int, Place] = field(default_factory=dict)
    # Dimensions of arrays from major to minor, once layouts are settled.
    orders: dict[int, tuple[int, ...]] = field(default_factory=dict)
    consumed: set[int] = field(default_factory=set)
    # Slots whose arrays are there until a launch after their last reader, by its item.
    held: dict[int, int] = field(default_factory=dict)
    # Items that are not to arrive earlier than they are issued.
    delayed: frozenset[int] = frozenset()
    slot_count: int = 0

    def bytes_of(self, slot: int) -> int:
        """Bytes on each device of the array that steps keep in a slot."""
        return self.slots[slot].device_bytes(self.orders.get(slot, ()))


class Planner:
    """Builds a plan. `meshes` must be bound; `options` are per mesh name."""

    def __init__(
        self,
        schedule: Schedule,
        modules: dict[str, str],
        meshes: dict[str, ProgramMesh],
        options: dict[str, dict],
    ):
        self.schedule, self.modules = schedule, modules
        self.meshes, self.options = meshes, options
        self.plan = Plan()
        # Types of values, and their texts by what a schedule says of values.
        self.types: dict[int, str] = {}
        self.type_texts: dict[int, str] = {}
        self.argument_places: dict[tuple, Place] = {}
        self.result_places: dict[int, tuple[Place, ...]] = {}
        # Over several processes each mesh keeps its order.
        alone = all(mesh.is_here for mesh in meshes.values())
        at_once = [name for name, mesh in meshes.items() if mesh.is_gpu and alone]
        self.order = issue_order(schedule, at_once)
        # The items that this process takes part in, in the order of issue, and where in
        # the order of all items they are.
        self.ranks = np.flatnonzero(schedule.find(self._concerns)[self.order])
        self.items = {
            index: schedule.item(index) for index in self.order[self.ranks].tolist()
        }
        self.rank, self.rank_of = -1, np.argsort(self.order)
        self.last_reader = self._find_last_readers()
        self.slot_of: dict[int, int] = {}
        self.temporaries: set[int] = set()
        self.donated: set[int] = set()
        self.identities: dict[tuple, int] = {}
        self.views: dict[tuple[str, str], ProgramMesh] = {}

    def build(self) -> Plan:
        self._read_fragments()
        self._plan_inputs()
        for index, item in self.items.items():
            self.rank = self.rank_of[index]
            if item["kind"] == "call":
                self._plan_call(index, item)
            else:
                self._plan_transfer(index, item)
        self.rank = self.schedule.count
        self._plan_outputs()
        self.plan.donated = sorted(self.donated)
        self.plan.held = self._find_held()
        self.plan.delayed = frozenset(
            index for index, item in self.items.items() if item.get("delayed")
        )
        assign_drops(self.plan)
        return self.plan

    def _concerns(self, item: dict) -> bool:
        """Whether this process takes part in items that have this in common. Of others
        it relies on the processes that do: these check them."""
        is_call = item["kind"] == "call"
        names = [item["mesh"]] if is_call else [item["from"], item["to"]]
        return any(self._mesh(name).is_here for name in names)

    def _find_last_readers(self) -> dict[int, int | None]:
        """The item that reads a value last; None if the caller gets the value."""
        found: dict[int, int | None] = {}
        for index, item in self.items.items():
            reads = item["operands"] if item["kind"] == "call" else [item["operand"]]
            found |= dict.fromkeys(reads, index)
        return found | {entry["value"]: None for entry in self.schedule.outputs}

    def _find_held(self) -> dict[int, int]:
        """What leaves for a host beside launches that do not read it."""
        return {
            self.slot_of[value]: index
            for index, item in self.items.items()
            if item["kind"] == "call"
            for value in item["last_uses"]
            if value in self.slot_of and self.last_reader.get(value, index) != index
        }

    # Fragments.

    def _read_fragments(self) -> None:
        origins = collections.defaultdict(dict)
        pairs = set()
        for item, _ in self.schedule.kinds():
            if item["kind"] == "call":
                if item.get("overlapped"):
                    pairs.add(item["fragment"])
                origins[item["fragment"]] |= dict.fromkeys(item.get("origins", ()))
        for index, fragment in enumerate(self.schedule.fragments):
            name = fragment["name"]
            if name not in self.modules:
                raise ProgramError(
                    f'fragment "{name}" has no module; given are {sorted(self.modules)}'
                )
            mesh = self._mesh(fragment["mesh"])
            if not mesh.is_here:
                # Another process reads it; the schedule says what this one needs.
                self.plan.fragment_sources.append(None)
                continue
            options = self.options[mesh.name]
            if pairs:
                options = pair_options(mesh, options, is_pair=index in pairs)
            source = read_source(name, mesh, self.modules[name], options)
            source.origins = list(origins[index])
            self._check_counts(source, fragment)
            self._check_donation(source, fragment)
            self.plan.fragment_sources.append(len(self.plan.sources))
            self.plan.sources.append(source)

    @staticmethod
    def _check_counts(source: Source, fragment: dict) -> None:
        for side, types in (
            ("arguments", source.signature.arguments),
            ("results", source.signature.results),
        ):
            if len(types) != len(fragment[side]):
                raise ProgramError(
                    f'fragment "{source.name}" has {len(types)} {side} in its module '
                    f"and {len(fragment[side])} in the program"
                )

    @staticmethod
    def _check_donation(source: Source, fragment: dict) -> None:
        """A fragment must not donate an operand that the plan still reads."""
        for position, given in enumerate(source.signature.donated):
            if given and not fragment["arguments"][position]["donated"]:
                raise ProgramError(
                    f'fragment "{source.name}" donates argument {position} in its '
                    "module and not in the program"
                )

    def _mesh(self, name: str) -> ProgramMesh:
        if name not in self.meshes:
            raise ProgramError(
                f"unknown mesh {name!r}; the program has {list(self.meshes)}"
            )
        return self.meshes[name]

    # Slots.

    def _new_slots(self, places: Sequence[Place]) -> range:
        first = self.plan.slot_count
        self.plan.slot_count += len(places)
        slots = range(first, self.plan.slot_count)
        self.plan.slots |= zip(slots, places, strict=True)
        return slots

    def _slot(self, value: int, where: str) -> int:
        if value not in self.slot_of:
            maker = self.schedule.maker(value)
            is_before = maker is not None and self.rank_of[maker] < self.rank
            # What other processes compute gets a slot only if it comes here.
            if maker in self.items or not is_before:
                raise ProgramError(f"{where} reads value {value} before it is computed")
            (self.slot_of[value],) = self._new_slots([self._declared(value)])
        return self.slot_of[value]

    def _declared(self, value: int, kind: str | None = None) -> Place:
        """Where the program says that a value is."""
        entry = self.schedule.value(value)
        mesh = self._mesh(entry["mesh"])
        return mesh.place(entry, entry.get("sharding"), kind or entry["memory_kind"])

    def _plan_inputs(self) -> None:
        for entry in self.schedule.inputs:
            self._note_types([entry["value"]], [self.schedule.value(entry["value"])])
            place = self._declared(entry["value"], entry.get("memory_kind"))
            (slot,) = self._new_slots([place])
            self.slot_of[entry["value"]] = slot
            self.plan.inputs.append(place)
            if entry.get("donated"):
                self.donated.add(slot)

    # Items.

    def _plan_call(self, index: int, item: dict) -> None:
        number = item["fragment"]
        position = self.plan.fragment_sources[number]
        source = self.plan.sources[position]
        what = describe_fragment(source.name, item.get("origins", ()), item["mesh"])
        if item["mesh"] != source.mesh.name:
            raise ProgramError(
                f"{what}: its module is for mesh {source.mesh.name!r}; partition again"
            )
        self._note_types(item["results"], self.schedule.results(index))
        self._check_types(what, "argument", item["operands"], source.signature)
        self._check_types(what, "result", item["results"], source.signature)
        reads = [
            self._argument(index, what, number, argument, value)
            for argument, value in enumerate(item["operands"])
        ]
        reads = self._protect(index, what, item, reads)
        places = self._result_places(number, self.schedule.results(index))
        slots = self._new_slots(places)
        self.slot_of |= zip(item["results"], slots, strict=True)
        step = Launch(index, tuple(reads), slots, places, what)
        step.source, step.fragment = position, True
        step.callbacks = source.callbacks
        step.awaits = tuple(self._slot(value, what) for value in item.get("awaits", ()))
        self.plan.steps.append(step)

    def _note_types(self, values: Sequence[int], described: Sequence[dict]) -> None:
        # A schedule with ranges says the same of many values by the same objects.
        for value, found in zip(values, described, strict=True):
            text = self.type_texts.get(id(found))
            if text is None:
                dims = "x".join([*map(str, found["shape"]), found["dtype"]])
                text = self.type_texts[id(found)] = f"tensor<{dims}>"
            self.types[value] = text

    def _type(self, value: int) -> str:
        if value not in self.types:
            self._note_types([value], [self.schedule.value(value)])
        return self.types[value]

    def _check_types(self, what, side: str, values, signature: Signature) -> None:
        types = signature.arguments if side == "argument" else signature.results
        found = tuple([self._type(value) for value in values])
        if found == types:
            return
        if len(types) != len(values):
            raise ProgramError(
                f"{what} is called with {len(values)} {side}s; its module has "
                f"{len(types)}"
            )
        for position, (ours, theirs) in enumerate(zip(found, types, strict=True)):
            if ours != theirs:
                raise ProgramError(
                    f"{what}: {side} {position} is {ours} in the program and {theirs} "
                    "in its module"
                )

    def _result_places(self, number: int, values: list[dict]) -> tuple[Place, ...]:
        """Where a fragment puts its results; the same in every call."""
        if number not in self.result_places:
            fragment = self.schedule.fragments[number]
            mesh = self._mesh(fragment["mesh"])
            self.result_places[number] = tuple(
                mesh.place(value, described["sharding"], described["memory_kind"])
                for value, described in zip(values, fragment["results"], strict=True)
            )
        return self.result_places[number]

    def _argument(self, index: int, what: str, number: int, argument: int, value: int):
        """The slot to pass: the value's own, or a resharded copy of it."""
        slot = self._slot(value, what)
        place = self.plan.slots[slot]
        fragment = self.schedule.fragments[number]
        if place.mesh.name != fragment["mesh"]:
            raise ProgramError(
                f"{what} reads value {value} of mesh {place.mesh.name!r}, without a "
                "transfer; partition again"
            )
        key = number, argument, place.kind
        wanted = self.argument_places.get(key)
        if wanted is None:
            described = fragment["arguments"][argument]
            kind = described["memory_kind"] or place.kind
            wanted = self._mesh(fragment["mesh"]).place(
                self.schedule.value(value), described["sharding"], kind
            )
            self.argument_places[key] = wanted
        if place.same(wanted):
            return slot
        moved = self._move(index, what, slot, wanted)
        self.temporaries.add(moved)
        return moved

    def _protect(self, index, what, item, reads) -> list[int]:
        """Copies donated operands that are still needed, here or by the caller."""
        reads, times = list(reads), collections.Counter(reads)
        arguments = self.schedule.fragments[item["fragment"]]["arguments"]
        for position, slot in enumerate(reads):
            if not arguments[position]["donated"]:
                continue
            shared = times[slot] > 1
            dies = self._is_last_read(item["operands"][position], index, slot)
            if slot not in self.temporaries and (shared or not dies):
                place = self.plan.slots[slot]
                reads[position] = self._identity(index, what, slot, place)
            self.plan.consumed.add(reads[position])
        return reads

    def _is_last_read(self, value: int, index: int, slot: int) -> bool:
        if slot < len(self.plan.inputs) and slot not in self.donated:
            return False
        return self.last_reader.get(value) == index

    def _plan_transfer(self, index: int, item: dict) -> None:
        value, result = item["operand"], item["result"]
        what = f'transfer from mesh "{item["from"]}" to mesh "{item["to"]}"'
        before, (after,) = self.schedule.value(value), self.schedule.results(index)
        self._note_types([result], [after])
        if (before["shape"], before["dtype"]) != (after["shape"], after["dtype"]):
            raise ProgramError(
                f"{what} changes the shape or element type of value {value}; "
                "partition again"
            )
        if (before["mesh"], after["mesh"]) != (item["from"], item["to"]):
            raise ProgramError(
                f"{what} has an operand on {before['mesh']!r} and a result on "
                f"{after['mesh']!r}"
            )
        slot, target = self._slot(value, what), self._declared(result)
        self.slot_of[result] = self._move(index, what, slot, target)

    # Ways to move.

    def _move(self, index: int | None, what: str, slot: int, target: Place) -> int:
        """A new array in another place, without waiting and without the host."""
        place = self.plan.slots[slot]
        same_mesh = place.mesh is target.mesh
        if place.splits_like(target):
            if same_mesh and place.memory == target.memory:
                return self._identity(index, what, slot, target)
            if place.mesh.client is not target.mesh.client:
                return self._step(Put, index, what, slot, target)
            moved = self._step(Copy, index, what, slot, target)
            self.plan.steps[-1].stays = same_mesh
            return moved
        if target.split.unreduced:
            raise ProgramError(f"{what} cannot make a value unreduced again")
        if same_mesh:
            return self._identity(index, what, slot, target)
        sizes = len(place.mesh.devices), len(target.mesh.devices)
        if sizes[0] == sizes[1]:
            # Split like the target on the devices of the source, then copy.
            view = self._view(place.mesh, target.mesh)
            there = view.intern(target.element, target.shape, target.split, None)
            slot = self._identity(index, what, slot, there)
            return self._move(index, what, slot, target)
        if sizes[0] > 1:
            whole = place.mesh.replicated(place)
            if not place.splits_like(whole):
                slot = self._identity(index, what, slot, whole)
            slot = self._step(FirstShard, index, what, slot, whole)
        kind = Put
        if sizes[1] == 1 and place.mesh.client is target.mesh.client:
            kind = Copy
        return self._step(kind, index, what, slot, target)

    def _step(self, kind: type[Step], index, what: str, slot: int, place: Place) -> int:
        writes = self._new_slots([place])
        self.plan.steps.append(kind(index, (slot,), writes, (place,), what))
        return writes.start

    def _identity(self, index, what: str, slot: int, target: Place, donate=False):
        place = self.plan.slots[slot]
        key = place, target, donate
        if key not in self.identities:
            self.identities[key] = len(self.plan.sources)
            text = identity_text(place, target, donate)
            self.plan.sources.append(read_source("reshard", place.mesh, text, {}))
        writes = self._new_slots([target])
        self.plan.steps.append(
            Launch(index, (slot,), writes, (target,), what, source=self.identities[key])
        )
        return writes.start

    def _view(self, source: ProgramMesh, target: ProgramMesh) -> ProgramMesh:
        """The devices of one mesh arranged like another."""
        if list(source.axes.items()) == list(target.axes.items()):
            return source
        key = source.name, target.name
        if key not in self.views:
            shape = tuple(target.axes.values())
            devices = source.jax_mesh.devices.reshape(shape)
            self.views[key] = ProgramMesh(
                {"name": source.name, "axes": list(target.axes.items())},
                Mesh(devices, tuple(target.axes)),
            )
        return self.views[key]

    # Ends.

    def _plan_outputs(self) -> None:
        taken: set[int] = set()
        for position, entry in enumerate(self.schedule.outputs):
            value, what = entry["value"], f"result {position} of the program"
            wanted = self._declared(value, entry.get("memory_kind"))
            is_here = wanted.mesh.is_here
            slot = self._slot(value, what) if is_here else self._new_slots([wanted])[0]
            if not self.plan.slots[slot].same(wanted):
                slot = self._move(None, what, slot, wanted)
            elif slot in self.donated:
                # The caller gave the array away and gets its buffer back.
                slot = self._identity(None, what, slot, wanted, donate=True)
                self.slot_of[value] = slot
            elif slot in taken:
                slot = self._identity(None, what, slot, wanted)
            taken.add(slot)
            self.plan.output_slots.append(slot)
            self.plan.outputs.append(self.plan.slots[slot])


def assign_drops(plan: Plan) -> None:
    """Gives every slot to the step after which it is unused."""
    donated = set(plan.donated)
    owned_by_caller = set(range(len(plan.inputs))) - donated
    keep = owned_by_caller | set(plan.output_slots)
    # Deleting an array that was given away takes its buffers from views of it, so
    # who reads such a view reads the array. Others may be forgotten at once.
    viewed = {
        step.writes.start: step.reads[0]
        for step in plan.steps
        if isinstance(step, FirstShard) and step.reads[0] in donated
    }
    seen: set[int] = set()
    for step in reversed(plan.steps):
        used = [*step.reads, *step.writes]
        dead = dict.fromkeys([*used, *(viewed[s] for s in used if s in viewed)])
        step.drops = sorted(s for s in dead if s not in seen and s not in keep)
        step.deletes = [s for s in step.drops if s in donated]
        seen.update(dead)
    _hold_departing(plan)
    plan.unread = sorted(donated - seen)


def _hold_departing(plan: Plan) -> None:
    """Keeps what is copied to a host as long as the program says that takes."""
    last_steps = {step.item: step for step in plan.steps if isinstance(step, Launch)}
    for step in plan.steps:
        for slot in [slot for slot in step.drops if slot in plan.held]:
            last = last_steps.get(plan.held[slot])
            if isinstance(step, Copy) and last is not None:
                step.drops.remove(slot)
                last.drops = sorted([*last.drops, slot])
