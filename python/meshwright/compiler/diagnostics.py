# SPDX-License-Identifier: Apache-2.0
"""What the compiler says, in terms of the Python API.

The compiler's texts are those of its command line and of other programs that
check them. Here they get the remedy that a caller of `meshwright.jit` has, and
are logged at the level they deserve, each once per jitted function.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import difflib
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ..core.config import Config
from ..core.names import CALLEE_PREFIX

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Message:
    """One thing the compiler said, with its notes.

    Attributes:
      severity: `error`, `warning` or `remark`.
      place: `file:line:column` in the user's source, or nothing.
      text: what is the matter.
      notes: further places with their texts.
    """

    severity: str
    place: str
    text: str
    notes: tuple[tuple[str, str], ...] = ()

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
      kind: `merge`, `absorb`, `move` or `remat`.
      missed: it was not done; the text says why.
      place: `file:line:column` in the user's source, or nothing.
      text: what it is about, such as which two fragments became one.
    """

    kind: str
    missed: bool
    place: str
    text: str

    def __str__(self) -> str:
        return _at(self.place, self.text)


def remarks_of(remarks: Iterable[tuple[str, bool, tuple[Any, ...]]]) -> list[Remark]:
    """Remarks in the order of passes; equal ones are one."""
    return list(
        dict.fromkeys(
            Remark(kind, missed, message.place, message.text)
            for kind, missed, diagnostic in remarks
            for message in messages_of([diagnostic])
        )
    )


def messages_of(diagnostics: Iterable[tuple[Any, ...]]) -> list[Message]:
    """Puts notes to what they belong to; equal messages are one."""
    messages: list[Message] = []
    for severity, file, line, column, text in diagnostics:
        place = f"{file}:{line}:{column}" if file else ""
        if severity == "note" and messages:
            last = messages[-1]
            notes = (*last.notes, (place, text))
            messages[-1] = dataclasses.replace(last, notes=notes)
        else:
            messages.append(Message(severity, place, text))
    return list(dict.fromkeys(messages))


@dataclasses.dataclass
class _Session:
    """Lowering of one function.

    Attributes:
      config: the config it is lowered for.
      said: what was logged of it before; it is said once.
    """

    config: Config
    said: set[str]


_session: contextvars.ContextVar[_Session | None] = contextvars.ContextVar(
    "meshwright_session", default=None
)

_Held = tuple[_Session | None, int, str]
_held: contextvars.ContextVar[list[_Held] | None] = contextvars.ContextVar(
    "meshwright_held", default=None
)


def _unassigned(match: re.Match[str], config: Config) -> str:
    name = match["name"]
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
        "mesh as a whole; call the function there without mw.call, or write the loop "
        "in Python, or with mw.fori_loop or mw.enumerated_for, which are unrolled"
    )


def _call_in_region(match: re.Match[str], config: Config) -> str:
    name = match["name"].removeprefix(CALLEE_PREFIX).removeprefix("_")
    return call_in_region(name, match["parent"])


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
    name = match["name"].removeprefix(CALLEE_PREFIX).removeprefix("_")
    return place + call_in_region(name, match["parent"])


def _nested(match: re.Match[str], config: Config) -> str:
    return (
        f"{match['name']!r} is inside of {_enclosing(match['parent'])}, which runs on "
        "one mesh as a whole; write loops over stages in Python (or with "
        "mw.enumerated_for, or mw.fori_loop, which are unrolled), choose between "
        "values instead of stages, or put all of it into one named computation"
    )


_USER_ORIGIN = re.compile(r'user_origin<"(.*?)"(?:\((\d+)\))?>')


def _origins(text: str) -> str:
    names = _USER_ORIGIN.findall(text)
    return " and ".join(
        f"the transpose of {name!r}" if count else repr(name) for name, count in names
    )


def _not_unique(match: re.Match[str], config: Config) -> str:
    own = dict(_USER_ORIGIN.findall(match["origins"]))
    others = [
        repr(name)
        for name, stage in config.name_to_stage_assignment.items()
        if stage == int(match["stage"]) and name not in own
    ]
    if others:
        remedy = (
            f"it reads what other stages make of {' or '.join(others)} of the same "
            "stage, and a stage cannot read what a later one makes: give it a stage "
            "of its own behind these, in name_to_stage_assignment; or are there two "
            "calls without, or with the same, call_counter?"
        )
    elif int(match["counter"]) >= 0:
        remedy = (
            f"two calls have the call_counter {match['counter']}: count them, "
            "mw.call(f, call_counter=i)(...) with i = 0, 1, ..."
        )
    else:
        remedy = (
            "if a function is called several times, say once per microbatch, number "
            "its calls: mw.call(f, call_counter=i)(...) with i = 0, 1, ...; if these "
            "are different computations, give each a stage of its own in "
            "name_to_stage_assignment"
        )
    return (
        f"stage {match['stage']} occurs more than once on mesh {match['mesh']!r}, as "
        f"{_origins(match['origins'])} and before; {remedy}"
    )


_Translation = Callable[[re.Match[str], Config], str]

