# SPDX-License-Identifier: Apache-2.0
"""From marks in a traced program to named computations with stages and meshes.

    def step(params, x, y):              stage0  x, w0      -> h
        h = stage_boundary(f(w0, x))     stage1  h, w1, y   -> loss
        return loss(g(w1, h), y)

`meshwright.jit` does this to what it traced, after all transformations: with the
gradient of such a step, each stage has a backward part as well.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.config import SCHEDULE_OPTION, Config
from ..core.names import CPU_MESH_SUFFIX, is_cpu_mesh
from ..jaxapi import frontend as compat
from ..schedules.assignment import stage_assignment
from ..tracing.bodies import discharged
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, source, with_body
from .assign import Graph, Layout, Stages, is_mark, is_own
from .auto import Divider
from .emit import emit, stage_name
from .flatten import first_mark, flatten, makes_reference, mark_in, refuse
from .graph import by_marks, check_ways
from .loops import is_expandable
from .marks import mark_p
from .named import in_pieces
from .terms import has_terms
from .towers import place_towers, with_towers
from .vocabulary import has_parts, join_in_calls, join_losses, place_parts

_logger = logging.getLogger(__name__)


class Found(NamedTuple):
    """Stages that a program was found to have.

    Attributes:
      count: number of stages, 0 if there is no mark.
      places: the user's line of each mark, in order.
      is_regular: whether each stage has one computation in each direction; higher
        derivatives have more, which no schedule knows.
      numbers: those of the stages that hold something, if some are empty.
      graph: what feeds what, if they are no chain.
      beside: number of stages that are none between marks, parts of a vocabulary.
    """

    count: int
    places: Sequence[str]
    is_regular: bool = True
    numbers: Sequence[int] | None = None
    graph: Graph | None = None
    beside: int = 0

    @property
    def held(self) -> Sequence[int]:
        """The numbers of the stages that hold something."""
        return range(self.count) if self.numbers is None else self.numbers

    def name(self, stage: int) -> str:
        """What the computation of a stage is called."""
        return stage_name(stage, self.graph)


def cut(closed: Any, config: Config) -> tuple[Any, Config]:
    """Makes named computations of what is between the marks of a program.

    Returns:
      The program, and the config with the stages that were found; both as they
      were if there is no mark.

    Raises:
      ValueError: a mark where nothing can be cut, a stage without an operation, or
        other stages than the meshes and the schedule can have. The text begins
        with the user's line.
    """
    mark = first_mark(closed.jaxpr)
    is_divided = mark is not None or config.auto_stages is not None
    if is_divided and compat.find(closed.jaxpr, makes_reference):
        # As values they say what reads and writes wait for.
        values = discharged(closed, False)
        named = values.jaxpr.replace(debug_info=closed.jaxpr.debug_info)
        closed = compat.ClosedJaxpr(named, values.consts)
        mark = first_mark(named)
    if config.auto_stages is not None:
        if mark is not None:
            raise ValueError(
                f"{source(mark)}: stage_boundary under mw.auto, which looks for the "
                "borders of stages itself; take the marks away, or use mw.jit"
            )
        return _divide(closed, config)
    config, beside = place_parts(closed.jaxpr, config)
    if mark is None:
        closed = join_in_calls(closed) if beside else closed
        return in_pieces(closed), config
    cutter = _Cutter(config)
    closed, _ = cutter.program(closed, {}, 0)
    found = cutter.found()._replace(beside=beside)
    return closed, with_stages(config, found)


def _divide(closed: Any, config: Config) -> tuple[Any, Config]:
    """Cuts a program without marks into stages of equal cost."""
    is_scheduled = config.schedule not in ("None", "NONE")
    divider = Divider(config.auto_stages, config.name_to_mesh_assignment, is_scheduled)
    closed = divider.program(closed)
    divisions = tuple(divider.divisions)
    places = [cut.after for cut in divisions[0].cuts]
    found = Found(config.auto_stages, places, divider.is_regular)
    config = dataclasses.replace(config, divisions=divisions)
    return closed, with_stages(config, found)


class _Cutter:
    """Cuts the bodies of one program; equal calls share what is made of theirs."""

    def __init__(self, config: Config):
        self._config = config
        self.count = 0
        self.is_regular = True
        self.places: list[str] = []
        self._layout: Layout | None = None
        self._graph: Graph | None = None
        self._done: dict[Any, tuple[Any, list[int | None]]] = {}
        # Inputs of bodies that are the same for all microbatches.
        self._fixed: set[Any] = set()
        self._alive: list[Any] = []

    def found(self) -> Found:
        """The stages of all bodies that were cut."""
        layout = self._layout
        if layout is None:
            return Found(self.count, self.places, self.is_regular, graph=self._graph)
        return Found(layout.count, self.places, self.is_regular, layout.numbers)

    def program(
        self, closed: Any, known: Mapping[int, int], transposes: int
    ) -> tuple[Any, list[int | None]]:
        """Cuts a body, or the calls in it.

        Args:
          known: numbers of the marks whose tokens are inputs, by their positions.
          transposes: how often the body was transposed.

        Returns:
          The body, and for each result the number of the mark whose token it is.
        """
        key = id(closed.jaxpr), tuple(sorted(known.items())), transposes
        if key not in self._done:
            self._alive.append(closed)
            self._done[key] = self._program(closed, known, transposes)
        return self._done[key]

    def _program(self, closed: Any, known: Any, transposes: int) -> Any:
        direct = _direct_mark(closed.jaxpr, self._config.max_loop_trips)
        if direct is not None:
            call = compat.find(closed.jaxpr, _calls_mark)
            if call is not None:
                raise ValueError(
                    f"{source(direct)}: stage_boundary outside of mw.call, and another "
                    f"one inside of a call at {source(mark_in(call))}; either all "
                    "microbatches are divided, or the whole step; what runs once "
                    "beside the microbatches can be a call, too: "
                    "mw.call(f, call_counter=i)(...), with a number i that none of "
                    "them has"
                )
            return self._body(closed, known, transposes)
        jaxpr = closed.jaxpr
        tokens = {jaxpr.invars[index]: number for index, number in known.items()}
        eqns = []
        for eqn in jaxpr.eqns:
            mark = mark_in(eqn)
            if mark is not None:
                eqn = self._operation(eqn, mark, tokens, transposes)
            eqns.append(eqn)
        new = jaxpr.replace(eqns=eqns)
        found = [compat.look_up(tokens, var) for var in jaxpr.outvars]
        return compat.ClosedJaxpr(new, closed.consts), found

    def _operation(self, eqn: Any, mark: Any, tokens: Any, transposes: int) -> Any:
        """An operation with marks inside, whose body is cut."""
        body = body_of(eqn, or_repeats=True)
        if body is None or eqn.primitive is named_computation_p:
            refuse(eqn, mark)
        known = {
            index: tokens[var]
            for index, var in enumerate(eqn.invars)
            if compat.is_variable(var) and var in tokens
        }
        count = transposes + compat.transpose_count(eqn.source_info.name_stack)
        invars = body.jaxpr.invars
        if eqn.primitive is for_p:
            self._fixed.update(invars[: eqn.params["num_captured"]])
        else:
            self._fixed.update(
                inner
                for var, inner in zip(eqn.invars, invars, strict=True)
                if compat.is_variable(var) and var in self._fixed
            )
        new, found = self.program(body, known, count)
        for var, number in zip(eqn.outvars, found, strict=True):
            if number is not None:
                tokens[var] = number
        return with_body(eqn, new)

    def _body(self, closed: Any, known: Any, transposes: int) -> Any:
        flat = flatten(closed, transposes, self._is_opened, self._config.max_loop_trips)
        flat = dataclasses.replace(flat, items=join_losses(flat.items))
        inputs = flat.inputs
        numbers = {inputs[index]: number for index, number in known.items()}
        stages = by_marks(flat, numbers, self.count)
        if stages.places:
            self._check(flat, stages)
            self._layout, self._graph = stages.layout, stages.graph
        stage = stages.stage
        if self._layout is not None:
            numbers_of = self._layout.numbers
            stage = [None if at is None else numbers_of[at] for at in stage]
        outs = [compat.look_up(stages.tokens, out) for out in flat.outs]
        fixed = {
            new
            for new, var in zip(inputs, closed.jaxpr.invars, strict=True)
            if var in self._fixed
        }
        new, regular = emit(closed, flat, stage, self._graph, fixed)
        self.is_regular &= regular
        return new, outs

    def _is_opened(self, eqn: Any) -> bool:
        """Whether an operation without a mark is part of the stages around it."""
        if eqn.primitive is named_computation_p:
            return not self._config.assignment_of([eqn.params["name"]])
        if eqn.primitive is call_p or has_terms(eqn):
            return True
        return any(map(has_parts, compat.bodies(eqn)))

    def _check(self, flat: Any, stages: Stages) -> None:
        if self.count and self.count != stages.count:
            raise ValueError(
                f"{stages.places[0]}: {stages.count} stages here and {self.count} "
                f"stages from {self.places[0]} on; all marked functions of a program "
                "must have the same number of stages"
            )
        for what, parts, before, found in (
            ("graph", "towers", self._graph, stages.graph),
            ("layout", "stages", self._layout, stages.layout),
        ):
            if self.count and before != found:
                raise ValueError(
                    f"{stages.places[0]}: a {what} of other {parts} than that from "
                    f"{self.places[0]} on; all functions of a program go by one {what}"
                )
        self.count, self.places = stages.count, stages.places
        forward = {
            stage
            for item, stage in zip(flat.items, stages.stage, strict=True)
            if stage is not None and not item.transposes
        }
        if stages.graph is not None:
            check_ways(flat)
        empty = next((at for at in range(stages.count) if at not in forward), None)
        if empty is not None:
            raise ValueError(_why_empty(flat, stages, empty))


def _why_empty(flat: Any, stages: Stages, stage: int) -> str:
    """What is wrong where no forward operation is in a stage."""
    if stages.graph is not None:
        tower, number = stages.graph.place(stage)
        marks = [item.eqn for item in flat.items if is_own(item)]
        own = [eqn for eqn in marks if eqn.params["tower"] == tower.name]
        return (
            f"{source(own[number])}: stage_boundary: nothing is computed after this "
            f"mark, so stage {number} of tower {tower.name!r} is empty; take the mark "
            "away, or go on with what it gives"
        )
    at = min(stage, stages.count - 2)
    where = f"{stages.places[at]}: stage_boundary: "
    if stage == 0:
        return (
            f"{where}nothing is computed before this mark, so stage 0 is empty; take "
            "it away, it belongs between two stages"
        )
    after = stages.places[stage - 1]
    before = [
        var
        for item in flat.items
        if is_mark(item) and not item.eqn.params["linked"]
        for var in item.eqn.outvars[:-1]
        if stages.tokens[item.eqn.outvars[-1]] == stage - 1
    ]
    given = [flat.outs, *(item.eqn.invars for item in flat.items)]
    if not any(var in atoms for var in before for atoms in given):
        return (
            f"{after}: stage_boundary: its result is not used; go on with it, as in "
            "x = mw.stage_boundary(x)"
        )
    return (
        f"{where}nothing is computed after the mark at {after}, so stage {stage} is "
        "empty; take one of the marks away"
    )


def _direct_mark(jaxpr: Any, max_trips: int | None) -> Any | None:
    """A mark that is not in a call of its own."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is mark_p:
            return eqn
        mark = mark_in(eqn)
        if eqn.primitive in (call_p, for_p) or mark is None:
            continue
        body = body_of(eqn)
        is_loop = body is None and compat.find_inside(eqn, _calls_mark) is None
        if is_loop and is_expandable(eqn, max_trips):
            return mark
        if body is None or eqn.primitive is named_computation_p:
            refuse(eqn, mark)
        if (found := _direct_mark(body.jaxpr, max_trips)) is not None:
            return found
    return None


