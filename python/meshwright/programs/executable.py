# SPDX-License-Identifier: Apache-2.0
"""Executables that take and give flat lists of arrays."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.layout import Format
from jax.sharding import NamedSharding

from ..core.config import PyTree
from ..jaxapi import frontend as compat
from ..runtime.processes.values import place_value, without_shards
from ..shardings import named as named_shardings
from ..shardings.joint import piece_sharding
from ..shardings.signature import IOSpecs, ProgramSignature
from ..tracing.arguments import describe, kind_of
from .argument_errors import InputErrors

_logger = logging.getLogger(__name__)

# What is worth a warning when it moves between meshes at each call.
_LARGE_BYTES = 1 << 20


def _is_key(aval: Any) -> bool:
    return jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key)


def _is_float0(value: Any) -> bool:
    return getattr(value, "dtype", None) == jax.dtypes.float0


def _where(test: Callable[[Any], Any], avals: Sequence[Any]) -> list[int]:
    return [index for index, aval in enumerate(avals) if test(aval)]


def results_info(signature: ProgramSignature, shardings: Sequence[Any]) -> PyTree:
    """Shapes, dtypes and shardings of a program's result, in its tree."""
    pairs = zip(signature.output_avals, shardings, strict=True)
    infos = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s) for a, s in pairs]
    return jax.tree.unflatten(signature.output_tree, infos)


def delete(values: Iterable[Any]) -> None:
    """Deletes donated arrays that no program took; other values stay."""
    for value in values:
        if isinstance(value, jax.Array):
            value.delete()


def _is_truncated(leaf: jax.Array, aval: Any) -> bool:
    """Whether JAX takes an array as one of fewer bits, as without `jax_enable_x64`."""
    if leaf.dtype == aval.dtype or _is_key(leaf):
        return False
    return jax.dtypes.canonicalize_dtype(leaf.dtype) == aval.dtype


def _wait_for_copies_of_one(leaves: Sequence[Any], placed: Sequence[Any]) -> None:
    """Waits for arrays that were placed of one array given several times.

    Only then is it known whether they share a buffer, and whether the call is refused
    must not depend on who is quicker.
    """
    first: dict[int, int] = {}
    for index, (leaf, array) in enumerate(zip(leaves, placed, strict=True)):
        if array is leaf or not isinstance(leaf, jax.Array):
            continue
        other = first.setdefault(id(leaf), index)
        if other != index:
            jax.block_until_ready((placed[other], array))


def _place_constants(
    values: Sequence[np.ndarray], shardings: Sequence[NamedSharding]
) -> list[jax.Array]:
    """Arrays of constants; of those that share their memory one in each place.

    The values change no more, and devices that can use their memory may.
    """
    placed: dict[Any, jax.Array] = {}
    found = []
    for value, sharding in zip(values, shardings, strict=True):
        where = value.__array_interface__["data"][0]
        key = where, value.shape, value.strides, value.dtype, sharding
        if key not in placed:
            place = jax.device_put if sharding.is_fully_addressable else place_value
            placed[key] = place(value, sharding)
        found.append(placed[key])
    return found


class Ready(NamedTuple):
    """The inputs of a program, checked as far as can be without issuing anything.

    Attributes:
      given: flat inputs as the caller has them.
      placed: the same with arrays instead of what was nowhere; `given` itself if
        there was nothing to place.
      values: what the program takes: constants, and what it uses of `placed`.
      unknown: positions among the values that were not seen in earlier runs.
    """

    given: Sequence[Any]
    placed: Sequence[Any]
    values: list[Any]
    unknown: list[int]


