# SPDX-License-Identifier: Apache-2.0
"""The one place where Meshwright leaves JAX's public interface.

Everything private or only semi-public that the front end needs is named here,
checked once at import: a JAX that moved one of these names is reported as what
it is instead of failing somewhere inside a trace.
"""

from __future__ import annotations

import functools
import importlib
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

MINIMUM_VERSION = (0, 10, 0)


def check_version(version: tuple[int, ...] | None = None) -> None:
    """Raises ImportError if JAX is older than Meshwright can work with.

    Args:
      version: the version to check, that of the installed JAX by default.

    Raises:
      ImportError: the version is too old; the message says which one is needed.
    """
    version = jax.__version_info__ if version is None else version
    if tuple(version) < MINIMUM_VERSION:
        found = ".".join(map(str, version))
        needed = ".".join(map(str, MINIMUM_VERSION))
        raise ImportError(
            f"meshwright needs jax >= {needed}, found {found}; upgrade jax and jaxlib"
        )


def _require(module: str, *names: str) -> list[Any]:
    try:
        found = importlib.import_module(module)
        return [getattr(found, name) for name in names]
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"meshwright does not know jax {jax.__version__}: {error}; "
            "it was written for jax 0.10, install that release"
        ) from error


check_version()

_CORE = "jax._src.core"
_AD = "jax._src.interpreters.ad"
_PE = "jax._src.interpreters.partial_eval"
_BATCHING = "jax._src.interpreters.batching"
_MLIR = "jax._src.interpreters.mlir"

# Programs with a body.
Primitive, Jaxpr, ClosedJaxpr, JaxprEqn, Literal, Var, DropVar = _require(
    "jax.extend.core",
    "Primitive",
    "Jaxpr",
    "ClosedJaxpr",
    "JaxprEqn",
    "Literal",
    "Var",
    "DropVar",
)
(
    eval_jaxpr,
    positional_effects,
    eqn_effects,
    new_jaxpr_eqn,
    jaxpr_const_args,
) = _require(
    _CORE,
    "eval_jaxpr",
    "positional_effects",
    "eqn_effects",
    "new_jaxpr_eqn",
    "jaxpr_const_args",
)
AbstractRef = _require("jax._src.state.types", "AbstractRef")[0]
discharge_state, register_discharge_rule = _require(
    "jax._src.state.discharge", "discharge_state", "register_discharge_rule"
)
summarize_source, _Transform, NameStack = _require(
    "jax._src.source_info_util", "summarize", "Transform", "NameStack"
)
ordered_effects = _require("jax._src.effects", "ordered_effects")[0]
wrap_init = _require("jax._src.linear_util", "wrap_init")[0]
weakref_lru_cache = _require("jax._src.util", "weakref_lru_cache")[0]

# Shardings inside programs.
jit_p, sharding_constraint_p = _require(
    "jax._src.pjit", "jit_p", "sharding_constraint_p"
)
device_put_p = _require("jax._src.dispatch", "device_put_p")[0]
UNSPECIFIED = _require("jax._src.sharding_impls", "UNSPECIFIED")[0]
empty_mesh = _require("jax._src.mesh", "empty_abstract_mesh")[0]
memory_space = _require(_CORE, "mem_kind_to_space")[0]

trace_context, _settings = _require("jax._src.config", "trace_context", "config_states")
_guards = _require("jaxlib._jax", "guard_lib")[0]
_trace_state, EvalTrace = _require(_CORE, "trace_ctx", "EvalTrace")
JVPTrace, LinearizeTrace = _require(_AD, "JVPTrace", "LinearizeTrace")
BatchTrace = _require(_BATCHING, "BatchTrace")[0]
TypedNdArray = _require("jax._src.literals", "TypedNdArray")[0]

# Differentiation.
Zero, ValAccum, NullAccum, jvp_jaxpr, linearize_jaxpr = _require(
    _AD, "Zero", "ValAccum", "NullAccum", "jvp_jaxpr", "linearize_jaxpr"
)
backward_pass, project_accums, unproject_accums = _require(
    _AD, "backward_pass3", "project_accums", "unproject_accums"
)
primitive_jvps, primitive_linearizations, fancy_transposes, deflinear2 = _require(
    _AD,
    "primitive_jvps",
    "primitive_linearizations",
    "fancy_transposes",
    "deflinear2",
)

