# SPDX-License-Identifier: Apache-2.0
"""What the front end takes from JAX beyond its documented interface.

The names are those of the table in `names`. Where releases differ, what
follows looks at what it found, and gives the rest of the package one shape: that of
the newest release.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from . import differences
from .differences import is_box as is_box
from .names import FOUND as _FOUND

# What this module uses of the table itself.
ClosedJaxpr = _FOUND["ClosedJaxpr"]
Jaxpr = _FOUND["Jaxpr"]
Literal = _FOUND["Literal"]
Var = _FOUND["Var"]
TypedNdArray = _FOUND["TypedNdArray"]
trace_context = _FOUND["trace_context"]
fancy_primitive_batchers = _FOUND["fancy_primitive_batchers"]
primitive_batchers = _FOUND["primitive_batchers"]
ir = _FOUND["ir"]
make_ir_context = _FOUND["make_ir_context"]

# Names that say more here than there.
batch_jaxpr = _FOUND["batch_jaxpr2"]
backward_pass = _FOUND["backward_pass3"]
ir_constant = _FOUND["_ir_constant"]
current_source_info = _FOUND["current"]
empty_mesh = _FOUND["empty_abstract_mesh"]
memory_space = _FOUND["mem_kind_to_space"]
summarize_source = _FOUND["summarize"]
# Operations that lower their bodies with hoisted constants.
constant_passing = (
    _FOUND["closed_call_p"],
    _FOUND["cond_p"],
    _FOUND["custom_jvp_call_p"],
    _FOUND["custom_vjp_call_p"],
    _FOUND["jit_p"],
    _FOUND["remat_p"],
    _FOUND["scan_p"],
    _FOUND["while_p"],
)

# All else that the table has, unless `differences` gives it another shape.
for _name, _value in [*vars(differences).items(), *_FOUND.items()]:
    globals().setdefault(_name, _value)

_EVALUATING = _FOUND["EvalTrace"]
_TRANSFORMING = _FOUND["JVPTrace"], _FOUND["LinearizeTrace"], _FOUND["BatchTrace"]


# Locations and error messages point at the user's code, not at this package.
_FOUND["register_exclusion"](
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)


_ELEMENTWISE = _FOUND["broadcast_batcher"], _FOUND["vectorized_batcher"]


def is_elementwise(primitive: Any) -> bool:
    """Whether a primitive treats all elements alike, whatever axes there are."""
    for batchers in (fancy_primitive_batchers, primitive_batchers):
        # In newer versions of JAX the second only adds rules to the first.
        if isinstance(batchers, Mapping) and primitive in batchers:
            return getattr(batchers[primitive], "func", None) in _ELEMENTWISE
    return False


def transfer_guard(direction: str) -> str:
    """What `jax.transfer_guard` says about implicit transfers.

    Args:
      direction: `host_to_device` or `device_to_device`.

    Returns:
      `allow`, `log` or `disallow`.
    """
    guards = _FOUND["guard_lib"]
    level = getattr(guards.thread_local_state(), direction)
    if level is None:
        level = getattr(guards.global_state(), direction)
    return "allow" if level is None else level.name.lower().removesuffix("_explicit")


def current_trace() -> Any:
    """The trace that primitives are being applied in."""
    return _FOUND["trace_ctx"].trace


def settings() -> Any:
    """All settings of JAX that apply now, also those that its own traces ignore."""
    states = _FOUND["config_states"].values()
    return trace_context(), tuple(state.value for state in states)


def is_staged() -> bool:
    """Whether what is applied now is recorded, rather than done at once."""
    trace = current_trace()
    while isinstance(trace, _TRANSFORMING):
        trace = trace.parent_trace
    return not isinstance(trace, _EVALUATING)


def is_transforming() -> bool:
    """Whether the code that runs now is inside a JAX transformation."""
    return not isinstance(current_trace(), _EVALUATING)


def captured(traced: Any) -> list[Any]:
    """Values that a traced function closes over."""
    return [*traced.jaxpr.consts, *traced._consts]


def outermost_trace() -> Any:
    """The trace of the whole program, seen from inside it; None outside of any."""
    found, trace = None, current_trace()
    while trace is not None and not isinstance(trace, _EVALUATING):
        found, trace = trace, getattr(trace, "parent_trace", None)
    return found


def operation_at(
    eqn: Any, primitive: Any, operands: Sequence[Any], *results: Any, **params: Any
) -> Any:
    """An equation without effects, of the line and the scopes of another one."""
    return eqn.replace(
        primitive=primitive,
        invars=list(operands),
        outvars=list(results),
        params=params,
        effects=set(),
    )


# What puts together what a reduction gives of parts.
COMBINING = {
    "reduce_sum": jax.lax.add,
    "reduce_prod": jax.lax.mul,
    "reduce_max": jax.lax.max,
    "reduce_min": jax.lax.min,
    "reduce_and": jax.lax.bitwise_and,
    "reduce_or": jax.lax.bitwise_or,
    "reduce_xor": jax.lax.bitwise_xor,
}


def binary_at(
    eqn: Any, function: Callable[..., Any], operands: Sequence[Any], result: Any
) -> Any:
    """`operation_at` for arithmetic of two values, such as `jax.lax.mul`.

    JAX gives it the parameters, which differ between its releases.
    """
    primitive, params = _arithmetic(function, operands[0].aval.dtype)
    return operation_at(eqn, primitive, operands, result, **params)


@functools.cache
def _arithmetic(function: Callable[..., Any], dtype: Any) -> tuple[Any, dict]:
    """The primitive that a function of two numbers is, and its parameters."""
    number = jax.ShapeDtypeStruct((), dtype)
    (eqn,) = jax.make_jaxpr(function)(number, number).eqns
    return eqn.primitive, eqn.params


def is_variable(atom: Any) -> bool:
    """Whether an operand of an equation is a variable, rather than a literal."""
    return isinstance(atom, Var)


def is_zero(atom: Any) -> bool:
    """Whether an operand of an equation is the number 0."""
    return isinstance(atom, Literal) and not np.shape(atom.val) and not atom.val


def variables(atoms: Iterable[Any]) -> list[Any]:
    """Those of some operands that are variables."""
    return [atom for atom in atoms if isinstance(atom, Var)]


def look_up(table: Mapping[Any, Any], atom: Any, default: Any = None) -> Any:
    """What a table has of an operand; a literal is none of its keys."""
    return table.get(atom, default) if is_variable(atom) else default


def remade(closed: Any, consts: Any = None, **parts: Any) -> Any:
    """A closed jaxpr with other parts, whose inputs and results have no names."""
    unnamed = closed.jaxpr.debug_info.with_unknown_names()
    new = closed.jaxpr.replace(**parts, debug_info=unnamed)
    sides = new.constvars, new.invars, new.outvars
    effects = _FOUND["make_jaxpr_effects"](*sides, new.eqns)
    consts = closed.consts if consts is None else consts
    return ClosedJaxpr(new.replace(effects=effects), consts)


def merge(
    flags: Iterable[bool], chosen: Iterable[Any], others: Iterable[Any]
) -> list[Any]:
    """Other values, but where there is a flag the next of those chosen."""
    left = iter(chosen)
    return [
        next(left) if flag else other for flag, other in zip(flags, others, strict=True)
    ]


def closed(body: Any) -> Any:
    """A body as a closed jaxpr, which that of some operations is not."""
    return ClosedJaxpr(body, ()) if isinstance(body, Jaxpr) else body


def bodies(eqn: Any) -> list[Any]:
    """What an operation applies or repeats, as open jaxprs."""
    # Asked of all operations again and again, and most have none.
    found = []
    for value in eqn.params.values():
        kind = type(value)
        if kind is tuple or kind is list:
            for entry in value:
                kind = type(entry)
                if kind is ClosedJaxpr:
                    found.append(entry.jaxpr)
                elif kind is Jaxpr:
                    found.append(entry)
        elif kind is ClosedJaxpr:
            found.append(value.jaxpr)
        elif kind is Jaxpr:
            found.append(value)
    return found


# As many entries as bodies that live and kinds that are looked for.
@_FOUND["weakref_lru_cache"](maxsize=None)
def find(jaxpr: Any, is_wanted: Callable[[Any], bool]) -> Any | None:
    """The first operation of a kind in a jaxpr, or in one that it applies."""
    for eqn, applied in zip(jaxpr.eqns, _bodies_of_each(jaxpr), strict=True):
        if is_wanted(eqn):
            return eqn
        for body in applied:
            if (found := find(body, is_wanted)) is not None:
                return found
    return None


@_FOUND["weakref_lru_cache"](maxsize=None)
def _bodies_of_each(jaxpr: Any) -> list[Sequence[Any]]:
    """The bodies of each operation of a jaxpr, in which many kinds are looked for."""
    return list(map(bodies, jaxpr.eqns))


def find_inside(eqn: Any, is_wanted: Callable[[Any], bool]) -> Any | None:
    """The first operation of a kind in what an operation applies."""
    for body in bodies(eqn):
        if (found := find(body, is_wanted)) is not None:
            return found
    return None


_snapshots: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
# The copies themselves, by identity.
_copies: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def snapshot(value: Any) -> Any:
    """A NumPy array as it is now; JAX keeps a reference and would see it change.

    The same array with the same contents gives the same copy, so that a program
    that reads it in many places holds it once.
    """
    if type(value) not in (np.ndarray, TypedNdArray):
        return value
    if _copies.get(id(value)) is value:
        return value  # It is no array of the user's.
    kind, aval = type(value), getattr(value, "aval", None)
    where = value.__array_interface__["data"][0]
    key = kind, where, value.shape, value.strides, value.dtype, aval
    copy = _snapshots.get(key)
    if copy is None or not _has_same_bytes(copy, value):
        copy = aligned_copy(np.asarray(value))
        if isinstance(value, TypedNdArray):
            copy = TypedNdArray(copy, aval)
        _snapshots[key] = _copies[id(copy)] = copy
    return copy


def view_of_copy(value: Any) -> np.ndarray:
    """The contents of an array as they are now, as a NumPy array of the caller's own.

    Snapshots share their memory with it; an array of a device is copied, for the user
    may donate or delete it.
    """
    if isinstance(value, jax.Array):
        view = aligned_copy(np.asarray(value))
    else:
        view = np.asarray(snapshot(value)).view()
    _copies[id(view)] = view
    return view


def _has_same_bytes(first: Any, second: Any) -> bool:
    """Whether arrays of one type have the same bits, without a copy of large ones."""
    first, second = np.asarray(first), np.asarray(second)
    if first.flags.c_contiguous and second.flags.c_contiguous:
        return np.array_equal(bytes_of(first), bytes_of(second))
    return first.tobytes() == second.tobytes()


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, which stay where they are."""
    if not array.nbytes:  # Of tangents of integers, which have no type to view them as.
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)