class Executable:
    """A loaded program that takes and gives flat lists of arrays.

    Attributes:
      signature: what the program takes and gives.
      program_signature: the same of the program inside, where that is another one.
      partitioned: what the partitioner made: `fragments`, `io` and `module_text`.
      out_avals: types of the outputs.
    """

    def __init__(
        self,
        program: Any,
        signature: ProgramSignature,
        specs: IOSpecs,
        partitioned: Any,
    ):
        self.signature = self.program_signature = signature
        self.out_avals = list(signature.output_avals)
        self._program = program
        self._specs = specs
        self._errors = InputErrors(signature, specs)
        program.set_errors(self._errors)
        self.partitioned = partitioned
        self._consts = list(signature.const_args)
        if not program.described:
            self._consts = _place_constants(self._consts, specs.const_shardings)
        self._input_formats, self._output_formats = self._formats()
        avals, used = signature.input_avals, set(signature.kept)
        # Positions among the values of the program.
        self._keys = [
            len(self._consts) + position
            for position, index in enumerate(signature.kept)
            if _is_key(avals[index])
        ]
        self._kinds = list(map(kind_of, avals))
        self._key_outputs = _where(_is_key, self.out_avals)
        self._weak_outputs = _where(lambda aval: kind_of(aval)[2], self.out_avals)
        # Tangents of integers, which are NumPy arrays to JAX.
        self._float0 = _where(_is_float0, avals)
        self._float0_outputs = _where(_is_float0, self.out_avals)
        self._unused = [i for i in range(len(avals)) if i not in used]
        self._moved: set[int] = set()
        self._device_sets = {
            frozenset(mesh.devices.flat) for mesh in specs.topology.values()
        }
        self._direct = not (self._consts or self._keys or self._float0 or self._unused)

    def _formats(self) -> tuple[list[Any], list[Any]]:
        """Formats of the user's inputs and outputs, keys and unused inputs included."""
        layouts: dict[int, Any] = {}
        inputs = self._program.input_formats[len(self._consts) :]
        for index, found in zip(self.signature.kept, inputs, strict=True):
            if not _is_key(self.signature.input_avals[index]):
                layouts[index] = found.layout
        specs = self._specs
        return (
            [
                Format(layouts.get(index), sharding)
                for index, sharding in enumerate(specs.input_shardings)
            ],
            [
                Format(None if _is_key(aval) else found.layout, sharding)
                for aval, found, sharding in zip(
                    self.out_avals,
                    self._program.output_formats,
                    specs.output_shardings,
                    strict=True,
                )
            ],
        )

    def call(
        self, *args: Any, find_lost: Callable[[], dict[str, Any]] | None = None
    ) -> list[jax.Array]:
        """Runs the program.

        Args:
          *args: one `jax.Array` per flat input, unused ones included.
          find_lost: as for `run`.

        Returns:
          One array per flat output.

        Raises:
          ValueError: an input is no `jax.Array`, has another sharding than the
            program expects, or is donated twice.
          TypeError: the wrong number of inputs, another shape or dtype, or a tracer
            of a JAX transformation.
          RuntimeError: an input was deleted.
        """
        self._program.check_devices()
        if not self._direct:
            if len(args) != len(self.signature.input_avals):
                raise self._errors.count(len(args))
            args = self._with_float0(args)
            keys = (self.signature.kept[p - len(self._consts)] for p in self._keys)
            for index in (*self._unused, *keys):
                if not isinstance(args[index], jax.Array):
                    raise self._errors.no_array(index, args[index])
        values = self._values(args)
        self._take_keys(args, values)
        ready = Ready(args, args, values, self._program.find_new(values))
        return self.run(ready, find_lost)

    def run(
        self, ready: Ready, find_lost: Callable[[], dict[str, Any]] | None = None
    ) -> list[jax.Array]:
        """Runs the program with what `prepare` made of its inputs.

        Args:
          find_lost: the caller's donated arrays that are deleted now, by name, if the
            caller has other ones than these.
        """
        given, args = ready.given, ready.placed
        find_lost = find_lost or functools.partial(self._find_lost, given)
        outs = self._program.run(ready.values, ready.unknown, find_lost)
        donated = self.signature.donated
        if given is not args:  # The program took copies of some.
            delete(given[i] for i in donated if given[i] is not args[i])
        delete(args[index] for index in donated.intersection(self._unused))
        for index in self._weak_outputs:
            outs[index] = compat.make_weak(outs[index])
        for index in self._key_outputs:
            outs[index] = compat.wrap_key(outs[index], self.out_avals[index].dtype)
        for index in self._float0_outputs:
            outs[index] = np.zeros(self.out_avals[index].shape, jax.dtypes.float0)
        return outs

    def _find_lost(self, given: Sequence[Any]) -> dict[str, jax.Array]:
        """Donated arrays that are gone, by their paths."""
        return {
            self.signature.input_paths[index]: given[index]
            for index in sorted(self.signature.donated)
            if isinstance(given[index], jax.Array) and given[index].is_deleted()
        }

    def _with_float0(self, args: Sequence[Any]) -> Sequence[Any]:
        """The inputs with arrays of the program in place of those without values."""
        args = list(args) if self._float0 else args
        for index in self._float0:
            shape = self.signature.input_avals[index].shape
            if _is_float0(args[index]) and args[index].shape == shape:
                args[index] = self._placed(index, args[index])
        return args

    def _values(self, args: Sequence[Any]) -> list[Any]:
        """What the program takes: constants, then the inputs that are used."""
        if self._direct:
            return list(args)
        return [*self._consts, *(args[index] for index in self.signature.kept)]

    def _take_keys(self, args: Sequence[Any], values: list[Any]) -> None:
        """Puts the data of typed keys among the values."""
        for position in self._keys:
            index = self.signature.kept[position - len(self._consts)]
            aval = self.signature.input_avals[index]
            if args[index].dtype != aval.dtype or args[index].shape != aval.shape:
                raise self._errors.type(position, args[index])
            values[position] = jax.random.key_data(args[index])

    def prepare(
        self,
        leaves: Sequence[Any],
        *,
        typed: bool = False,
        new: bool = False,
        alone: bool = True,
    ) -> Ready | None:
        """Finds out whether the program is for some inputs, and places them.

        Args:
          leaves: flat inputs, `jax.Array`s or what can be made into some.
          typed: they are known to have the types of the program.
          new: the program was made for them: they are not refused here.
          alone: no other program has these types.

        Returns:
          What `run` takes, or None if an input has another type, or is committed
          to a place where the program does not expect it.

        Raises:
          ValueError: a value that is no `jax.Array` is for devices of other
            processes.
          JaxRuntimeError: `jax.transfer_guard` forbids to place a value.
        """
        kept, skipped = self.signature.kept, len(self._consts)
        values = self._values(leaves)
        unknown = self._program.find_new(values)
        inputs = [kept[p - skipped] for p in unknown if p >= skipped]
        if not typed:
            if inputs and not alone:
                return None
            for index in (*self._unused, *inputs):
                if describe(leaves[index])[0] != self._kinds[index]:
                    return None
        if not (new or all(self._accepts(leaves[index], index) for index in inputs)):
            return None
        placed: Any = leaves
        for position in unknown:
            if position < skipped:
                continue
            index = kept[position - skipped]
            if self._is_in_place(leaves[index], index):
                continue
            placed = list(leaves) if placed is leaves else placed
            self._guard(index, leaves[index])
            placed[index] = values[position] = self._placed(index, leaves[index])
        if placed is not leaves and self.signature.donated:
            _wait_for_copies_of_one(leaves, placed)
        if self._keys:
            self._take_keys(placed, values)
        return Ready(leaves, placed, values, unknown)

    def _accepts(self, leaf: Any, index: int) -> bool:
        """Whether an input is where the program expects it, or can be put there."""
        if not isinstance(leaf, jax.Array) or not leaf.committed:
            return True
        found, wanted = leaf.sharding, self._specs.input_shardings[index]
        if self._is_elsewhere(leaf, wanted):
            found = named_shardings.on_mesh(found, wanted.mesh)
            if piece_sharding(found, self._specs.topology) is not None:
                return True
        return found == wanted or found.is_equivalent_to(wanted, leaf.ndim)

    def _is_elsewhere(self, leaf: jax.Array, wanted: NamedSharding) -> bool:
        """Whether an array is on another mesh of the topology than is wanted.

        A result often is: the next call reads it where the first one did. Not if the
        two are on devices of several processes, in each of which this is asked.
        """
        if leaf.sharding.device_set == wanted.device_set:
            return False
        both = leaf.sharding.device_set | wanted.device_set
        if len({device.process_index for device in both}) > 1:
            return False
        is_known = (
            frozenset(leaf.sharding.device_set) in self._device_sets
            or piece_sharding(leaf.sharding, self._specs.topology) is not None
        )
        return is_known

    def _is_in_place(self, leaf: Any, index: int) -> bool:
        """Whether an input stays where it is: committed, or to be refused."""
        if not isinstance(leaf, jax.Array) or not leaf.committed:
            return False
        if _is_truncated(leaf, self.signature.input_avals[index]):
            return False
        if not self._is_elsewhere(leaf, self._specs.input_shardings[index]):
            return True
        self._report_moved(index, leaf)
        return False

    def place_argument(self, value: Any, position: int) -> Any:
        """Puts one argument where the program expects it, wherever it is now.

        Args:
          value: a pytree of arrays, numpy arrays and scalars.
          position: which argument it is; if that has another tree or other shapes,
            it is the first argument that has its own.

        Returns:
          The same pytree of `jax.Array`s.

        Raises:
          TypeError: no argument has this tree and these shapes.
        """
        leaves, tree = jax.tree.flatten(value)
        arguments = self.signature.call_tree.children()[0].children()
        starts = list(
            itertools.accumulate((t.num_leaves for t in arguments), initial=0)
        )
        for index in (position, *range(len(arguments))):
            if index >= len(arguments) or arguments[index] != tree:
                continue
            inputs = range(starts[index], starts[index + 1])
            avals = [self.signature.input_avals[at] for at in inputs]
            if all(
                np.shape(leaf) == aval.shape
                for leaf, aval in zip(leaves, avals, strict=True)
            ):
                placed = map(self._placed, inputs, leaves)
                return jax.tree.unflatten(tree, placed)
        known = ", ".join(map(str, arguments))
        raise TypeError(
            f"{self.signature.name}: place got {tree}, whose structure and shapes "
            f"match no argument of the program; pass one of {known}"
        )

    def _report_moved(self, index: int, leaf: jax.Array) -> None:
        """Says once that an argument has to be moved at each call."""
        if index in self._moved:
            return
        self._moved.add(index)
        _logger.log(
            logging.WARNING if leaf.nbytes >= _LARGE_BYTES else logging.INFO,
            "%s (%s bytes) is %s and is moved to mesh %r at each call; assign it with "
            "input_mesh_assignment, or the result that it was with "
            "output_mesh_assignment",
            self.signature.where(index),
            leaf.nbytes,
            named_shardings.describe(leaf.sharding, self._specs.topology),
            self._specs.input_meshes[index],
        )

    def _guard(self, index: int, leaf: Any) -> None:
        """Asks `jax.transfer_guard`, as `jax.jit` does for what it has to place."""
        sharding = self._specs.input_shardings[index]
        direction = "host_to_device"
        if isinstance(leaf, jax.Array):
            direction = "device_to_device"
            if leaf.sharding.is_equivalent_to(sharding, leaf.ndim):
                return
        level = compat.transfer_guard(direction)
        if level == "allow":
            return
        text = (
            f"{direction.replace('_', '-')} transfer of {self.signature.where(index)} "
            f"to {named_shardings.describe(sharding, self._specs.topology)}"
        )
        if level == "disallow":
            raise jax.errors.JaxRuntimeError(
                f"Disallowed {text}; place it with jax.device_put, which is explicit"
            )
        _logger.warning("%s", text)

    def _placed(self, index: int, leaf: Any) -> jax.Array:
        self._program.check_devices()
        form, aval = self._input_formats[index], self.signature.input_avals[index]
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise TypeError(
                f"{self.signature.where(index)} is a type without values, {leaf}; pass "
                "an array, or use lower(), which takes types"
            )
        if not isinstance(leaf, jax.Array):
            # CPU devices may share the memory of a NumPy array, which its owner is
            # free to change while the program runs.
            dtype = bool if _is_float0(aval) else aval.dtype
            leaf = np.array(leaf, dtype)
        elif _is_truncated(leaf, aval):
            leaf = leaf.astype(aval.dtype)
        if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
            return self._placed_elsewhere(index, leaf, form.sharding)
        if form.sharding.is_fully_addressable:
            return jax.device_put(leaf, form if form.layout else form.sharding)
        if leaf.ndim and not form.sharding.addressable_devices:
            raise ValueError(
                f"{self.signature.where(index)} is a value of this process, but its "
                f"mesh {self._specs.input_meshes[index]!r} is on devices of other "
                "processes; make an array of it on every process with "
                "mw.distributed.place(value, sharding), the sharding is in "
                "compiled.input_shardings"
            )
        return place_value(leaf, form.sharding)

    def _placed_elsewhere(
        self, index: int, leaf: jax.Array, sharding: NamedSharding
    ) -> jax.Array:
        """`_placed` of an array that is not, or not all, in this process."""
        if leaf.sharding.is_equivalent_to(sharding, leaf.ndim):
            return leaf
        if not self._is_elsewhere(leaf, sharding):
            raise self._errors.elsewhere(index, leaf)
        return without_shards(leaf, sharding)  # The process that has it moves it.

    def input_shardings(self) -> list[NamedSharding]:
        """Shardings of all flat inputs, unused ones included."""
        return list(self._specs.input_shardings)

    def output_shardings(self) -> list[NamedSharding]:
        """Shardings of all flat outputs."""
        return list(self._specs.output_shardings)

    @property
    def input_shardings_tree(self) -> PyTree:
        """Shardings of the arguments, in their tree."""
        return jax.tree.unflatten(
            self.signature.input_tree, self._specs.input_shardings
        )

    @property
    def output_shardings_tree(self) -> PyTree:
        """Shardings of the result, in its tree."""
        return jax.tree.unflatten(
            self.signature.output_tree, self._specs.output_shardings
        )

    def input_formats(self) -> list[Any]:
        """Formats of all flat inputs; None is a device's default layout."""
        return list(self._input_formats)

    def output_formats(self) -> list[Any]:
        """Formats of all flat outputs; None is a device's default layout."""
        return list(self._output_formats)

    def cost_analysis(self) -> Any:
        """Costs of the compiled fragments, per mesh."""
        return self._program.cost_analysis()

    def memory_analysis(self) -> Any:
        """Memory of the program, per device."""
        return self._program.memory_analysis()

    @property
    def peak_memory_bytes(self) -> int:
        """Most bytes that any device holds at one time."""
        return self._program.peak_memory_bytes

    def as_text(self) -> str:
        """The partitioned module that the program executes."""
        return self.partitioned.module_text

    def runtime_executable(self) -> Any:
        """The loaded program of `meshwright.runtime`."""
        return self._program