# What the compiler says, to what it means to a caller of `meshwright.jit`.
_TRANSLATIONS: tuple[tuple[re.Pattern[str], _Translation], ...] = tuple(
    (re.compile(pattern), translation)
    for pattern, translation in (
        (
            r"^(?:Top-level|Parent) NamedComputation '(?P<name>.*)' is not assigned to "
            r"a mesh; add '.*@MESH' to the assignment$",
            _unassigned,
        ),
        (
            r"^Named (?:computations|tensors) can only be nested in mpmd functions or "
            r"mpmd ops, not in '(?P<parent>[^']*)'.*: \"(?P<name>.*)\"$",
            _nested,
        ),
        (
            r"^'(?P<name>.*)' must be at the top level of a function to be assigned to "
            r"a mesh, but is nested in '(?P<parent>[^']*)'$",
            _nested,
        ),
        (
            r"^call of @\"?(?P<name>[^\s\"]*)\"? must be directly in .*, but it runs "
            r"inside a `(?P<parent>[^`]*)`",
            _call_in_region,
        ),
        (
            r"^fragments with a stage must be unique .*\[mesh=(?P<mesh>.*), "
            r"stage_id=(?P<stage>-?\d+), .*call_count=(?P<counter>-?\d+), .*\] of "
            r"\[(?P<origins>.*)\]$",
            _not_unique,
        ),
    )
)


def _translate(text: str) -> str:
    session = _session.get()
    if session is None:
        return text
    for pattern, translation in _TRANSLATIONS:
        if match := pattern.search(text):
            return translation(match, session.config)
    return text


def _translated(message: Message) -> Message:
    return dataclasses.replace(message, text=_translate(message.text))


# Said together, at a lower level; and what of it no user can change: copies of
# values that are returned as they came, or twice.
_NOT_MERGED = "Inferred fragment has not been merged"
_COPIES = f"{_NOT_MERGED} (inferred by uniquify)"


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


def _log_once(level: int, text: str) -> None:
    held = _held.get()
    if held is None:
        _log(_session.get(), level, text)
    else:
        held.append((_session.get(), level, text))


def _log(session: _Session | None, level: int, text: str) -> None:
    if session is not None:
        if text in session.said:
            level = logging.DEBUG
        session.said.add(text)
    _logger.log(level, "%s", text)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """While this lasts, messages wait; those that are not taken back are logged."""
    held: list[_Held] = []
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)
        for message in held:
            _log(*message)


def take_back() -> None:
    """Forgets what is held back: another program takes the place of that one."""
    held = _held.get()
    if held is not None:
        held.clear()


def report(diagnostics: Iterable[tuple[Any, ...]]) -> None:
    """Logs what the compiler said about a program that it did partition."""
    messages = messages_of(diagnostics)
    for message in messages:
        if message.text.startswith(_NOT_MERGED):
            _logger.debug("%s", message)
        else:
            _log_once(logging.WARNING, str(_translated(message)))
    unmerged = [
        message
        for message in messages
        if message.text.startswith(_NOT_MERGED) and message.text != _COPIES
    ]
    if unmerged:
        _log_once(logging.INFO, _summary_of_unmerged(unmerged))


_CALL = re.compile(r"\bmpmd\.call @")
_ORIGIN = re.compile(r"\bmpmd\.named_computation<(.*?)> ")


def report_idle_schedule(schedule: str, meshes: Collection[str], module: str) -> None:
    """Warns if a schedule finds nothing to order, though something is repeated.

    Args:
      schedule: its name.
      meshes: names of the meshes.
      module: text of the module that is partitioned. Loops in it become calls with
        counters.
    """
    origins = _ORIGIN.findall(module)
    if "call_counter =" in module or "mpmd.for " in module:
        if not origins and len(meshes) > 1:
            _log_once(
                logging.WARNING,
                f"schedule {schedule} orders nothing: this program has no stages, and "
                "runs on one mesh; mark where a stage begins with mw.stage_boundary, "
                "name computations with mw.named_computation, or use mw.auto",
            )
        return
    if len(_CALL.findall(module)) < 2 and len(set(origins)) == len(origins):
        return
    _log_once(
        logging.WARNING,
        f"schedule {schedule} orders nothing: no call in this program has a "
        "call_counter; call the function of a microbatch as mw.call(f, "
        "call_counter=i)(...) with i = 0, 1, ..., where f takes the gradient, too",
    )


def explain(diagnostics: Iterable[tuple[Any, ...]]) -> str:
    """The text of the exception for a program that was not partitioned."""
    errors = [
        message for message in messages_of(diagnostics) if message.severity == "error"
    ]
    return "\n".join(dict.fromkeys(str(_translated(message)) for message in errors))


def explained_messages(
    diagnostics: Iterable[tuple[Any, ...]], config: Config
) -> list[Message]:
    """All that the compiler said, in terms of the Python API."""
    with lowering(config, set()):
        return [_translated(message) for message in messages_of(diagnostics)]


def place_of_error(
    diagnostics: Iterable[tuple[Any, ...]],
) -> tuple[str, int, str] | None:
    """File, line and a name for the first error that has a place."""
    for severity, file, line, _, _ in diagnostics:
        if severity == "error" and file:
            return file, line, "traced function"
    return None


@contextlib.contextmanager
def lowering(config: Config, said: set[str]) -> Iterator[None]:
    """While this lasts, messages are about a function lowered for `config`.

    Args:
      config: the config it is lowered for.
      said: messages that were logged of the function before; grows.
    """
    token = _session.set(_Session(config, said))
    try:
        yield
    finally:
        _session.reset(token)