def digest_of(array: np.ndarray, size: int = 16) -> str:
    """Some hexadecimal digits, for that many bytes, of what an array contains."""
    found = hashlib.blake2b(bytes_of(np.ascontiguousarray(array)), digest_size=size)
    return found.hexdigest()


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """A copy where JAX on CPU can use it in its place, at a multiple of 64 bytes."""
    if not array.nbytes:
        return np.array(array)
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    copy.flags.writeable = False
    return copy


def trace_body(
    name: Callable[..., Any],
    body: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Any, list[Any], Any]:
    """Traces a function, without a cache.

    Args:
      name: the function to name in messages and locations.
      body: the function to trace, an object made for this call; its arguments
        are pytrees of arrays.
      args: positional arguments, possibly tracers of an enclosing trace.

    Returns:
      The closed jaxpr, the values that it captured from enclosing traces, and the
      tree of the result. The jaxpr takes the captured values first.
    """
    functools.update_wrapper(body, name, updated=())
    traced = jax.jit(body).trace(*args, **kwargs)
    consts, captured = traced.jaxpr.consts, traced._consts
    jaxpr = _with_own_literals(traced.jaxpr.jaxpr)
    if any(isinstance(const, jax.Ref) or is_box(const) for const in consts):
        # Written to from here, so an operand rather than a constant.
        jaxpr = _FOUND["convert_constvars_jaxpr"](jaxpr)
        consts, captured = (), [*consts, *captured]
    closed = ClosedJaxpr(jaxpr, list(map(snapshot, consts)))
    return closed, list(map(snapshot, captured)), traced.out_tree


