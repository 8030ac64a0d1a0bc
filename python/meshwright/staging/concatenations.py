# SPDX-License-Identifier: Apache-2.0
"""Sums over concatenated weights, such as weight decay of `ravel_pytree(params)`.

One vector of all weights is needed as a whole, in one stage. A sum over it is the sum
of those over its pieces, each of which is in the stage of its weight:

  v = concatenate(w0, w1)               s0 = sum(w0 * w0)    in stage 0
  s = sum(v * v)              becomes   s1 = sum(w1 * w1)    in stage 1
                                        s = s0 + s1

A value is handled as its pieces along one dimension. Arithmetic on each element is done
to the pieces, reductions put together what they give, and a split, which is what a
derivative ends with, gives the pieces. What is read in any other way stays whole.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax

from ..core.order import join
from ..jaxapi import frontend as compat
from .separable import BARRIER

_ELEMENTWISE = frozenset(
    {"add_any", "clamp", "convert_element_type", "name", "select_n", "stop_gradient"}
)
_SHAPES = frozenset({"broadcast_in_dim", "reshape", "squeeze", "transpose", BARRIER})


class _Layout(NamedTuple):
    """How a value is divided.

    Attributes:
      dim: the dimension that its pieces follow each other in.
      sizes: of the pieces in that.
    """

    dim: int
    sizes: tuple[int, ...]

    @property
    def bounds(self) -> list[int]:
        return list(itertools.accumulate(self.sizes, initial=0))

    def shape(self, whole: tuple[int, ...], piece: int) -> tuple[int, ...]:
        return (*whole[: self.dim], self.sizes[piece], *whole[self.dim + 1 :])

    def piece_with(self, start: int, end: int) -> int | None:
        """The piece that a range is in, if it is in one."""
        bounds = self.bounds
        for piece, (first, last) in enumerate(itertools.pairwise(bounds)):
            if first <= start and end <= last:
                return piece
        return None


def _shape(atom: Any) -> tuple[int, ...]:
    return getattr(atom.aval, "shape", ())


def _is_elementwise(eqn: Any) -> bool:
    name = eqn.primitive.name
    return name in _ELEMENTWISE or compat.is_elementwise(eqn.primitive)


def _is_explicit(eqn: Any) -> bool:
    """Whether it says how its result is laid out, which pieces would not be."""
    return any(eqn.params.get(key) for key in ("sharding", "out_sharding"))


def keeps_elements(eqn: Any) -> bool:
    """Whether each element of a result is made of one of each operand."""
    return _is_elementwise(eqn) or eqn.primitive.name in _SHAPES


class Concatenations:
    """Finds values that can be handled as pieces, while a body is laid open."""

    def __init__(self, inputs: Iterable[Any]):
        # Inputs, cast, scaled or put in another shape at most.
        self._raw = set(inputs)
        self._makers: dict[Any, Any] = {}
        self._layouts: dict[Any, _Layout] = {}
        self._made_of_inputs: set[Any] = set()
        # How weights of a shape were put together; None if in several ways.
        self._by_shape: dict[tuple[int, ...], _Layout | None] = {}

    def visit(self, eqn: Any, is_forward: bool) -> None:
        """Takes note of an operation, after those that it reads."""
        self._makers.update(dict.fromkeys(eqn.outvars, eqn))
        layout = None
        if eqn.primitive.name in ("concatenate", "stack"):
            # A backward one is the derivative of a split.
            if _is_of_several(eqn) and (
                not is_forward or self.is_of_inputs(eqn.invars)
            ):
                layout = _layout_of(eqn)
                if is_forward:
                    self._made_of_inputs.update(eqn.outvars)
                    known = self._by_shape.setdefault(_shape(eqn.outvars[0]), layout)
                    if known != layout:
                        self._by_shape[_shape(eqn.outvars[0])] = None
        elif eqn.primitive.name == "pad" and not is_forward:
            layout = self._padded(eqn)
        elif self.reads(eqn.invars):
            layout = self._result(eqn)
            if not self._made_of_inputs.isdisjoint(compat.variables(eqn.invars)):
                self._made_of_inputs.update(eqn.outvars)
        if layout is not None:
            self._layouts[eqn.outvars[0]] = layout
        is_slice = eqn.primitive.name == "slice"
        # A literal, which is no key, is made of no input.
        if is_slice and not self._made_of_inputs.isdisjoint(
            compat.variables(eqn.invars)
        ):
            is_raw = self._takes_pieces(eqn)
        else:
            is_raw = keeps_elements(eqn) and self.is_of_inputs(eqn.invars)
        if is_raw:
            self._raw.update(eqn.outvars)

    def reads(self, atoms: Iterable[Any]) -> bool:
        """Whether something has pieces."""
        return any(self._layout(atom) is not None for atom in atoms)

    def opens(self, atoms: Iterable[Any]) -> bool:
        """Whether a function of these does no more than work on pieces of inputs."""
        found = list(atoms)
        known = [a for a in compat.variables(found) if a in self._made_of_inputs]
        if not self.reads(known):
            return False
        largest = max(self._size(atom) for atom in known if atom in self._layouts)
        return all(self._size(atom) < largest or self.reads([atom]) for atom in found)

    @staticmethod
    def _size(atom: Any) -> int:
        return getattr(atom.aval, "size", 0)

    def are_rows(self, atoms: Iterable[Any]) -> bool:
        """Whether arrays are stacked, some of weights or of what belongs to these."""
        layouts = [self._layout(atom) for atom in atoms]
        known = [layout for layout in layouts if layout is not None]
        return bool(known) and all(
            layout.dim == 0 and set(layout.sizes) == {1} for layout in known
        )

    def is_of_inputs(self, atoms: Iterable[Any]) -> bool:
        """Whether values are inputs, cast, scaled or put in another shape at most."""
        return self._raw.issuperset(compat.variables(atoms))

    def is_free(self, atom: Any) -> bool:
        """Whether a value is the same everywhere, so that any part can be made."""
        left, steps = [atom], 0
        while left:
            at, steps = left.pop(), steps + 1
            if not compat.is_variable(at) or math.prod(_shape(at)) <= 1:
                continue
            eqn = self._makers.get(at)
            if eqn is None or steps > 64:
                return False
            is_broadcast = (
                eqn.primitive.name == "broadcast_in_dim" and len(eqn.invars) == 1
            )
            if _is_explicit(eqn) or not (is_broadcast or _is_elementwise(eqn)):
                return False
            left += eqn.invars
        return True

    def _result(self, eqn: Any) -> _Layout | None:
        """The pieces of what an operation gives that reads pieces; None for none."""
        if _is_explicit(eqn) or len(eqn.outvars) != 1:
            return None
        name, layouts = eqn.primitive.name, self._layouts
        shape = _shape(eqn.outvars[0])
        if name == "broadcast_in_dim":
            known = layouts.get(eqn.invars[0])
            if known is None or len(eqn.invars) > 1:
                return None
            dim = int(eqn.params["broadcast_dimensions"][known.dim])
            return known._replace(dim=dim)
        if name == "transpose":
            known = layouts[eqn.invars[0]]
            dim = eqn.params["permutation"].index(known.dim)
            return known._replace(dim=dim)
        if name in compat.COMBINING:
            known, axes = layouts[eqn.invars[0]], eqn.params["axes"]
            if known.dim in axes:
                return None
            return known._replace(
                dim=known.dim - sum(axis < known.dim for axis in axes)
            )
        is_scaling = name == "dot_general" and () in map(_shape, eqn.invars)
        if not is_scaling and not _is_elementwise(eqn):
            return None
        found = {layouts[a] for a in compat.variables(eqn.invars) if a in layouts}
        layout = next(iter(found))
        if len(found) > 1 or not all(
            self._fits(atom, layout, shape) for atom in eqn.invars
        ):
            return None
        return layout

    def _fits(self, atom: Any, layout: _Layout, whole: tuple[int, ...]) -> bool:
        """Whether an operand of arithmetic has a part for each piece."""
        shape = _shape(atom)
        if not shape:
            return True
        if len(shape) != len(whole):
            return False
        if shape[layout.dim] == 1 != whole[layout.dim]:
            return True
        if compat.is_variable(atom) and atom in self._layouts:
            return shape == whole
        return shape == whole and self.is_free(atom)

    def _padded(self, eqn: Any) -> _Layout | None:
        """The pieces of the derivative of a slice of weights that were put together."""
        layout = self._by_shape.get(_shape(eqn.outvars[0]))
        if layout is None or not compat.is_zero(eqn.invars[1]):
            return None
        config = eqn.params["padding_config"]
        others = [sides for dim, sides in enumerate(config) if dim != layout.dim]
        low, high, inside = config[layout.dim]
        end = layout.bounds[-1] - high
        if inside or low < 0 or high < 0 or any(map(any, others)):
            return None
        return layout if layout.piece_with(low, end) is not None else None

    def split(self, items: list[Any], outs: list[Any]) -> tuple[list[Any], list[Any]]:
        """The operations that were visited, each with an `eqn`, and the results of the
        body: on pieces, where that gets along without the whole."""
        if not self._layouts:
            return items, outs
        wanted = self._wanted(items, outs)
        if not wanted:
            return items, outs
        return _Splitter(wanted, self._makers, self.is_free).run(items, outs)

    def _takes_pieces(self, eqn: Any) -> bool:
        """Whether an operation gives whole values again that are made of pieces."""
        name, params = eqn.primitive.name, eqn.params
        first = self._layout(eqn.invars[0])
        if _is_explicit(eqn):
            return False
        if name in compat.COMBINING:
            return first is not None and first.dim in params["axes"]
        if name == "dot_general":
            dims = params["dimension_numbers"][0]
            return any(
                self._are_summed(eqn.invars, pair) for pair in zip(*dims, strict=True)
            )
        if first is None:
            return False
        if name == "unstack":
            return params["axis"] == first.dim and set(first.sizes) == {1}
        return all(first.piece_with(*part) is not None for part in _parts(eqn, first))

    def _layout(self, atom: Any) -> _Layout | None:
        return compat.look_up(self._layouts, atom)

    def _are_summed(self, atoms: Sequence[Any], dims: Sequence[int]) -> bool:
        """Whether a product sums up over pieces of one side, and parts of the other."""
        found = [self._layout(atom) for atom in atoms]
        sizes = {layout.sizes for layout in found if layout is not None}
        return len(sizes) == 1 and all(
            self.is_free(atom) if layout is None else layout.dim == dim
            for atom, layout, dim in zip(atoms, found, dims, strict=True)
        )

    def _wanted(self, items: list[Any], outs: list[Any]) -> dict[Any, _Layout]:
        """The values of which nothing needs the whole, with all that they meet."""
        layouts = self._layouts
        groups: dict[Any, set[Any]] = {}
        refused = {out for out in compat.variables(outs) if out in layouts}
        for item in items:
            read = [a for a in compat.variables(item.eqn.invars) if a in layouts]
            given = [var for var in item.eqn.outvars if var in layouts]
            if given:
                join(groups, [*read, *given])
            elif read and not self._takes_pieces(item.eqn):
                refused.update(read)
            elif read:
                join(groups, read)
        for var in list(refused):
            refused |= groups.get(var, {var})
        return {var: layout for var, layout in layouts.items() if var not in refused}


def _is_of_several(eqn: Any) -> bool:
    operands = set(compat.variables(eqn.invars))
    is_whole = len(operands) > 1 and all(map(compat.is_variable, eqn.invars))
    return is_whole and not _is_explicit(eqn)


def _layout_of(eqn: Any) -> _Layout:
    if eqn.primitive.name == "stack":
        return _Layout(eqn.params["axis"], (1,) * len(eqn.invars))
    dim = eqn.params["dimension"]
    return _Layout(dim, tuple(_shape(atom)[dim] for atom in eqn.invars))


def _before_broadcast(eqn: Any, layout: _Layout) -> _Layout | None:
    """How what is broadcast is divided like the result; None if it is not."""
    dims = list(map(int, eqn.params["broadcast_dimensions"]))
    if layout.dim not in dims:
        return None
    dim = dims.index(layout.dim)
    is_same = _shape(eqn.invars[0])[dim] == layout.bounds[-1]
    return layout._replace(dim=dim) if is_same else None


def _parts(eqn: Any, layout: _Layout) -> list[tuple[int, int]]:
    """The ranges of the pieces' dimension that a split or a slice gives."""
    if eqn.primitive.name == "split" and eqn.params["axis"] == layout.dim:
        return list(
            itertools.pairwise(itertools.accumulate(eqn.params["sizes"], initial=0))
        )
    if eqn.primitive.name == "slice" and set(eqn.params["strides"] or ()) <= {1}:
        keys = "start_indices", "limit_indices"
        return [tuple(eqn.params[key][layout.dim] for key in keys)]
    return [(0, layout.bounds[-1] + 1)]  # In no piece.