def _calls_mark(eqn: Any) -> bool:
    return eqn.primitive in (call_p, for_p) and mark_in(eqn) is not None


def with_stages(config: Config, found: Found) -> Config:
    """A config that knows the meshes of the stages that were found."""
    places = place_stages(config, found)
    if found.graph is not None:
        config = with_towers(config, found.graph, places)
    names = {found.name(stage): mesh for stage, mesh in places.items()}
    options = {
        "mpmd_infer_transfers": True,
        "mpmd_infer_cross_mesh_reductions": True,
        "mpmd_keep_units_alike": True,
        "mpmd_repeat_views": True,
        **(config.partitioning_options or {}),
    }
    schedule, schedule_name = config.pipeline_schedule, config.schedule_name
    if not found.is_regular and SCHEDULE_OPTION in options:
        _logger.warning(
            "%sstages occur more than once in a direction, as in higher derivatives, "
            "for a model applied to the result of its own gradient, or around a named "
            "computation with a mesh of its own; such a program runs in the order in "
            "which it is written. For a schedule, take each gradient in an "
            "mw.pipeline.accumulate or mw.call of its own",
            f"{found.places[0]}: " if found.places else "",
        )
        options[SCHEDULE_OPTION], schedule, schedule_name = "None", None, None
    stages = {found.name(stage): stage for stage in places if found.is_regular}
    _check_names("name_to_mesh_assignment", config.name_to_mesh_assignment, names)
    _check_names("name_to_stage_assignment", config.name_to_stage_assignment, stages)
    return dataclasses.replace(
        config,
        name_to_mesh_assignment={**config.name_to_mesh_assignment, **names},
        name_to_stage_assignment={**config.name_to_stage_assignment, **stages},
        partitioning_options=options,
        pipeline_schedule=schedule,
        schedule_name=schedule_name,
    )