def _with_own_literals(jaxpr: Any) -> Any:
    """A jaxpr whose literals are no arrays of the user's."""

    def is_array(atom: Any) -> bool:
        return isinstance(atom, Literal) and isinstance(atom.val, np.ndarray)

    def own(atom: Any) -> Any:
        return Literal(snapshot(atom.val), atom.aval) if is_array(atom) else atom

    eqns = [
        eqn.replace(invars=list(map(own, eqn.invars)))
        if any(map(is_array, eqn.invars))
        else eqn
        for eqn in jaxpr.eqns
    ]
    return jaxpr.replace(eqns=eqns, outvars=list(map(own, jaxpr.outvars)))


def become_traced(made: Any, traced: Any) -> None:
    """Makes a new object of a subclass of `jax.stages.Traced` equal to a traced.

    Their constructor changes from release to release, their slots are found here.
    """
    for kind in jax.stages.Traced.__mro__:
        for slot in getattr(kind, "__slots__", ()):
            if hasattr(traced, slot):
                setattr(made, slot, getattr(traced, slot))


def is_high(jaxpr: Any) -> bool:
    """Whether a closed jaxpr has values of types that represent several arrays, or
    primitives that are known by what they do to such or to arrays."""
    return jaxpr.jaxpr.is_high


def to_arrays(traced: Any) -> Any:
    """A traced function of arrays whose high values and primitives are expanded."""
    if not is_high(traced.jaxpr):
        return traced
    return _with_params(traced, traced.lojax._params)


