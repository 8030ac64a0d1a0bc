# SPDX-License-Identifier: Apache-2.0
"""What became of a function, as a page for a terminal."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..compiler.diagnostics import Message, Remark
from ..core.config import Config
from ..core.tables import size_text
from ..jaxapi import frontend as compat
from ..jaxapi.modules import find_main
from ..shardings.signature import ProgramSignature

_RESHARDS = ("sdy.sharding_constraint", "sdy.reshard")
_LONGEST = 12  # Lines of a list; the rest is counted.


def _type(value: Mapping[str, Any]) -> str:
    return f"{value['dtype']}[{','.join(map(str, value['shape']))}]"


def _axis(axis: Any) -> str:
    if isinstance(axis, str):
        return axis
    return f"{axis['axis']}:({axis['pre']}){axis['size']}"


def _split(sharding: Mapping[str, Any] | None) -> str:
    """A sharding as users write specs, without trailing dimensions."""
    dims = [list(map(_axis, dim)) for dim in (sharding or {"dims": []})["dims"]]
    while dims and not dims[-1]:
        dims.pop()
    spec = f"P({', '.join('+'.join(dim) or 'None' for dim in dims)})"
    unreduced = [_axis(axis) for axis in (sharding or {}).get("unreduced", ())]
    return f"{spec} unreduced over {', '.join(unreduced)}" if unreduced else spec


def _origin(item: Mapping[str, Any]) -> str:
    return ", ".join(item["origins"]) or "(inferred)"


def _axis_of(attribute: Any) -> str | dict[str, Any]:
    """An axis, or a part of one, as schedule.json has it."""
    axis = compat.sdy.AxisRefAttr(attribute)
    if axis.sub_axis_info is None:
        return axis.name
    part = compat.sdy.SubAxisInfoAttr(axis.sub_axis_info)
    return {"axis": axis.name, "pre": part.pre_size, "size": part.size}


def _spec(attribute: Any) -> str | None:
    """A sharding of the partitioned module as users write it; None if it is none."""
    sdy = compat.sdy
    if not sdy.TensorShardingAttr.isinstance(attribute):
        return None
    dims = sdy.TensorShardingAttr(attribute).dimension_shardings
    return _split(
        {
            "dims": [
                list(map(_axis_of, sdy.DimensionShardingAttr(dim).axes)) for dim in dims
            ]
        }
    )


def _reshards(function: Any) -> Iterator[tuple[str, str, str]]:
    """Values that are resharded in a function: type, how they are and will be."""
    block = function.regions[0].blocks[0]
    known: dict[Any, str | None] = {}
    if "arg_attrs" in function.attributes:
        for argument, attributes in zip(
            block.arguments, function.attributes["arg_attrs"], strict=True
        ):
            if "sdy.sharding" in attributes:
                known[argument] = _spec(attributes["sdy.sharding"])
    for operation in block.operations:
        if operation.operation.name not in _RESHARDS:
            continue
        operand, wanted = operation.operands[0], _spec(operation.attributes["sharding"])
        found = known.get(operand)
        if found and wanted and found != wanted:
            kind = operand.type
            of = {"dtype": str(kind.element_type), "shape": kind.shape}
            yield _type(of), found, wanted
        known[operation.results[0]] = wanted


def _some(lines: Iterable[str]) -> list[str]:
    """The first lines of a list, and how many are left."""
    found = list(lines)
    if len(found) > _LONGEST + 1:
        found[_LONGEST:] = [f"... and {len(found) - _LONGEST} more"]
    return found


@dataclasses.dataclass
class Report:
    """The page, sections of lines without colours; a text by `str`.

    Attributes:
      config: what the function was lowered for.
      signature: what it takes and gives.
      program: the schedule of the partitioner.
      fragments: the text of the module of each fragment, by its name. The partitioned
        module says no more, and has every call of every microbatch.
      messages: what the partitioner reported.
      remarks: what it did on its own, and did not; of a few microbatches, if it made
        the rest by repeating these.
    """

    config: Config
    signature: ProgramSignature
    program: Mapping[str, Any]
    fragments: Mapping[str, str]
    messages: Sequence[Message]
    remarks: Sequence[Remark]

    def __post_init__(self) -> None:
        self.values = self.program["values"]
        items = self.program["items"]
        self.calls = [item for item in items if item["kind"] == "call"]
        self.origins = {name for item in self.calls for name in item["origins"]}
        self.transfers = [item for item in items if item["kind"] == "transfer"]
        self.maker = {r: item for item in self.calls for r in item["results"]}
        self.readers = collections.defaultdict(list)
        for item in self.calls:
            for operand in item["operands"]:
                self.readers[operand].append(item)

    def head(self) -> Iterator[str]:
        calls = collections.Counter(item["mesh"] for item in self.calls)
        for mesh in self.program["meshes"]:
            name = mesh["name"]
            axes = ", ".join(f"{axis}={size}" for axis, size in mesh["axes"])
            devices = [d.id for d in self.config.topology[name].devices.flat]
            yield f"{name} ({axes}; devices {devices}): {calls[name]} fragment calls"

    def divided(self) -> Iterator[str]:
        """Where `auto` put the borders of stages."""
        for division in self.config.divisions:
            yield from division.lines(self.config.stage_to_mesh or {})

    def _user_name(self, origin: str) -> str:
        """The name that the user gave to what a call is of.

        A transposed one has its count after it, and names may end so, too: those that
        are assigned, or of whose beginning nothing is known.
        """
        name, bracket, count = origin.removesuffix(")").rpartition("(")
        if not (bracket and origin.endswith(")") and count.isdigit()):
            return origin
        assigned = self.config.name_to_mesh_assignment
        is_known = name in self.origins or name in assigned
        return name if is_known and origin not in assigned else origin

    def names(self) -> Iterator[str]:
        """Computations by mesh, with the stage and the reason."""
        assigned = self.config.name_to_mesh_assignment
        stages = self.config.name_to_stage_assignment
        user_names = {origin: self._user_name(origin) for origin in self.origins}
        found: dict[tuple[str, str], int] = collections.Counter(
            (name, item["mesh"])
            for item in self.calls
            for name in dict.fromkeys(map(user_names.get, item["origins"]))
        )
        for (name, mesh), count in found.items():
            stage = f", stage {stages[name]}" if name in stages else ""
            why = "assigned" if name in assigned else "by its stage or path"
            yield f"{name} -> {mesh}{stage} ({why}; in {count} fragment calls)"
        for name, mesh in assigned.items():
            if not any(name == known for known, _ in found):
                yield f"{name} -> {mesh} (no computation: a tensor, or not in here)"

    def _why_input(self, value: int) -> str:
        readers = [_origin(item) for item in self.readers[value]]
        if readers:
            return f"read by {', '.join(dict.fromkeys(readers[:3]))}"
        sent = {item["to"] for item in self.transfers if item["operand"] == value}
        return f"sent to {', '.join(sent)}" if sent else "returned as it came"

    def inferred(self) -> Iterator[str]:
        """Inputs, outputs and fragments without an assignment."""
        skipped = len(self.signature.const_args)
        inputs = self.program["inputs"][skipped:]
        for index, entry in zip(self.signature.kept, inputs, strict=True):
            if self.signature.input_meshes[index] is None:
                value = entry["value"]
                yield (
                    f"{self.signature.input_paths[index]} on "
                    f"{self.values[value]['mesh']}: {self._why_input(value)}"
                )
        outputs = zip(
            self.program["outputs"], self.signature.output_meshes, strict=True
        )
        for entry, assigned in outputs:
            if assigned is None:
                value = entry["value"]
                maker = self.maker.get(value)
                why = f"made by {_origin(maker)}" if maker else "where it came from"
                yield f"{entry['name']} on {self.values[value]['mesh']}: {why}"
        for item in self.calls:
            if not item["origins"]:
                place = f" at {item['location']}" if item["location"] else ""
                yield (
                    f"a fragment on {item['mesh']}{place}: operations outside of named "
                    "computations"
                )

    def moved(self) -> Iterator[str]:
        """Transfers by what they connect, the largest first."""
        totals: dict[tuple[str, ...], list[int]] = {}
        for item in self.transfers:
            value = self.values[item["operand"]]
            maker = self.maker.get(item["operand"])
            readers = self.readers[item["result"]]
            key = (
                f"{item['from']} -> {item['to']}",
                _type(value),
                f"{_origin(maker) if maker else 'an input'} to "
                f"{_origin(readers[0]) if readers else 'the result'}",
                item["location"] or "",
            )
            total = totals.setdefault(key, [0, 0])
            total[0] += 1
            total[1] += item["bytes"]
        for (edge, kind, what, place), (count, size) in sorted(
            totals.items(), key=lambda entry: -entry[1][1]
        ):
            at = f", {place}" if place else ""
            yield f"{edge}: {count} x {kind}, {size_text(size)}, {what}{at}"

    def donated(self) -> Iterator[str]:
        """Donated inputs that nothing reuses, and copies that keep values alive."""
        used, kept = set(), self.program["inputs"]
        borrowed = {entry["value"] for entry in kept if not entry["donated"]}
        for item in self.calls:
            fragment = self.program["fragments"][item["fragment"]]
            times = collections.Counter(item["operands"])
            for operand, argument in zip(
                item["operands"], fragment["arguments"], strict=True
            ):
                if argument["alias"] is None and not argument["donated"]:
                    continue
                used.add(operand)
                value = self.values[operand]
                if operand in borrowed:
                    why = "it is an input that was not donated"
                elif operand not in item["last_uses"]:
                    why = "it is read again later"
                elif times[operand] > 1:
                    why = "the fragment reads it twice"
                else:
                    continue
                yield (
                    f"{_type(value)} on {value['mesh']}, {size_text(value['bytes'])}, "
                    f"is copied before {_origin(item)}, which gives its buffer up: "
                    f"{why}"
                )
        for entry in kept:
            if entry["donated"] and entry["value"] not in used:
                value = self.values[entry["value"]]
                yield (
                    f"{entry['name']} is donated, and no fragment takes its buffer "
                    f"over ({_type(value)}, {size_text(value['bytes'])})"
                )

    def resharded(self) -> Iterator[str]:
        """Where a value is split in another way than it was made."""
        for item in self.calls:
            fragment = self.program["fragments"][item["fragment"]]
            for operand, argument in zip(
                item["operands"], fragment["arguments"], strict=True
            ):
                value = self.values[operand]
                if value["sharding"] == argument["sharding"]:
                    continue  # Of a long pipeline there are many.
                found, wanted = _split(value["sharding"]), _split(argument["sharding"])
                if found != wanted:
                    yield (
                        f"{_origin(item)} on {item['mesh']} reads {_type(value)} as "
                        f"{wanted}; it is {found}"
                    )

        yield from self._resharded_inside()
        yield from self.partitioner_messages(about_shardings=True)

    def _resharded_inside(self) -> Iterator[str]:
        """Fragments that split a value in another way than they get or made it."""
        callers = {item["fragment"]: item for item in self.calls}
        for number, fragment in enumerate(self.program["fragments"]):
            text = self.fragments.get(fragment["name"], "")
            if number not in callers or not any(name in text for name in _RESHARDS):
                continue
            module = compat.parse_module(text).operation
            item = callers[number]
            for kind, found, wanted in _reshards(find_main(module)):
                yield (
                    f"{_origin(item)} on {item['mesh']} splits {kind} as {wanted} "
                    f"inside, where it was {found} before"
                )

    def alone(self) -> Iterator[str]:
        """Fragments without a name of the user, and why each is by itself."""
        # What a pass left alone a later one may have merged: the last one counts.
        reasons = {
            (remark.place, remark.mesh): remark.text
            for remark in self.remarks
            if remark.missed and remark.kind in ("merge", "absorb")
        }
        for item in self.calls:
            if item["origins"]:
                continue
            why = reasons.get(
                (item["location"] or "", item["mesh"]),
                f'an inferred fragment on mesh "{item["mesh"]}" stays alone',
            )
            yield f"{item['location'] or 'somewhere'}: {why}"

    def partitioner_messages(self, about_shardings: bool = False) -> Iterator[str]:
        """What the partitioner reported, about changes of shardings or all else."""
        for message in self.messages:
            is_copy = ("inferred_by", "extract_reshards") in message.arguments
            if (message.id == "reshard" or is_copy) == about_shardings:
                yield str(message).replace("\n", "\n    ")

    def __str__(self) -> str:
        moved = sum(item["bytes"] for item in self.transfers)
        sections = (
            ("Meshes", self.head()),
            *(("Divided by cost", self.divided()),)[: len(self.config.divisions)],
            ("Names", self.names()),
            ("Inferred", self.inferred()),
            (f"Transfers: {len(self.transfers)}, {size_text(moved)}", self.moved()),
            ("Donation", self.donated()),
            ("Shardings that change at a border", self.resharded()),
            ("Fragments that were not merged, and why", self.alone()),
            ("What the partitioner reported", self.partitioner_messages()),
        )
        lines = [f"{self.signature.name}: {len(self.calls)} fragment calls a run"]
        for title, found in sections:
            counted = collections.Counter(found)
            listed = (f"{n} x {line}" if n > 1 else line for line, n in counted.items())
            lines += [
                "",
                title,
                *(f"  {line}" for line in _some(listed) or ["nothing"]),
            ]
        return "\n".join(lines)
