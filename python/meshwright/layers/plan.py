# SPDX-License-Identifier: Apache-2.0
"""Finds the arrays of a program that are kept layer by layer.

`pipeline.scan` takes slices of stacked parameters, one for each stage. What is added
to such an array row by row, such as its moments, or is put together of the gradients
of its slices, has the same layers and is best where they are: such values belong
together, in the whole program.

    def step(w, m, x):                          w, m, and the results: one group,
        g = grad(loss)(w, x)                    cut where `scan` has cut w
        m = 0.9 * m + g
        return w - m, m
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ..jaxapi import frontend as compat
from ..tracing.scopes import first_operand, inlined, is_marked, kept
from .rows import along_rows, rows_of


class Group:
    """Values that have the same layers; two that become one share a root."""

    def __init__(self, rows: int):
        self._above: Group | None = None
        self._rows, self._cuts = rows, {0, rows}
        self._is_kept = False

    def root(self) -> Group:
        """The group that this one has become a part of."""
        group = self
        while group._above is not None:
            group = group._above
        return group

    def join(self, other: Group) -> None:
        """Makes one group of two of as many rows."""
        mine, theirs = self.root(), other.root()
        if mine is not theirs:
            theirs._above = mine
            mine._cuts |= theirs._cuts
            mine._is_kept |= theirs._is_kept

    def cut(self, *rows: int) -> None:
        """Notes where pieces end."""
        self.root()._cuts.update(rows)

    def uncut(self, row: int) -> None:
        """Makes one piece of those before and after a row."""
        self.root()._cuts.discard(row)

    def keep(self) -> None:
        """Leaves the values whole, wherever they are cut."""
        self.root()._is_kept = True

    @property
    def cuts(self) -> list[int]:
        """The first row of each piece, and the number of rows."""
        return sorted(self.root()._cuts)

    @property
    def is_cut(self) -> bool:
        """Whether there are several pieces."""
        root = self.root()
        return len(root._cuts) > 2 and not root._is_kept


@dataclasses.dataclass
class Plan:
    """Groups of the values of a body.

    Attributes:
      groups: of each variable with rows.
      inner: by position of an operation, the plans of its bodies.
    """

    groups: dict[Any, Group]
    inner: dict[int, list[Plan]]

    def cuts(self, atom: Any) -> list[int] | None:
        """Where a value is cut; None if it is in one piece."""
        if not compat.is_variable(atom):
            return None
        group = self.groups.get(atom)
        return group.cuts if group is not None and group.is_cut else None

    def touches(self, eqn: Any) -> bool:
        """Whether an operation has to do with a value in pieces."""
        atoms = (*eqn.invars, *eqn.outvars)
        return any(self.cuts(atom) is not None for atom in atoms)

    @property
    def is_cutting(self) -> bool:
        """Whether a value of the body is cut, or one of a body inside of it."""
        return any(group.is_cut for group in self.groups.values()) or any(
            inner.is_cutting for plans in self.inner.values() for inner in plans
        )


def plan_layers(jaxpr: Any) -> Plan:
    """Finds the groups of a program."""
    return _Planner().plan(jaxpr, {}, False)


class _Planner:
    def __init__(self) -> None:
        # Bodies that occur several times, as that of a call does, have one plan.
        self._plans: dict[int, Plan] = {}

    def plan(self, jaxpr: Any, inputs: Mapping[Any, Group], marked: bool) -> Plan:
        plan = Plan(dict(inputs), {})
        for at, eqn in enumerate(jaxpr.eqns):
            self._operation(plan, at, eqn, marked or is_marked(eqn))
        made = {var for eqn in jaxpr.eqns for var in eqn.outvars}
        for eqn in jaxpr.eqns:
            if eqn.effects and not eqn.outvars:  # It has no mesh if operands have two.
                groups = [self._group(plan, atom) for atom in eqn.invars]
                for atom, group in zip(eqn.invars, groups, strict=True):
                    if group is not None and atom in made:
                        group.keep()
        return plan

    def _operation(self, plan: Plan, at: int, eqn: Any, marked: bool) -> None:
        body = inlined(eqn)
        if body is not None:
            groups = zip(body.jaxpr.invars, eqn.invars, strict=True)
            inputs = {
                inner: group
                for inner, atom in groups
                if (group := self._group(plan, atom)) is not None
            }
            plan.inner[at] = [self.plan(body.jaxpr, inputs, marked)]
            self._tie(plan, eqn.outvars, plan.inner[at][0], body.jaxpr.outvars)
            return
        bodies = kept(eqn)
        if bodies is not None:
            operands = eqn.invars[first_operand(eqn) :]
            plan.inner[at] = []
            for body in bodies:
                if id(body.jaxpr) not in self._plans:
                    self._plans[id(body.jaxpr)] = self.plan(body.jaxpr, {}, marked)
                inner = self._plans[id(body.jaxpr)]
                plan.inner[at].append(inner)
                self._tie(plan, operands, inner, body.jaxpr.invars)
                self._tie(plan, eqn.outvars, inner, body.jaxpr.outvars)
            return
        if marked:
            self._mark(plan, eqn)
        along = along_rows(eqn)
        if along is not None:
            atoms = [*eqn.outvars, *(eqn.invars[index] for index in along)]
            groups = [self._group(plan, atom) for atom in atoms]
            found = [group for group in groups if group is not None]
            for group in found[1:]:
                found[0].join(group)

    def _group(self, plan: Plan, atom: Any) -> Group | None:
        rows = rows_of(atom.aval)
        if rows is None or not compat.is_variable(atom):
            return None
        return plan.groups.setdefault(atom, Group(rows))

    def _tie(
        self, plan: Plan, outer: Sequence[Any], inner: Plan, vars: Sequence[Any]
    ) -> None:
        """What an operation takes or gives is what its body does."""
        for atom, var in zip(outer, vars, strict=True):
            groups = self._group(plan, atom), self._group(inner, var)
            if None not in groups:
                groups[0].join(groups[1])

    def _mark(self, plan: Plan, eqn: Any) -> None:
        """Notes the pieces that a slice is one of, or that are put together."""
        kind, params = eqn.primitive.name, eqn.params
        operand = self._group(plan, eqn.invars[0]) if eqn.invars else None
        result = self._group(plan, eqn.outvars[0]) if eqn.outvars else None
        if kind == "slice" and operand is not None:
            operand.cut(params["start_indices"][0], params["limit_indices"][0])
        elif kind == "pad" and result is not None:
            low, high, _ = params["padding_config"][0]
            result.cut(int(low), rows_of(eqn.outvars[0].aval) - int(high))
        elif kind == "concatenate" and not params["dimension"]:
            end = 0
            for atom in eqn.invars:
                end += rows_of(atom.aval)
                result.cut(end)