def scan_counts(eqn: Any) -> tuple[int, int]:
    """How many constants and carried values a `jax.lax.scan` has."""
    params = eqn.params
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()  # Since JAX 0.12.
    return len(tuple(consts.vals)), len(tuple(carry.vals))


def with_jaxpr(traced: Any, jaxpr: Any) -> Any:
    """A traced function with another closed jaxpr."""
    return _with_params(traced, {**traced._params, "jaxpr": jaxpr})


def _with_params(traced: Any, params: Any) -> Any:
    other = object.__new__(jax.stages.Traced)
    become_traced(other, traced)
    other._params = params
    other._lojax = None  # What JAX lowers, kept once made: that of the other jaxpr.
    return other


def plain_lower(
    traced: Any,
    rules: Sequence[tuple[Any, Callable[..., Any]]],
    platform: str,
    jaxpr: Any,
    hoisted_bytes: int | None = None,
) -> Any:
    """`lower_with_rules` for a subclass of `jax.stages.Traced`, with its own jaxpr.

    Literals of more than `hoisted_bytes` become the first arguments of `main`.
    """
    plain = with_jaxpr(traced, jaxpr)
    if hoisted_bytes is None:
        return lower_with_rules(plain, rules, platform)
    states = _FOUND["config_states"]
    with (
        states["jax_use_simplified_jaxpr_constants"](True),
        states["jax_embedded_constants_max_bytes"](hoisted_bytes),
    ):
        return lower_with_rules(plain, rules, platform, hoist_constants_as_args=True)


def lower_with_rules(
    traced: Any,
    rules: Sequence[tuple[Any, Callable[..., Any]]],
    platform: str,
    **parameters: Any,
) -> Any:
    """Lowers a traced function, giving precedence to `rules`.

    Args:
      traced: what `jax.jit(f).trace(...)` returned.
      rules: pairs of a primitive and its lowering rule.

    Returns:
      The `jax.stages.Lowered`. Plain `jax.jit` is not affected by `rules`.
    """
    chosen = _FOUND["LoweringParameters"](
        override_lowering_rules=tuple(rules), **parameters
    )
    return traced.lower(lowering_platforms=(platform,), _private_parameters=chosen)


def kept_arguments(lowered: Any) -> list[int]:
    """Flat positions of the arguments that became arguments of `main`."""
    skipped = len(lowered._lowering.const_args)
    kept = lowered._lowering.compile_args["kept_var_idx"]
    return sorted(index - skipped for index in kept if index >= skipped)


def constant_arguments(lowered: Any) -> list[Any]:
    """Values of the leading arguments of `main` that are hoisted constants."""
    return list(lowered._lowering.const_args)


