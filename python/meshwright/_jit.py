# SPDX-License-Identifier: Apache-2.0
"""`meshwright.jit`: from a Python function to a partitioned program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.experimental.layout import Format

from . import _jax_compat as compat
from . import _shardings
from . import _static_leaves as static_leaves
from ._nnx_state import returning_changes
from ._partitioning import (
    Wishes,
    lower_traced,
    refuse_ordered_effects,
    refuse_references,
)
from ._per_mesh import known_before
from ._trace_cache import sharing_traces
from .pipeline.order import scheduled_by
from .stages import Compiled, Lowered
from .types import Config, PyTree, mesh_names
from .utils import function_name

__all__ = ["MpmdTraced", "MpmdWrapped", "jit"]


def _positions(numbers: int | Sequence[int] | None) -> tuple[int, ...]:
    if numbers is None:
        return ()
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


class MpmdTraced(jax.stages.Traced):
    """A traced function, ready to be lowered for its topology."""

    __slots__ = ["_foreign", "_wrapped"]

    def __init__(
        self,
        traced: jax.stages.Traced,
        wrapped: MpmdWrapped,
        foreign: Mapping[int, Any],
    ):
        compat.become_traced(self, traced)
        self._wrapped = wrapped
        # Shardings that JAX does not know, by flat input.
        self._foreign = foreign

    def lower(self, **options: Any) -> Lowered:
        """Lowers to StableHLO with dialect mpmd, and partitions the result.

        Args:
          **options: none; what `jax.export` asks for is refused.

        Returns:
          The lowered function.

        Raises:
          NotImplementedError: the function has ordered side effects outside of
            annotations, or is to be exported by JAX.
          RuntimeError: the program cannot be partitioned; the text says why, with
            the place in the user's source.
          ValueError: mesh assignments do not fit the arguments or results.
        """
        if options:
            raise NotImplementedError(
                f"{self._wrapped.name}: jax.export and options of lower "
                f"({', '.join(options)}) are for one module, and a program of "
                "meshwright.jit has one for each mesh; export jax.jit of the function, "
                "in which annotations are transparent"
            )
        refuse_ordered_effects(self._wrapped.name, self.jaxpr.jaxpr)
        return self._wrapped._lower(self, self._foreign)


class MpmdWrapped:
    """A function that runs on the meshes of a topology; what `jit` returns.

    Attributes:
      mpmd_config: the config given to `jit`.
      name: the function's name in compiled programs.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        mpmd_config: Config,
        *,
        in_shardings: PyTree = None,
        out_shardings: PyTree = None,
        donate_argnums: int | Sequence[int] | None = None,
        static_argnums: int | Sequence[int] | None = None,
        keep_unused: bool = False,
        override_func_name: str | None = None,
        tie_state: bool = False,
    ):
        if not isinstance(mpmd_config, Config):
            raise TypeError(
                "meshwright.jit: mpmd_config must be what meshwright.make_config "
                f"returned, got {mpmd_config!r} of type {type(mpmd_config).__name__}"
            )
        self.mpmd_config = mpmd_config
        self.name = override_func_name or function_name(func)
        self._static = _positions(static_argnums)
        if isinstance(in_shardings, list):  # As for jax.jit, the tuple of arguments.
            in_shardings = tuple(in_shardings)
        input_meshes, output_meshes = self._assigned_meshes(in_shardings, out_shardings)
        # By types of arguments; by types and shardings.
        self._programs: dict[Any, list[Compiled]] = {}
        self._compiled: dict[Any, Compiled] = {}
        self._said: set[str] = set()  # Messages that were logged.
        options: dict[str, Any] = {
            "donate_argnums": _positions(donate_argnums),
            "static_argnums": self._static,
            "keep_unused": keep_unused,
        }
        foreign_inputs, foreign_outputs = None, None
        topology = mpmd_config.topology
        if in_shardings is not None:
            known = known_before(in_shardings, topology, "in_shardings")
            options["in_shardings"], foreign_inputs = _shardings.move_tree(
                known, topology, "in_shardings"
            )
        if out_shardings is not None:
            known = known_before(out_shardings, topology, "out_shardings")
            options["out_shardings"], foreign_outputs = _shardings.move_tree(
                known, topology, "out_shardings"
            )
        self._wishes = Wishes(
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            foreign_inputs=foreign_inputs,
            foreign_outputs=foreign_outputs,
            input_meshes=input_meshes,
            output_meshes=output_meshes,
            tie_state=tie_state,
        )

        checked = returning_changes(func, self.name)

        @functools.wraps(func)
        def named(*args):
            return self._wrap(checked(*static_leaves.unwrap(args)))

        named.__name__ = named.__qualname__ = self.name
        functools.update_wrapper(self, named)
        self._jitted = jax.jit(named, **options)

    def _assigned_meshes(
        self, in_shardings: PyTree, out_shardings: PyTree
    ) -> tuple[PyTree, PyTree]:
        config = self.mpmd_config
        if not config.read_input_output_mesh_from_shardings:
            return config.input_mesh_assignment, config.output_mesh_assignment
        return (
            mesh_names(in_shardings, config.topology),
            mesh_names(out_shardings, config.topology),
        )

    def trace(self, *args: Any) -> MpmdTraced:
        """Traces the function for arguments of the given types.

        Args:
          *args: arrays, `ShapeDtypeStruct`s, numpy arrays or Python scalars, in
            pytrees. Only their types and shardings matter; a named sharding must
            be on a mesh with the axes of one of the topology.

        Returns:
          The traced function.

        Raises:
          ValueError: the mesh of an argument has axes that no mesh of the topology
            has.
          TypeError: an argument is a tracer of a JAX transformation.
        """
        # Exceptions, not assert statements: they must hold under -O, too.
        if not jax.config.jax_use_shardy_partitioner:
            raise AssertionError(
                "meshwright.jit needs JAX's Shardy partitioner; remove "
                "jax_use_shardy_partitioner=False from the configuration"
            )
        static = self._static_positions(len(args))
        args = self._wrap_dynamic(args, static)
        foreign: list[Any] = []
        types = [
            arg
            if index in static
            else jax.tree.map(lambda leaf: self._type_of(leaf, foreign), arg)
            for index, arg in enumerate(args)
        ]
        known = {index: leaf for index, leaf in enumerate(foreign) if leaf is not None}
        with sharing_traces(), scheduled_by(self.mpmd_config.schedule):
            traced = self._jitted.trace(*types)
        for const in compat.captured(traced):
            if isinstance(const, jax.core.Tracer):
                if compat.is_transforming():
                    raise TypeError(self._inside_transformation())
                raise jax.errors.UnexpectedTracerError(const)
        refuse_references(self.name, traced)
        return MpmdTraced(traced, self, known)

    def _static_positions(self, count: int) -> list[int]:
        """Positions of the static ones among `count` arguments, in the given order."""
        wrapped = (i + count if i < 0 else i for i in self._static)
        return [i for i in wrapped if 0 <= i < count]

    def _inside_transformation(self) -> str:
        return (
            f"meshwright.jit of {self.name!r} was called inside a JAX transformation; "
            "transform the function first and apply meshwright.jit last"
        )

    @staticmethod
    def _wrap(tree: Any) -> Any:
        return static_leaves.wrap(tree, static_leaves.is_equinox_module)

    def _wrap_dynamic(self, args: Sequence[Any], static: Sequence[int]) -> Any:
        """Wraps what is no array in the arguments that are not static."""
        return tuple(
            arg if index in static else self._wrap(arg)
            for index, arg in enumerate(args)
        )

    def _type_of(self, leaf: Any, foreign: list[Any]) -> Any:
        """What JAX may know of an argument; `foreign` gets what it may not."""
        if isinstance(leaf, jax.core.Tracer):
            raise TypeError(self._inside_transformation())
        if isinstance(leaf, jax.Ref):
            raise NotImplementedError(
                f"{self.name}: an argument is a jax.Ref, which programs on several "
                "meshes cannot write to; pass its value, ref[...], and return the new "
                "one"
            )
        if not all(isinstance(size, int) for size in getattr(leaf, "shape", ())):
            raise NotImplementedError(
                f"{self.name}: an argument has the symbolic shape {leaf.shape}; meshes "
                "split arrays of known sizes, give numbers and lower once for each size"
            )
        other = None
        if not isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
            foreign.append(other)
            return leaf
        sharding = leaf.sharding
        if isinstance(sharding, Format):
            sharding = sharding.sharding
        if isinstance(sharding, jax.sharding.NamedSharding):
            sharding, other = _shardings.move(
                sharding, self.mpmd_config.topology, "lowering_args"
            )
        else:
            sharding = None
        foreign.append(other)
        return jax.ShapeDtypeStruct(
            leaf.shape,
            leaf.dtype,
            sharding=sharding,
            weak_type=getattr(leaf, "weak_type", False),  # Typed keys have none.
        )

    def lower(self, *args: Any) -> Lowered:
        """Traces, lowers and partitions; see `trace` and `MpmdTraced.lower`."""
        return self.trace(*args).lower()

    def _lower(self, traced: MpmdTraced, foreign: Mapping[int, Any]) -> Lowered:
        return lower_traced(
            traced, self.name, self.mpmd_config, self._wishes, foreign, self._said
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function; lowers and compiles it on the first call of a type.

        Args:
          *args: pytrees of arrays. Arrays that are committed to devices must have
            the sharding that the program expects; numpy arrays, Python scalars
            and uncommitted arrays are placed.
          **kwargs: not supported.

        Returns:
          The result, a pytree of arrays.
        """
        if kwargs:
            raise TypeError(
                f"{self.name} takes positional arguments only under meshwright.jit, "
                f"got {', '.join(kwargs)}"
            )
        static = self._static_positions(len(args))
        dynamic = [arg for index, arg in enumerate(args) if index not in static]
        leaves, tree = jax.tree.flatten(dynamic)
        described = [_describe(leaf) for leaf in leaves]
        if any(kind is None for kind, _ in described):
            # Numbers in modules, or what is no array at all.
            dynamic = [self._wrap(arg) for arg in dynamic]
            leaves, tree = jax.tree.flatten(dynamic)
            described = [_describe(leaf, wrapped=True) for leaf in leaves]
        # Equal values of several types, such as 1 and True, are several programs.
        values = tuple((type(args[index]), args[index]) for index in static)
        types = tuple(kind for kind, _ in described)
        key = compat.trace_context(), values, tree, types
        where = key, tuple(sharding for _, sharding in described)
        compiled = self._compiled.get(where)
        if compiled is None:
            programs = self._programs.setdefault(key, [])
            # Results of one call usually are where the next call wants them, and
            # the first call, with arrays that were nowhere yet, chose the place.
            for program in programs:
                if program.mpmd_executable.accepts(leaves):
                    compiled = program
                    break
            else:
                compiled = self.lower(*args).compile()
                programs.append(compiled)
            self._compiled[where] = compiled
        executable = compiled.mpmd_executable
        placed = executable.place(dynamic)
        result = compiled(*placed)
        executable.release(dynamic, placed)
        return result


def _describe(leaf: Any, wrapped: bool = False) -> tuple[Any, Any]:
    """What tracing depends on of an argument, and the sharding it asks for.

    The first is None for what may have to be wrapped.
    """
    if isinstance(leaf, jax.core.Tracer):
        return type(leaf), None  # Refused when it is lowered for.
    if isinstance(leaf, jax.Array):
        sharding = leaf.sharding
        named = isinstance(sharding, jax.sharding.NamedSharding) and leaf.committed
        weak = getattr(leaf, "weak_type", False)  # Typed keys have none.
        return (leaf.shape, leaf.dtype, weak), sharding if named else None
    if not wrapped and not static_leaves.is_plainly_array(leaf):
        return None, None
    aval = jax.typeof(leaf)
    return (aval.shape, aval.dtype, aval.weak_type), None


def jit(
    func: Callable[..., Any],
    mpmd_config: Config,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    donate_argnums: int | Sequence[int] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    keep_unused: bool = False,
    override_func_name: str | None = None,
    tie_state: bool = False,
) -> MpmdWrapped:
    """Makes a function run on the meshes of a topology.

    Args:
      func: a function of positional arguments, pytrees of arrays. Named
        computations inside it run on the meshes that the config assigns.
      mpmd_config: what `make_config` returned.
      in_shardings: as for `jax.jit`. A named sharding says how an argument is
        split, not on which mesh of the topology it lives: its mesh needs the axes
        of one of them. (`read_input_output_mesh_from_shardings` changes that.) A
        bare `PartitionSpec` is on the mesh where the argument is; a dict of mesh
        names to such has one for what is assigned to each mesh.
      out_shardings: the same for the result.
      donate_argnums: arguments whose buffers the program may reuse.
      static_argnums: arguments that are Python values. They are left out when a
        compiled program is called.
      keep_unused: keep arguments that the function does not use.
      override_func_name: name to use instead of the function's own.
      tie_state: results return to the meshes and shardings of the arguments, or
        parts of them, that are trees of the same paths, shapes and dtypes: a new
        state goes where the old one was, gradients where the parameters are. What
        is assigned otherwise stays assigned.

    Returns:
      The wrapped function, with `trace`, `lower` and `__call__`.

    Raises:
      ValueError: a sharding's mesh has axes that no mesh of the topology has.

    Example: two meshes of one device each.

      >>> import jax
      >>> from jax.sharding import Mesh
      >>> meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
      >>> config = make_config(meshes, {"double": "m0", "square": "m1"})
      >>> double = named_computation(lambda x: 2 * x, name="double")
      >>> square = named_computation(lambda x: x * x, name="square")
      >>> jit(lambda x: square(double(x)), config)(3.0)
      Array(36., dtype=float32, weak_type=True)
    """
    return MpmdWrapped(
        func,
        mpmd_config,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        donate_argnums=donate_argnums,
        static_argnums=static_argnums,
        keep_unused=keep_unused,
        override_func_name=override_func_name,
        tie_state=tie_state,
    )