# Partial evaluation and dead code.
(
    dce_rules,
    dce_jaxpr,
    has_effects,
    trace_to_jaxpr_dynamic,
    custom_partial_eval_rules,
    partial_eval_jaxpr_custom_rules,
    partial_eval_jaxpr_nounits,
    closed_call_partial_eval_custom_rule,
    convert_constvars_jaxpr,
    make_jaxpr_effects,
    jaxpr_forwarding,
    prune_closed_jaxpr_outputs,
    JaxprTracer,
    PartialVal,
    new_eqn_recipe,
) = _require(
    _PE,
    "dce_rules",
    "dce_jaxpr",
    "has_effects",
    "trace_to_jaxpr_dynamic",
    "custom_partial_eval_rules",
    "partial_eval_jaxpr_custom_rules",
    "partial_eval_jaxpr_nounits",
    "closed_call_partial_eval_custom_rule",
    "convert_constvars_jaxpr",
    "make_jaxpr_effects",
    "_jaxpr_forwarding",
    "prune_closed_jaxpr_outputs",
    "JaxprTracer",
    "PartialVal",
    "new_eqn_recipe",
)

# Batching.
batch_jaxpr, fancy_primitive_batchers, primitive_batchers, defvectorized = _require(
    _BATCHING,
    "batch_jaxpr2",
    "fancy_primitive_batchers",
    "primitive_batchers",
    "defvectorized",
)

# Lowering.
(
    LoweringParameters,
    TokenSet,
    aval_to_ir_type,
    ir_constant,
    core_call_lowering,
    jaxpr_subcomp,
    lower_fun,
    lower_jaxpr_to_fun,
    register_lowering,
    make_ir_context,
) = _require(
    _MLIR,
    "LoweringParameters",
    "TokenSet",
    "aval_to_ir_type",
    "_ir_constant",
    "core_call_lowering",
    "jaxpr_subcomp",
    "lower_fun",
    "lower_jaxpr_to_fun",
    "register_lowering",
    "make_ir_context",
)
ir = importlib.import_module("jax.extend.mlir.ir")
mpmd = importlib.import_module("jax.extend.mlir.dialects.mpmd")
func = importlib.import_module("jax.extend.mlir.dialects.func")
current_source_info, register_exclusion = _require(
    "jax.extend.source_info_util", "current", "register_exclusion"
)

# Checks of values.
error_checks, checked_jaxpr = _require(
    "jax._src.checkify", "error_checks", "jaxpr_to_checkify_jaxpr"
)

# Stages.
StageLowering = _require("jax._src.stages", "Lowering")[0]
Format = _require("jax.experimental.layout", "Format")[0]

# Locations and error messages point at the user's code, not at this package.
register_exclusion(os.path.dirname(os.path.abspath(__file__)))


def transfer_guard(direction: str) -> str:
    """What `jax.transfer_guard` says about implicit transfers.

    Args:
      direction: `host_to_device` or `device_to_device`.

    Returns:
      `allow`, `log` or `disallow`.
    """
    level = getattr(_guards.thread_local_state(), direction)
    if level is None:
        level = getattr(_guards.global_state(), direction)
    return "allow" if level is None else level.name.lower().removesuffix("_explicit")


def current_trace() -> Any:
    """The trace that primitives are being applied in."""
    return _trace_state.trace


def settings() -> Any:
    """All settings of JAX that apply now, also those that its own traces ignore."""
    return trace_context(), tuple(state.value for state in _settings.values())


def is_staged() -> bool:
    """Whether what is applied now is recorded, rather than done at once."""
    trace = current_trace()
    while isinstance(trace, (JVPTrace, LinearizeTrace, BatchTrace)):
        trace = trace.parent_trace
    return not isinstance(trace, EvalTrace)


def is_transforming() -> bool:
    """Whether the code that runs now is inside a JAX transformation."""
    return not isinstance(current_trace(), EvalTrace)


def captured(traced: Any) -> list[Any]:
    """Values that a traced function closes over."""
    return [*traced.jaxpr.consts, *traced._consts]


def outermost_trace() -> Any:
    """The trace that records the whole program, seen from inside it."""
    trace = found = current_trace()
    while trace is not None and not isinstance(trace, EvalTrace):
        found, trace = trace, getattr(trace, "parent_trace", None)
    return found


_snapshots: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()


def snapshot(value: Any) -> Any:
    """A NumPy array as it is now; JAX keeps a reference and would see it change.

    The same array with the same contents gives the same copy, so that a program
    that reads it in many places holds it once.
    """
    if type(value) not in (np.ndarray, TypedNdArray):
        return value
    kind, aval = type(value), getattr(value, "aval", None)
    where = value.__array_interface__["data"][0]
    key = kind, where, value.shape, value.strides, value.dtype, aval
    copy = _snapshots.get(key)
    if copy is None or copy.tobytes() != value.tobytes():
        copy = np.array(value)
        if isinstance(value, TypedNdArray):
            copy = TypedNdArray(copy, aval)
        _snapshots[key] = copy
    return copy