def flat_types(lowered: Any) -> tuple[list[Any], list[Any]]:
    """Abstract values of main's arguments (without constants) and results."""
    arguments = lowered._lowering.compile_args
    skipped = len(lowered._lowering.const_args)
    return (
        list(arguments["global_in_avals"])[skipped:],
        list(arguments["global_out_avals"]),
    )


def aval_of(info: Any) -> Any:
    """Abstract value of a `jax.stages.ArgInfo`."""
    return info._aval


def is_plain_type(aval: Any) -> bool:
    """Whether an abstract value is that of an array, and of nothing else."""
    return type(aval) is _FOUND["ShapedArray"]


def make_type(shape: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    """The abstract value of an array."""
    return _FOUND["ShapedArray"](shape, dtype, weak_type=weak)


def make_tree(kind: type, own: Any, children: Sequence[Any]) -> Any:
    """The structure of a node: its class, what that keeps of it, and the children's.

    Raises:
      ValueError: the class is none of pytree nodes.
    """
    return jax.tree_util.PyTreeDef.from_node_data_and_children(
        jax.tree_util.default_registry, (kind, own), children
    )


def wrap_key(data: Any, dtype: Any) -> Any:
    """Key data as an array of the typed keys of `dtype`."""
    return jax.random.wrap_key_data(data, impl=dtype._impl.name)


def make_weak(array: Any) -> Any:
    """The same array with the weak type that the result of a jitted function has."""
    aval = array.aval.update(weak_type=True)
    return _FOUND["ArrayImpl"](
        aval, array.sharding, array._arrays, committed=True, _skip_checks=True
    )


def host_callbacks(lowered: Any) -> list[Any]:
    """Python callbacks that the lowered module refers to."""
    return list(lowered._lowering.compile_args.get("host_callbacks") or ())


def module_text(module: Any) -> str:
    """The text of an MLIR module, given as its operation, with locations."""
    return module.get_asm(enable_debug_info=True, use_local_scope=False)


def module_bytecode(module: Any) -> bytes:
    """The same module in the bytecode of JAX's MLIR, which has locations, too."""
    code = io.BytesIO()
    module.write_bytecode(code)
    return code.getvalue()


def parse_module(text: str) -> Any:
    """Parses a module in a context that knows mpmd, sdy and StableHLO."""
    with make_ir_context(), ir.Location.unknown():
        return ir.Module.parse(text)


_DERIVATIVES = "jvp", "transpose"


def transpose_count(name_stack: Any) -> int:
    """How often what has this name stack was transposed."""
    kind, count = _FOUND["Transform"], 0
    for entry in name_stack.stack:
        count += isinstance(entry, kind) and entry.name == "transpose"
    return count


def is_derived(name_stack: Any) -> bool:
    """Whether what has this name stack is a part of a derivative."""
    kind = _FOUND["Transform"]
    return any(
        isinstance(entry, kind) and entry.name in _DERIVATIVES
        for entry in name_stack.stack
    )


# Of whom what is being traced is a part. JAX finds what a function was traced to again
# by the value, so that a plain step leaves nothing to one with marks.
_tracing_for = jax.make_user_context(None)


def own_traces(owner: Hashable) -> Any:
    """A context in which JAX does not take traces that it made outside of it."""
    return _tracing_for(owner)


def transposed_last(name_stack: Any) -> bool:
    """Whether the last derivative of what has this name stack was a transpose."""
    derivatives = (
        entry.name
        for entry in name_stack.stack
        if isinstance(entry, _FOUND["Transform"]) and entry.name in _DERIVATIVES
    )
    return next(derivatives, None) == "transpose"


def with_unreduced(ctx: Any, values: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Values of a lowering rule; those of unreduced types are constrained to be so.

    Each device holds a part of such a value's sum. That must be said where it is
    made: JAX checks it, and nothing else in the program says it.
    """
    return [
        _FOUND["lower_with_sharding_in_types"](ctx, value, aval)
        if getattr(getattr(shard_aval(aval), "spec", None), "unreduced", None)
        else value
        for value, aval in zip(values, avals, strict=True)
    ]


def shard_aval(aval: Any) -> Any:
    """The sharding that is part of an abstract value's type, or None."""
    return getattr(aval, "sharding", None)
