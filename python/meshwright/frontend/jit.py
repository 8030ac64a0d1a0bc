# SPDX-License-Identifier: Apache-2.0
"""`meshwright.jit`: from a Python function to a partitioned program."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.layout import Format

from ..config.make import mesh_names
from ..core import collector
from ..core.config import Config, PyTree
from ..core.names import check_type, function_name, is_cpu_mesh
from ..core.tracebacks import at_users_line
from ..jaxapi import frontend as compat
from ..layers import lower as layers_lower
from ..lowering.partitioning import (
    RequestedShardings,
    refuse_high,
    refuse_ordered_effects,
    refuse_references,
)
from ..lowering.per_mesh import known_before
from ..pipeline.numbers import with_own_numbers
from ..pipeline.scanned_microbatches import with_scans_called
from ..pipeline.written_loops import with_loops_written
from ..programs.stages import Compiled, Lowered
from ..shardings import named as named_shardings
from ..tracing import static_leaves
from ..tracing.arguments import Statics, describe, names, positions
from ..tracing.nnx_state import returning_changes
from ..tracing.owners import trace_owner
from ..tracing.program import scheduled_by
from ..tracing.several_meshes import flat_prefix
from ..tracing.static_slices import with_static_slices
from ..tracing.trace_cache import sharing_traces
from .jit_options import refuse_options, with_config


class _Last(NamedTuple):
    """The program of the last call, what it was found by, and all of its types."""

    context: Any
    values: tuple[Any, ...]
    tree: Any
    compiled: Compiled
    programs: list[Compiled]


class MpmdTraced(jax.stages.Traced):
    """A traced function, ready to be lowered for its topology."""

    __slots__ = ["_external", "_types", "_wrapped"]

    def __init__(
        self,
        traced: jax.stages.Traced,
        wrapped: MpmdWrapped,
        external: Mapping[int, Any],
        types: Any,
    ):
        compat.become_traced(self, traced)
        self._wrapped = wrapped
        # Shardings that JAX does not know, by flat input.
        self._external = external
        # Arguments that are not static, as they were given to JAX.
        self._types = types

    @at_users_line
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
        return self._wrapped._lower(self, self._types, self._external)


def _requested(
    config: Config, in_shardings: PyTree, out_shardings: PyTree, tie_state: bool
) -> tuple[RequestedShardings, dict[str, Any]]:
    """What is asked of inputs and outputs, and what of that JAX gets."""
    sides, topology = (in_shardings, out_shardings), config.topology
    meshes = config.input_mesh_assignment, config.output_mesh_assignment
    if config.read_input_output_mesh_from_shardings:
        meshes = tuple(mesh_names(side, topology) for side in sides)
    options: dict[str, Any] = {}
    external: dict[str, Any] = {"in_shardings": None, "out_shardings": None}
    for key, value in zip(external, sides, strict=True):
        if value is not None:
            known = known_before(value, topology, key)
            moved = named_shardings.move_tree(known, topology, key)
            options[key], external[key] = moved
    requested = RequestedShardings(
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        external_inputs=external["in_shardings"],
        external_outputs=external["out_shardings"],
        input_meshes=meshes[0],
        output_meshes=meshes[1],
        tie_state=tie_state,
    )
    return requested, options


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
        donate_argnames: str | Sequence[str] | None = None,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False,
        compiler_options: Mapping[str, Any] | None = None,
        override_func_name: str | None = None,
        tie_state: bool = False,
        **refused: Any,
    ):
        refuse_options(refused)
        advice = "; call it as mw.jit(function, config)"
        check_type("meshwright.jit: expected a function", func, Callable, advice)
        text = "mpmd_config must be what meshwright.make_config returned"
        check_type(f"meshwright.jit: {text}", mpmd_config, Config)
        self.mpmd_config = mpmd_config
        self.name = override_func_name or function_name(func)
        self._statics = Statics.of(func, self.name, static_argnums, static_argnames)
        self._compiler_options = compiler_options
        # By types of arguments; and the one of the last call.
        self._programs: dict[Any, list[Compiled]] = {}
        self._last: _Last | None = None
        # What was lowered without a call since, and for which types.
        self._lowered: tuple[Any, Lowered] | None = None
        self._reported: set[str] = set()  # Messages that were logged.
        # mw.auto divides calls of microbatches, so it gets no loop over them.
        unrolls = mpmd_config.auto_stages is None
        count = sum(not is_cpu_mesh(mesh) for mesh in mpmd_config.topology)
        self._scheduled = mpmd_config.schedule, unrolls, count
        self._owner = trace_owner(func, self._scheduled)
        options = {
            key: as_tuple(value)
            for key, value, as_tuple in (
                ("donate_argnums", donate_argnums, positions),
                ("static_argnums", static_argnums, positions),
                ("donate_argnames", donate_argnames, names),
                ("static_argnames", static_argnames, names),
            )
            if value is not None
        }
        if isinstance(in_shardings, list):  # As for jax.jit, the tuple of arguments.
            in_shardings = tuple(in_shardings)
        self._requested, shardings = _requested(
            mpmd_config, in_shardings, out_shardings, tie_state
        )
        self._plain_options = {"keep_unused": keep_unused, **shardings}
        named = self._named(func)
        functools.update_wrapper(self, named, updated=())
        # Attributes of the function show, but none takes the place of one of these.
        for key, value in getattr(func, "__dict__", {}).items():
            if not hasattr(self, key):
                setattr(self, key, value)
        self._jitted = jax.jit(named, **options, **self._plain_options)

    def _named(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function that JAX traces, by the name that it has in programs."""
        checked = returning_changes(func, self.name)

        @functools.wraps(func, updated=())
        def named(*args, **kwargs):
            args, kwargs = static_leaves.unwrap((args, kwargs))
            return self._wrap(checked(*args, **kwargs))

        named.__name__ = named.__qualname__ = self.name
        return named

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A decorated method is bound to its object, which is its first argument."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<meshwright.jit of {self.name!r} on {list(self.mpmd_config.topology)}>"

    @at_users_line
    def trace(self, /, *args: Any, **kwargs: Any) -> MpmdTraced:
        """Traces the function for arguments of the given types.

        Args:
          *args: arrays, `ShapeDtypeStruct`s, numpy arrays or Python scalars, in
            pytrees. Only their types and shardings matter; a named sharding must
            be on a mesh with the axes of one of the topology.
          **kwargs: the same, by keyword.

        Returns:
          The traced function.

        Raises:
          ValueError: the mesh of an argument has axes that no mesh of the topology
            has, or a static argument is not hashable.
          TypeError: an argument is a tracer of a JAX transformation, or holds what is
            neither an array nor hashable.
        """
        # Exceptions, not assert statements: they must hold under -O, too.
        if not jax.config.jax_use_shardy_partitioner:
            raise AssertionError(
                "meshwright.jit needs JAX's Shardy partitioner; remove "
                "jax_use_shardy_partitioner=False from the configuration"
            )
        external: list[Any] = []
        known_args, known_kwargs = self._types_of(args, kwargs, external)
        known = {index: leaf for index, leaf in enumerate(external) if leaf is not None}
        scheduled = scheduled_by(*self._scheduled)
        own = compat.own_traces(self._owner)
        with sharing_traces(), scheduled, own, collector.paused():
            traced = self._jitted.trace(*known_args, **known_kwargs)
        self._owner.add(traced.jaxpr.jaxpr)
        for const in compat.captured(traced):
            if isinstance(const, jax.core.Tracer):
                if compat.is_transforming():
                    raise TypeError(self._inside_transformation())
                raise jax.errors.UnexpectedTracerError(const)
        refuse_references(self.name, traced)
        traced = compat.to_arrays(traced)
        traced = with_loops_written(traced, self.mpmd_config.max_loop_trips)
        traced = with_own_numbers(traced)
        traced = with_scans_called(traced, self.mpmd_config)
        traced = with_static_slices(traced)
        types = self._statics.split(known_args, known_kwargs)[1:]
        return MpmdTraced(traced, self, known, types)

    def _types_of(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], external: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments as JAX may know them; `external` gets one entry per leaf."""
        self._statics.split(args, kwargs)  # Raises if one is not hashable.
        static = self._statics.positions(len(args))

        def types_of(arg: Any, where: str) -> Any:
            wrapped = self._wrap(arg)
            static_leaves.check_hashable(wrapped, f"{self.name}: {where}")
            leaves, tree = jax.tree.flatten(wrapped)
            types = [
                self._type_of(leaf, external, lambda i=i: where + _path(wrapped, i))
                for i, leaf in enumerate(leaves)
            ]
            try:
                return jax.tree.unflatten(tree, types)
            except Exception as error:
                error.add_note(
                    f"{self.name}: {where} is a tree with a node that cannot be made "
                    "of types in the place of its arrays, as jax.jit(f).lower and "
                    "jax.vmap need it, too; its unflatten function must take any "
                    "children as they are: no conversion (jnp.asarray), no check"
                )
                raise

        known = [
            arg if index in static else types_of(arg, f"args[{index}]")
            for index, arg in enumerate(args)
        ]
        # JAX flattens keyword arguments by their names.
        by_name = {
            key: (
                kwargs[key]
                if key in self._statics.names
                else types_of(kwargs[key], f"kwargs[{key!r}]")
            )
            for key in sorted(kwargs)
        }
        return known, by_name

    def _inside_transformation(self) -> str:
        return (
            f"meshwright.jit of {self.name!r} was called inside a JAX transformation; "
            "transform the function first and apply meshwright.jit last; what "
            "jax.eval_shape gives, its own method eval_shape(...) does"
        )

    @staticmethod
    def _wrap(tree: Any) -> Any:
        return static_leaves.wrap(tree, static_leaves.is_equinox_module)

    def _type_of(self, leaf: Any, external: list[Any], where: Callable[[], str]) -> Any:
        """What JAX may know of an argument; `external` gets what it may not."""
        if isinstance(leaf, jax.core.Tracer):
            raise TypeError(self._inside_transformation())
        if isinstance(leaf, jax.Ref):
            raise NotImplementedError(
                f"{self.name}: an argument is a jax.Ref, which programs on several "
                "meshes cannot write to; pass its value, ref[...], and return the new "
                "one"
            )
        if static_leaves.is_array(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct):
            refuse_high(self.name, "an argument", jax.typeof(leaf))
        sizes = getattr(leaf, "shape", ())
        if not all(isinstance(size, (int, np.integer)) for size in sizes):
            raise NotImplementedError(
                f"{self.name}: an argument has the symbolic shape {leaf.shape}; meshes "
                "split arrays of known sizes, give numbers and lower once for each size"
            )
        other = None
        if not isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
            external.append(other)
            return _type_of_numpy(leaf)
        sharding = leaf.sharding
        if isinstance(sharding, Format):
            sharding = sharding.sharding
        if isinstance(sharding, jax.sharding.NamedSharding):
            try:
                sharding, other = named_shardings.move(
                    sharding, self.mpmd_config.topology, "lowering_args"
                )
            except ValueError as error:
                raise ValueError(
                    f"{error}; {where()} has it: lower the function for "
                    "jax.ShapeDtypeStructs without a sharding, and let "
                    "compiled.place(...) put the arrays where the program expects them"
                ) from None
        else:
            first = next(iter(self.mpmd_config.topology.values()))
            sharding = named_shardings.of_memory(sharding, first)
        external.append(other)
        dtype = leaf.dtype
        if isinstance(leaf, jax.Array):  # Which has it, and did not ask for it.
            dtype = jax.dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
        return jax.ShapeDtypeStruct(
            leaf.shape,
            dtype,
            sharding=sharding,
            weak_type=getattr(leaf, "weak_type", False),  # Typed keys have none.
        )

    @at_users_line
    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """Traces, lowers and partitions; see `trace` and `MpmdTraced.lower`."""
        with collector.paused():
            return self.trace(*args, **kwargs).lower()

    def _lower(
        self, traced: MpmdTraced, types: Any, external: Mapping[int, Any]
    ) -> Lowered:
        with collector.paused():
            lowered = layers_lower.lower(
                traced,
                types,
                self._plain_options,
                self.name,
                self.mpmd_config,
                self._requested,
                external,
                self._reported,
            )
        lowered.log_messages(self._reported)
        self._lowered = self._key(traced, types, external), lowered
        return lowered

    def _key(
        self, traced: MpmdTraced, types: Any, external: Mapping[int, Any]
    ) -> tuple[Any, ...]:
        """What a program follows from: `in_shardings` replace those of arguments."""
        topology, (args, _) = self.mpmd_config.topology, types
        wanted = known_before(self._requested.in_shardings, topology, "in_shardings")
        chosen = flat_prefix(wanted, jax.tree.structure(args))
        leaves, tree = jax.tree.flatten(types)
        given = [
            chosen.get(index, getattr(leaf, "sharding", None))
            for index, leaf in enumerate(leaves)
        ]
        return compat.trace_context(), traced.jaxpr, tree, given, dict(external)

    def _lowered_before(self, traced: MpmdTraced) -> Lowered | None:
        """What the caller has lowered, perhaps to look at it, to be called now."""
        if self._lowered is None:
            return None
        key = self._key(traced, traced._types, traced._external)
        return self._lowered[1] if self._lowered[0] == key else None

    @at_users_line
    def eval_shape(self, /, *args: Any, **kwargs: Any) -> PyTree:
        """Types of the result for arguments of the given types; runs nothing.

        Args:
          *args: as for `trace`.
          **kwargs: the same, by keyword.

        Returns:
          The result with a `jax.ShapeDtypeStruct` for every array.
        """
        traced = self.trace(*args, **kwargs)
        shapes = [
            jax.ShapeDtypeStruct(
                aval.shape,
                aval.dtype,
                weak_type=getattr(aval, "weak_type", False),
            )
            for aval in traced.jaxpr.out_avals
        ]
        return static_leaves.unwrap(jax.tree.unflatten(traced.out_tree, shapes))

    def clear_cache(self) -> None:
        """Forgets all traces and programs; the next call compiles again."""
        self._programs.clear()
        self._last = self._lowered = None
        self._jitted.clear_cache()

    @at_users_line
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the function; lowers and compiles it on the first call of a type.

        Args:
          *args: pytrees of arrays. Arrays that are committed to devices must have
            the sharding that the program expects; numpy arrays, Python scalars
            and uncommitted arrays are placed.
          **kwargs: the same, by keyword.

        Returns:
          The result, a pytree of arrays.
        """
        values, dynamic = (), (args, kwargs)
        if self._statics:
            values, *dynamic = self._statics.split(args, kwargs)
            dynamic = tuple(dynamic)
        leaves, tree = jax.tree.flatten(dynamic)
        context, last = compat.trace_context(), self._last
        if (
            last is not None
            and last.tree == tree
            and last.values == values
            and last.context == context
        ):
            ready = last.compiled.mpmd_executable.prepare(
                leaves, alone=len(last.programs) == 1
            )
            if ready is not None:
                return last.compiled.run(ready)
        found = self._find(context, values, dynamic, args, kwargs)
        self._last, compiled, ready = found[0], found[0].compiled, found[1]
        return compiled.run(ready)

    def _find(
        self, context: Any, values: Any, dynamic: Any, args: Any, kwargs: Any
    ) -> tuple[_Last, Any]:
        """The program for some arguments, and what it takes of them."""
        leaves, tree = jax.tree.flatten(dynamic)
        kinds = [describe(leaf)[0] for leaf in leaves]
        if any(kind is None for kind in kinds):
            # Numbers in modules, or what is no array at all.
            leaves, tree = jax.tree.flatten(self._wrap(dynamic))
            kinds = [describe(leaf, wrapped=True)[0] for leaf in leaves]
        programs = self._programs.setdefault((context, values, tree, *kinds), [])
        # Results of one call usually are where the next call wants them, and the
        # first call, with arrays that were nowhere yet, chose the place.
        for compiled in programs:
            ready = compiled.mpmd_executable.prepare(leaves, typed=True)
            if ready is not None:
                return _Last(context, values, tree, compiled, programs), ready
        traced = self.trace(*args, **kwargs)
        lowered = self._lowered_before(traced) or traced.lower()
        self._lowered = None
        compiled = lowered.compile(self._compiler_options)
        programs.append(compiled)
        ready = compiled.mpmd_executable.prepare(leaves, typed=True, new=True)
        return _Last(context, values, tree, compiled, programs), ready