def trace_body(
    name: Callable[..., Any],
    body: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Any, list[Any], Any]:
    """Traces a function, always anew.

    Args:
      name: the function to name in messages and locations.
      body: the function to trace, an object made for this call; its arguments
        are pytrees of arrays.
      args: positional arguments, possibly tracers of an enclosing trace.
      kwargs: keyword arguments.

    Returns:
      The closed jaxpr, the values that it captured from enclosing traces, and the
      tree of the result. The jaxpr takes the captured values first.
    """
    functools.update_wrapper(body, name, updated=())
    traced = jax.jit(body).trace(*args, **kwargs)
    consts, captured = traced.jaxpr.consts, traced._consts
    jaxpr = _with_own_literals(traced.jaxpr.jaxpr)
    if any(isinstance(const, jax.Ref) for const in consts):
        # Written to from here, so an operand rather than a constant.
        jaxpr = convert_constvars_jaxpr(jaxpr)
        consts, captured = (), [*consts, *captured]
    closed = ClosedJaxpr(jaxpr, list(map(snapshot, consts)))
    return closed, list(map(snapshot, captured)), traced.out_tree


def _with_own_literals(jaxpr: Any) -> Any:
    """A jaxpr whose literals are no arrays of the user's."""

    def own(atom: Any) -> Any:
        if isinstance(atom, Literal) and isinstance(atom.val, np.ndarray):
            return Literal(snapshot(atom.val), atom.aval)
        return atom

    eqns = [eqn.replace(invars=list(map(own, eqn.invars))) for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=eqns, outvars=list(map(own, jaxpr.outvars)))


def traced_parts(traced: Any) -> tuple[Any, ...]:
    """Constructor arguments of a `jax.stages.Traced`, to make a subclass of it."""
    return (
        traced._meta_tys_flat,
        traced._params,
        traced._in_tree,
        traced.out_tree,
        traced._consts,
    )


def plain_lower(
    traced: Any,
    rules: Sequence[tuple[Any, Callable[..., Any]]],
    platform: str,
    jaxpr: Any,
) -> Any:
    """`lower_with_rules` for a subclass of `jax.stages.Traced`, with its own jaxpr."""
    avals, params, *rest = traced_parts(traced)
    plain = jax.stages.Traced(avals, {**params, "jaxpr": jaxpr}, *rest)
    return lower_with_rules(plain, rules, platform)


def lower_with_rules(
    traced: Any, rules: Sequence[tuple[Any, Callable[..., Any]]], platform: str
) -> Any:
    """Lowers a traced function, giving precedence to `rules`.

    Args:
      traced: what `jax.jit(f).trace(...)` returned.
      rules: pairs of a primitive and its lowering rule.
      platform: the platform to lower for, e.g. "cpu".

    Returns:
      The `jax.stages.Lowered`. Plain `jax.jit` is not affected by `rules`.
    """
    parameters = LoweringParameters(override_lowering_rules=tuple(rules))
    return traced.lower(lowering_platforms=(platform,), _private_parameters=parameters)


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


def wrap_key(data: Any, dtype: Any) -> Any:
    """Key data as an array of the typed keys of `dtype`."""
    return jax.random.wrap_key_data(data, impl=dtype._impl.name)


def make_weak(array: Any) -> None:
    """Gives a new array the weak type that the result of a jitted function has."""
    array.aval = array.aval.update(weak_type=True)


def host_callbacks(lowered: Any) -> list[Any]:
    """Python callbacks that the lowered module refers to."""
    return list(lowered._lowering.compile_args.get("host_callbacks") or ())


def module_text(module: Any) -> str:
    """The text of an MLIR module, given as its operation, with locations."""
    return module.get_asm(enable_debug_info=True, use_local_scope=False)


def parse_module(text: str) -> Any:
    """Parses a module in a context that knows mpmd, sdy and StableHLO."""
    with make_ir_context(), ir.Location.unknown():
        return ir.Module.parse(text)


def transpose_count(name_stack: Any) -> int:
    """How often what has this name stack was transposed."""
    return sum(
        isinstance(entry, _Transform) and entry.name == "transpose"
        for entry in name_stack.stack
    )


def shard_aval(aval: Any) -> Any:
    """The sharding that is part of an abstract value's type, or None."""
    return getattr(aval, "sharding", None)
