# SPDX-License-Identifier: Apache-2.0
"""What the compiler says, in terms of the Python API.

The compiler's texts are those of its command line and of other programs that
check them. Here they get the remedy that a caller of `meshwright.jit` has, and
are logged at the level they deserve, each once per jitted function.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..core.config import SCHEDULE_OPTION, Config
from ..core.names import stage_name, user_name

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Message:
    """One thing the compiler reported, with its notes.

    Attributes:
      severity: `error`, `warning` or `remark`.
      place: `file:line:column` in the user's source, or nothing.
      text: what is the matter.
      notes: further places with their texts.
      id: what it is about, where Python has a remedy of its own.
      arguments: names and values that belong to the id.
    """

    severity: str
    place: str
    text: str
    notes: tuple[tuple[str, str], ...] = ()
    id: str = ""
    arguments: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> str:
        return dict(self.arguments)[name]

    def __str__(self) -> str:
        lines = [_at(self.place, self.text)]
        lines += [_at(place, f"note: {text}") for place, text in self.notes]
        return "\n".join(lines)


def _at(place: str, text: str) -> str:
    return f"{place}: {text}" if place else text


@dataclasses.dataclass(frozen=True)
class Remark:
    """What the compiler did on its own, or did not do and why.

    Attributes:
      kind: `merge`, `absorb`, `move`, `remat` or `overlap`.
      missed: it was not done; the text says why.
      place: `file:line:column` in the user's source, or nothing.
      text: what it is about, such as which two fragments became one.
      mesh: the mesh of fragments that were merged or not; nothing of other kinds.
    """

    kind: str
    missed: bool
    place: str
    text: str
    mesh: str = ""

    def __str__(self) -> str:
        return _at(self.place, self.text)


def remarks_of(remarks: Iterable[tuple[str, bool, tuple[Any, ...]]]) -> list[Remark]:
    """Remarks in the order of passes; equal ones are one."""
    found = []
    for kind, missed, (_, file, line, column, text, _, arguments) in remarks:
        place = f"{file}:{line}:{column}" if file else ""
        mesh = dict(arguments).get("mesh", "")
        found.append(Remark(kind, missed, place, text, mesh))
    return list(dict.fromkeys(found))


# What MLIR prints for a memory kind that is not given.
_NO_KIND = "<<NULL ATTRIBUTE>>"


def messages_of(diagnostics: Iterable[tuple[Any, ...]]) -> list[Message]:
    """Puts notes to what they belong to; equal messages are one."""
    messages: list[Message] = []
    for severity, file, line, column, text, about, arguments in diagnostics:
        text = text.replace(_NO_KIND, "the default kind")
        place = f"{file}:{line}:{column}" if file else ""
        if severity == "note" and messages:
            last = messages[-1]
            notes = (*last.notes, (place, text))
            messages[-1] = dataclasses.replace(last, notes=notes)
        else:
            messages.append(Message(severity, place, text, (), about, tuple(arguments)))
    return list(dict.fromkeys(messages))


def _unassigned(message: Message, config: Config) -> str:
    name = message["name"]
    assigned = list(config.name_to_mesh_assignment)
    text = (
        f"named computation {name!r} has no mesh; add {name!r}: MESH to "
        "name_to_mesh_assignment of make_config, where MESH is one of "
        f"{', '.join(config.topology)}"
    )
    close = difflib.get_close_matches(name, assigned, n=1)
    if close:
        return f"{text}. Assigned is {close[0]!r}: did you mean that?"
    return f"{text}. Assigned are {', '.join(map(repr, assigned)) or 'no names'}"


# Ops that run a part of the program on one mesh as a whole.
_ENCLOSING = {
    "stablehlo.while": "a loop of JAX (lax.scan, fori_loop, while_loop or map)",
    "stablehlo.case": "a branch of lax.cond or lax.switch",
    "stablehlo.if": "a branch of lax.cond",
    "mpmd.named_computation": "a named computation",
}


def _enclosing(operation: str) -> str:
    return _ENCLOSING.get(operation, f"an operation {operation!r}")


def call_in_region(name: str, operation: str) -> str:
    """What is wrong with a call of `name` in the region of an operation."""
    return (
        f"call of {name!r} is inside of {_enclosing(operation)}, which runs on one "
        "mesh as a whole; call the function there without mw.call, or loop in Python, "
        "or with mw.fori_loop or mw.enumerated_for, which are unrolled, as loops of "
        "jax.lax around mw.pipeline.accumulate are by max_loop_trips of mw.make_config"
    )


def _call_in_region(message: Message, config: Config) -> str:
    return call_in_region(user_name(message["name"]), message["operation"])


# A text of jaxlib's, whose diagnostics have no ids.
_REFUSED_CALL = re.compile(
    r'Mpmd CallOp on "(?P<name>[^"]*)" can only be used in .* inside op (?P<parent>\S+)'
    r'(?:\n[^"\n]*loc\([^\n]*?"(?P<file>[^"]+)":(?P<line>\d+))?'
)


def explain_refusal(text: str) -> str | None:
    """What JAX's verifier says of a call in a region; None for all else it says.

    Where JAX lowers the body of a loop as a function of its own, only the verifier
    sees what is around the call.
    """
    match = _REFUSED_CALL.search(text)
    if match is None:
        return None
    place = f"{match['file']}:{match['line']}: " if match["file"] else ""
    return place + call_in_region(user_name(match["name"]), match["parent"])


_OF_MICROBATCHES = (
    "take the gradient of a loop over microbatches in its body, or once around that "
    "loop alone, and carry nothing but sums along; "
)


def _nested(message: Message, config: Config) -> str:
    of_loops = _OF_MICROBATCHES if message["operation"] == "stablehlo.while" else ""
    return (
        f"{message['name']!r} is inside of {_enclosing(message['operation'])}, which "
        f"runs on one mesh as a whole; {of_loops}write loops over stages in Python (or "
        "with mw.enumerated_for, or mw.fori_loop, which are unrolled), choose between "
        "values instead of stages, or put all of it into one named computation"
    )


def _not_unique(message: Message, config: Config) -> str:
    named = {
        "origin": lambda name: repr(name),
        "transposed_origin": lambda name: f"the transpose of {name!r}",
    }
    origins = [
        (value, named[name](value))
        for name, value in message.arguments
        if name in named
    ]
    own = {name for name, _ in origins}
    stage, mesh = message["stage"], message["mesh"]
    counter = dict(message.arguments).get("call_counter")
    others = [
        repr(name)
        for name, number in config.name_to_stage_assignment.items()
        if number == int(stage) and name not in own
    ]
    if others:
        remedy = (
            f"it reads what other stages make of {' or '.join(others)} of the same "
            "stage, and a stage cannot read what a later one makes: give it a stage "
            "of its own after these, in name_to_stage_assignment; or are there two "
            "calls without, or with the same, call_counter?"
        )
    elif counter is not None:
        remedy = (
            f"two calls have the call_counter {counter}: count them, "
            "mw.call(f, call_counter=i)(...) with i = 0, 1, ...; or a jax.checkpoint "
            "around several named functions computes them again: checkpoint each of "
            "them by itself"
        )
    else:
        remedy = (
            "if a function is called several times, say once per microbatch, number "
            "its calls: mw.call(f, call_counter=i)(...) with i = 0, 1, ...; if these "
            "are different computations, give each a stage of its own in "
            "name_to_stage_assignment"
        )
    return (
        f"stage {stage} occurs more than once on mesh {mesh!r}, as "
        f"{' and '.join(text for _, text in origins)} and before; {remedy}"
    )


def _idle_schedule(message: Message, config: Config) -> str:
    remedy = (
        "this program has no stages, and runs on one mesh; mark where a stage begins "
        "with mw.stage_boundary, name computations with mw.named_computation, or use "
        "mw.auto"
        if message["reason"] == "no_stages"
        else "no call in this program has a call_counter; call the function of a "
        "microbatch as mw.call(f, call_counter=i)(...) with i = 0, 1, ..., where f "
        "takes the gradient, too"
    )
    return f"schedule {config.schedule} orders nothing: {remedy}"


# By id of what the compiler says: what it means to a caller of `meshwright.jit`.
_EXPLANATIONS: dict[str, Callable[[Message, Config], str]] = {
    "unassigned": _unassigned,
    "nested": _nested,
    "call_in_region": _call_in_region,
    "not_unique": _not_unique,
    "idle_schedule": _idle_schedule,
}


def _explained(message: Message, config: Config | None) -> Message:
    explanation = _EXPLANATIONS.get(message.id)
    if explanation is None or config is None:
        return message
    return dataclasses.replace(message, text=explanation(message, config))


def _is_meant(message: Message, config: Config) -> bool:
    """Whether a value goes to an earlier mesh that has several stages, or as a result.

    Where stages wrap around, the mesh of an earlier stage has a later one, too; what
    `mw.auto` applies to its own result goes through all of them again.
    """

    def named(role: str) -> list[str]:
        return [value for name, value in message.arguments if name == role]

    numbers, meshes = config.name_to_stage_assignment, config.name_to_mesh_assignment
    producer, consumer = named("producer"), named("consumer")
    if not consumer:
        return ("copies", "") in message.arguments
    both = {*producer, *consumer}
    if producer and both <= set(map(stage_name, range(config.auto_stages or 0))):
        return True
    if not producer or not both <= numbers.keys():
        return False
    last = max(numbers[name] for name in producer)
    there = {meshes.get(name) for name in consumer}
    first = min(numbers[name] for name in numbers if meshes.get(name) in there)
    return first < last < min(numbers[name] for name in consumer)


def _is_chosen(config: Config) -> bool:
    """Whether the user has chosen the schedule."""
    options = config.partitioning_options or {}
    return bool(config.pipeline_schedule) or SCHEDULE_OPTION in options


def _is_known(message: Message, config: Config) -> bool:
    """Whether it is about what no user can change, or says nothing new."""
    if message.id == "backward_dep":
        return _is_meant(message, config)
    if message.id == "not_merged":
        # Copies of values that are returned as they came, or twice.
        return message.arguments == (("inferred_by", "uniquify"),)
    if message.id == "schedule_conflict":
        # By default no order is wanted of what a microbatch applies again to what its
        # gradient gave.
        return message["first"] == message["second"] and not _is_chosen(config)
    return (
        message.id == "idle_schedule"
        and message["reason"] == "no_stages"
        and len(config.topology) < 2
    )


def _summary_of_unmerged(unmerged: list[Message]) -> str:
    first = next((message.place for message in unmerged if message.place), "")
    count = len(unmerged)
    what = (
        "1 fragment that no named computation asked for runs"
        if count == 1
        else f"{count} fragments that no named computation asked for run"
    )
    return _at(
        first,
        f"{what} by itself, which costs a launch; operations outside of named "
        "computations, such as a norm over all gradients, make them. Put these into "
        "a named computation, or set the partitioning option "
        "mpmd_absorb_inferred_fragments_on_entry_point_function",
    )


def report(diagnostics: Iterable[Any], config: Config, reported: set[str]) -> None:
    """Logs what the compiler said about a program that it did partition.

    Args:
      reported: what was logged of the function before; grows. It is logged once.
    """

    def log(level: int, text: str) -> None:
        _logger.log(logging.DEBUG if text in reported else level, "%s", text)
        reported.add(text)

    unmerged = []
    for message in messages_of(diagnostics):
        if message.id == "not_merged":
            _logger.debug("%s", message)
        if _is_known(message, config):
            continue
        if message.id == "not_merged":
            unmerged.append(message)
        else:
            log(logging.WARNING, str(_explained(message, config)))
    if unmerged:
        log(logging.INFO, _summary_of_unmerged(unmerged))


def explain(diagnostics: Iterable[Any], config: Config | None) -> str:
    """The text of the exception for a program that was not partitioned."""
    errors = [
        message for message in messages_of(diagnostics) if message.severity == "error"
    ]
    return "\n".join(dict.fromkeys(str(_explained(error, config)) for error in errors))


def explained_messages(diagnostics: Iterable[Any], config: Config) -> list[Message]:
    """All that the compiler reported, in terms of the Python API."""
    return [_explained(message, config) for message in messages_of(diagnostics)]


def place_of_error(diagnostics: Iterable[Any]) -> tuple[str, int, str] | None:
    """File, line and a name for the first error that has a place."""
    for severity, file, line, *_ in diagnostics:
        if severity == "error" and file:
            return file, line, "traced function"
    return None