def _check_names(what: str, given: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Refuses to override what the user says about the name of a stage."""
    for name, value in found.items():
        if given.get(name, value) != value:
            raise ValueError(
                f"{what}: {name!r} is {given[name]!r}, but a stage of marks or mw.auto "
                f"has this name, and is {value!r}; move stages with stage_to_mesh=, or "
                "give a computation of your own another name"
            )


def place_stages(config: Config, found: Found) -> dict[int, str]:
    """The mesh of each stage."""
    meshes = [mesh for mesh in config.topology if not is_cpu_mesh(mesh)]
    given = config.stage_to_mesh
    where = f"{found.places[0]}: stage_boundary: " if found.places else ""
    what = f"{found.count} stages"
    if found.places:
        what += f", divided at {_listed(found.places)}"
    if not meshes and given is None:
        raise ValueError(
            f"{where}{what}, but all meshes of the topology end in {CPU_MESH_SUFFIX}, "
            "and have no stages by themselves; say where stages are with stage_to_mesh="
        )
    if given is not None:
        missing = [str(stage) for stage in found.held if stage not in given]
        extra = [str(stage) for stage in given if stage >= found.count]
        if missing or extra:
            wrong = "has no mesh for stage " if missing else "has a mesh for stage "
            raise ValueError(
                f"{where}stage_to_mesh {wrong}{', '.join(missing or extra)}; the "
                f"function has {what}"
            )
        return {stage: given[stage] for stage in found.held}
    if found.graph is not None:
        return place_towers(config, found.graph, meshes)
    if config.towers:
        raise ValueError(
            f"{where}the stages are one chain, but towers= has "
            f"{', '.join(map(repr, config.towers))}; give each mark its tower, as in "
            f"mw.stage_boundary(x, tower={next(iter(config.towers))!r})"
        )
    schedule = (config.partitioning_options or {}).get(SCHEDULE_OPTION)
    if schedule in (None, "None", "NONE"):
        if found.count > len(meshes) and config.pipeline_schedule is None:
            repeats = len(set(found.places)) < len(found.places)
            raise ValueError(
                f"{where}{what}, but the topology has {len(meshes)} meshes "
                f"({', '.join(meshes)}); take marks away, or say which stages share a "
                "mesh with stage_to_mesh=, or with a pipeline_schedule that has "
                "several stages on a mesh, such as Interleaved1F1B"
                f"{_APPLIED_AGAIN if repeats else ''}"
            )
        return {stage: meshes[stage % len(meshes)] for stage in found.held}
    try:
        count = found.count + found.beside
        places = stage_assignment(str(schedule), meshes, count)
        missing = [str(stage) for stage in found.held if stage not in places]
        if missing:
            raise ValueError(
                f"{schedule} has no actions of stage {', '.join(missing)}, which holds "
                "something"
            )
        return {stage: places[stage] for stage in found.held}
    except ValueError as error:
        raise ValueError(
            f"{where}{what}: {error}; move the marks, or say where the stages live "
            "with stage_to_mesh="
        ) from None


# Where a mark occurs more than once: for layers, or for a model that is called again.
_APPLIED_AGAIN = (
    ". If a model is applied to its own output, make each application a call of its "
    "own, mw.call(f, call_counter=i)(...) with i = 0, 1, ..."
)


def _listed(places: Sequence[str]) -> str:
    """Lines, with how often each occurs."""
    counted = collections.Counter(places)
    return ", ".join(
        f"{place} ({n} times)" if n > 1 else place for place, n in counted.items()
    )