def _path(tree: Any, index: int) -> str:
    """The path of a leaf."""
    return jax.tree_util.keystr(jax.tree.leaves_with_path(tree)[index][0])


def _type_of_numpy(leaf: Any) -> Any:
    """Of several processes JAX refuses NumPy arrays that an `in_shardings` splits, also
    where only their types matter. What is no array stays, for JAX to say so."""
    if type(leaf) is not np.ndarray:
        return leaf
    try:
        aval = jax.typeof(leaf)
    except TypeError:
        return leaf
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def jit(
    func: Callable[..., Any] | None = None,
    mpmd_config: Config | None = None,
    *,
    config: Config | None = None,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
    override_func_name: str | None = None,
    tie_state: bool = False,
    **refused: Any,
) -> Any:
    """Makes a function run on the meshes of a topology.

    Args:
      func: a function of pytrees of arrays. Named computations inside it run on the
        meshes that the config assigns. Left out, `jit` is a decorator.
      mpmd_config: what `make_config` returned.
      config: the same by another name, `@mw.jit(config=...)`.
      in_shardings: as for `jax.jit`. A named sharding says how an argument is
        split, not on which mesh of the topology it lives: its mesh needs the axes
        of one of them. (`read_input_output_mesh_from_shardings` changes that.) A
        bare `PartitionSpec` is on the mesh where the argument is; a dict of mesh
        names to such has one for what is assigned to each mesh.
      out_shardings: the same for the result.
      donate_argnums: arguments whose buffers the program may reuse.
      donate_argnames: the same, by name.
      static_argnums: arguments that are Python values. They are left out when a
        compiled program is called.
      static_argnames: the same, by name.
      keep_unused: keep arguments that the function does not use.
      compiler_options: what `lowered.compile` takes, for calls of the function.
      override_func_name: name to use instead of the function's own.
      tie_state: results return to the meshes and shardings of the arguments, or
        parts of them, that are trees of the same paths, shapes and dtypes: a new
        state goes where the old one was, gradients where the parameters are. What
        is assigned otherwise stays assigned.
      **refused: none; other options of `jax.jit` are refused with a sentence.

    Returns:
      The wrapped function, with `trace`, `lower`, `eval_shape`, `clear_cache` and
      `__call__`; without `func`, a function from functions to such.

    Raises:
      ValueError: a sharding's mesh has axes that no mesh of the topology has.
      TypeError: no config, or an option that `jax.jit` alone has.

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
    refuse_options(refused)
    func, mpmd_config = with_config(func, mpmd_config, config)
    wrap = functools.partial(
        MpmdWrapped,
        mpmd_config=mpmd_config,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        keep_unused=keep_unused,
        compiler_options=compiler_options,
        override_func_name=override_func_name,
        tie_state=tie_state,
    )
    return wrap if func is None else wrap(func)