class _Splitter:
    """Does to pieces what is done to some values."""

    def __init__(
        self,
        layouts: Mapping[Any, _Layout],
        makers: Mapping[Any, Any],
        is_free: Callable[[Any], bool],
    ):
        self._layouts, self._makers, self._is_free = layouts, makers, is_free
        self._pieces: dict[Any, list[Any]] = {}
        self._free: dict[Any, Any] = {}
        self._zeros: set[Any] = set()
        self._instead: dict[Any, Any] = {}
        self._made: list[Any] = []
        self._item: Any = None

    def run(self, items: list[Any], outs: list[Any]) -> tuple[list[Any], list[Any]]:
        for item in items:
            self._item = item
            eqn = item.eqn
            read = [a for a in compat.variables(eqn.invars) if a in self._layouts]
            if eqn.outvars and eqn.outvars[0] in self._layouts:
                self._pieces[eqn.outvars[0]] = self._result(eqn)
            elif read:
                found = self._whole(eqn)
                self._instead.update(zip(eqn.outvars, found, strict=True))
            else:
                operands = [self._current(atom) for atom in eqn.invars]
                item.eqn = eqn.replace(invars=operands)
                self._made.append(item)
        return self._made, [self._current(out) for out in outs]

    def _current(self, atom: Any) -> Any:
        return compat.look_up(self._instead, atom, atom)

    def _emit(self, primitive: Any, operands: list[Any], aval: Any, **params: Any):
        result, like = compat.Var(aval), self._item.eqn
        new = compat.operation_at(like, primitive, operands, result, **params)
        return self._append(new)

    def _append(self, eqn: Any) -> Any:
        self._made.append(dataclasses.replace(self._item, eqn=eqn))
        return eqn.outvars[0]

    def _combined(self, function: Any, values: Iterable[Any], aval: Any) -> Any:
        like = self._item.eqn
        return reduce(
            lambda a, b: self._append(
                compat.binary_at(like, function, [a, b], compat.Var(aval))
            ),
            values,
        )

    def _result(self, eqn: Any) -> list[Any]:
        """The pieces of a result."""
        out, layout = eqn.outvars[0], self._layouts[eqn.outvars[0]]
        operands = [self._current(atom) for atom in eqn.invars]
        count = len(layout.sizes)
        if eqn.primitive.name == "concatenate":
            return operands
        shapes = [layout.shape(_shape(out), piece) for piece in range(count)]
        avals = [out.aval.update(shape=shape) for shape in shapes]
        if eqn.primitive.name == "stack":
            return [
                self._reshaped(*piece) for piece in zip(operands, avals, strict=True)
            ]
        if eqn.primitive.name == "pad":
            return self._padded(eqn, layout, avals)
        found = []
        for piece, aval in enumerate(avals):
            params = dict(eqn.params)
            if eqn.primitive.name == "broadcast_in_dim":
                params["shape"] = aval.shape
            parts = [self._part(atom, piece, layout) for atom in eqn.invars]
            if eqn.primitive.name == "add_any" and not self._zeros.isdisjoint(parts):
                found.append(parts[parts[0] in self._zeros])
                continue
            found.append(self._emit(eqn.primitive, parts, aval, **params))
        return found

    def _padded(self, eqn: Any, layout: _Layout, avals: Sequence[Any]) -> list[Any]:
        """A value in its piece, and zeros in the others."""
        value, zero = map(self._current, eqn.invars)
        low, high, _ = eqn.params["padding_config"][layout.dim]
        bounds = layout.bounds
        at = layout.piece_with(low, bounds[-1] - high)
        found = []
        for piece, aval in enumerate(avals):
            if piece == at:
                sides = low - bounds[at], high - (bounds[-1] - bounds[at + 1]), 0
                config = [(0, 0, 0)] * len(aval.shape)
                config[layout.dim] = sides
                if any(sides):
                    config = {"padding_config": tuple(config)}
                    value = self._emit(jax.lax.pad_p, [value, zero], aval, **config)
                found.append(value)
                continue
            params = {"shape": aval.shape, "broadcast_dimensions": (), "sharding": None}
            found.append(self._emit(jax.lax.broadcast_in_dim_p, [zero], aval, **params))
            self._zeros.add(found[-1])
        return found

    def _reshaped(self, value: Any, aval: Any) -> Any:
        params = {"dimensions": None, "new_sizes": aval.shape, "sharding": None}
        return self._emit(jax.lax.reshape_p, [value], aval, **params)

    def _part(self, atom: Any, piece: int, layout: _Layout) -> Any:
        """What arithmetic on a piece reads of an operand."""
        if compat.is_variable(atom) and atom in self._pieces:
            return self._pieces[atom][piece]
        atom, shape = self._current(atom), _shape(atom)
        if not shape or (len(shape) > layout.dim and shape[layout.dim] == 1):
            return atom
        return self._free_part(atom, piece, layout)

    def _free_part(self, atom: Any, piece: int, layout: _Layout) -> Any:
        shape = _shape(atom)
        if not shape:
            return self._current(atom)
        wanted = layout.shape(shape, piece)
        # Each piece has its own, also of equal ones: it is made in the stage of these.
        key = atom, piece, wanted, self._item.transposes
        if key not in self._free:
            eqn = self._makers[atom]
            params = dict(eqn.params)
            inner: _Layout | None = layout
            if eqn.primitive.name == "broadcast_in_dim":
                params["shape"] = wanted
                inner = _before_broadcast(eqn, layout)
            parts = [
                self._current(value)
                if inner is None
                else self._free_part(value, piece, inner)
                for value in eqn.invars
            ]
            aval = atom.aval.update(shape=wanted)
            self._free[key] = self._emit(eqn.primitive, parts, aval, **params)
        return self._free[key]

    def _operands(self, eqn: Any) -> list[list[Any]]:
        """What an operation that sums up over pieces reads for each of them."""
        dims = eqn.params.get("dimension_numbers", ((),))[0]
        known = [compat.look_up(self._layouts, a) for a in eqn.invars]
        layout = next(filter(None, known))
        at = known.index(layout)
        summed = next(
            (pair for pair in zip(*dims, strict=True) if pair[at] == layout.dim),
            [layout.dim],
        )
        layouts = [layout._replace(dim=dim) for dim in summed]
        return [
            [
                self._part(atom, piece, layout)
                for atom, layout in zip(eqn.invars, layouts, strict=True)
            ]
            for piece in range(len(layout.sizes))
        ]

    def _whole(self, eqn: Any) -> list[Any]:
        """The results of what puts pieces together, or takes them."""
        name, first = eqn.primitive.name, eqn.invars[0]
        if name in compat.COMBINING or name == "dot_general":
            combine = compat.COMBINING.get(name, jax.lax.add)
            aval = eqn.outvars[0].aval
            found = (
                self._emit(eqn.primitive, pieces, aval, **eqn.params)
                for pieces in self._operands(eqn)
            )
            return [self._combined(combine, found, aval)]
        layout, pieces = self._layouts[first], self._pieces[first]
        if name == "unstack":
            return [
                self._reshaped(piece, out.aval)
                for piece, out in zip(pieces, eqn.outvars, strict=True)
            ]
        found = []
        for out, (start, end) in zip(eqn.outvars, _parts(eqn, layout), strict=True):
            at = layout.piece_with(start, end)
            shape, offset = _shape(pieces[at]), layout.bounds[at]
            begins = [0] * len(shape)
            ends = list(shape)
            if name == "slice":
                begins = list(eqn.params["start_indices"])
                ends = list(eqn.params["limit_indices"])
            begins[layout.dim], ends[layout.dim] = start - offset, end - offset
            if not any(begins) and tuple(ends) == shape:
                found.append(pieces[at])
                continue
            params = {"start_indices": tuple(begins), "limit_indices": tuple(ends)}
            piece = [pieces[at]]
            found.append(
                self._emit(jax.lax.slice_p, piece, out.aval, strides=None, **params)
            )
        return found
