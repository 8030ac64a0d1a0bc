# SPDX-License-Identifier: Apache-2.0
"""Every name of JAX that Meshwright uses and that JAX does not promise to keep.

The rule: what is not in JAX's documented interface is named in this table, and
nowhere else. It is looked up here, once, when the package is imported: a JAX that
lacks a name, or takes other arguments, ends the import with one sentence that says
which, instead of failing somewhere inside a trace or a training step.

A place in the table is a list of modules or classes; the first that has the name
counts, the more public ones come first. But for `jax.extend`, which promises no more
than `jax._src` and imports Pallas, a tenth of what this package takes: it is looked
into where the other one has moved. Where releases differ (docs/jax-versions.md),
`differences` looks at what it finds, never at a version number, so that a newer
release works as long as it keeps to a shape known here.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import warnings
from typing import Any

import jax

from . import coordination

OLDEST = (0, 10, 0)
# The newest release that tests were run on.
NEWEST_TRIED = "0.12.0.1"

_AD = "jax.interpreters.ad jax._src.interpreters.ad"
_BATCHING = "jax.interpreters.batching jax._src.interpreters.batching"
_CORE = "jax._src.core jax.extend.core"
_LOWERING = "jax.interpreters.mlir jax._src.interpreters.mlir"
_PE = "jax.interpreters.partial_eval jax._src.interpreters.partial_eval"
_SOURCES = "jax._src.source_info_util jax.extend.source_info_util"
_LOOPS = "jax._src.lax.control_flow jax.extend.core.primitives"
_CUSTOM = "jax._src.custom_derivatives jax.extend.core.primitives"

_NAMES = (
    # Programs with a body.
    (_CORE, "ClosedJaxpr DropVar Jaxpr Literal Primitive Var"),
    ("jax.core jax._src.core", "eval_jaxpr"),
    ("jax._src.core", "eqn_effects jaxpr_const_args"),
    ("jax.ref jax._src.state.types", "AbstractRef"),
    ("jax._src.state.discharge", "discharge_state register_discharge_rule"),
    (_SOURCES, "NameStack Transform current register_exclusion summarize"),
    ("jax._src.effects", "ordered_effects"),
    ("jax._src.linear_util", "wrap_init"),
    ("jax._src.util", "weakref_lru_cache"),
    # Shardings and settings inside programs.
    ("jax._src.dispatch jax.extend.core.primitives", "device_put_p"),
    ("jax._src.pjit jax.extend.core.primitives", "jit_p sharding_constraint_p"),
    ("jax._src.core jax.extend.core.primitives", "closed_call_p"),
    (_CUSTOM, "custom_jvp_call_p custom_vjp_call_p"),
    ("jax._src.ad_checkpoint jax.extend.core.primitives", "remat_p"),
    (_LOOPS, "cond_p scan_p while_p"),
    ("jax._src.sharding_impls", "UNSPECIFIED"),
    ("jax._src.mesh", "empty_abstract_mesh"),
    ("jax._src.core", "mem_kind_to_space"),
    ("jax._src.config", "config_states explicit_device_put_scope trace_context"),
    ("jax._src.lib._jax", "guard_lib"),
    ("jax._src.core", "EvalTrace trace_ctx"),
    (_AD, "JVPTrace LinearizeTrace"),
    (_BATCHING, "BatchTrace"),
    ("jax._src.literals", "TypedNdArray"),
    # Differentiation.
    (_AD, "Zero deflinear2 fancy_transposes jvp_jaxpr linearize_jaxpr"),
    (_AD, "primitive_jvps primitive_linearizations"),
    (_AD, "ValAccum backward_pass3 project_accums unproject_accums"),
    # Partial evaluation and dead code.
    (_PE, "custom_partial_eval_rules dce_jaxpr dce_rules has_effects"),
    (_PE, "JaxprTracer PartialVal new_eqn_recipe partial_eval_jaxpr_custom_rules"),
    (_PE, "closed_call_partial_eval_custom_rule convert_constvars_jaxpr"),
    (_PE, "make_jaxpr_effects partial_eval_jaxpr_nounits prune_closed_jaxpr_outputs"),
    (_PE, "lower_jaxpr2 trace_to_jaxpr_dynamic"),
    # Batching.
    (_BATCHING, "batch_jaxpr2 broadcast_batcher defvectorized"),
    (_BATCHING, "fancy_primitive_batchers primitive_batchers vectorized_batcher"),
    # Lowering.
    (_LOWERING, "LoweringParameters TokenSet _ir_constant aval_to_ir_type"),
    (_LOWERING, "core_call_lowering jaxpr_subcomp lower_fun lower_jaxpr_to_fun"),
    (_LOWERING, "lower_with_sharding_in_types make_ir_context register_lowering"),
    ("jax._src.lib.mlir jax.extend.mlir", "ir"),
    ("jax._src.lib.mlir.dialects jax.extend.mlir.dialects", "func mpmd sdy"),
    # Checks of values.
    ("jax._src.checkify", "error_checks jaxpr_to_checkify_jaxpr"),
    ("jax._src.api", "clean_up"),
    # Running programs.
    ("jax._src.compiler jax.extend.backend", "get_compile_options"),
    ("jax._src.array", "ArrayImpl"),
    ("jax._src.compiler", "backend_compile_and_load compile_or_get_cached"),
    ("jax.core jax._src.core", "ShapedArray"),
    ("jax._src.core", "update_aval_with_sharding"),
    ("jax._src.dispatch", "runtime_tokens"),
    ("jax._src.lib._jax", "ArrayCopySemantics DeviceList array_result_handler"),
    ("jax._src.lib._jax", "batched_copy_array_to_devices_with_sharding"),
    ("jax._src.lib.xla_client", "HloSharding OpSharding"),
    ("jax._src.op_shardings", "are_hlo_shardings_equal"),
    # Several processes.
    ("jax._src.clusters", "ClusterEnv"),
    ("jax._src.distributed", "global_state"),
    ("jax._src.lib", "_jax"),
    (coordination.MODULE, "get_distributed_runtime_service"),
    ("jax._src.xla_bridge", "backends_are_initialized"),
    ("jax.experimental.transfer", "start_transfer_server"),
)

# Absent from some of the releases; None there.
_OPTIONAL = (
    ("jax._src.core", "positional_effects"),
    ("jax._src.state.discharge", "discharge_state2"),
    ("jax._src.state.discharge", "DischargeContext"),
    ("jax._src.checkify", "CheckifyContext"),
)

# What objects have that are made elsewhere.
_ATTRIBUTES = (
    ("jax._src.array.ArrayImpl", "_arrays _pjrt_layout"),
    ("jax._src.clusters.ClusterEnv", "_cluster_types opt_in_only_method"),
    ("jax._src.stages.ArgInfo", "_aval"),
    ("jax._src.stages.Lowered", "_lowering"),
    ("jax._src.stages.Lowering", "compile_args const_args"),
    ("jax._src.stages.Traced", "_consts _lojax _params lojax"),
    ("jax.experimental.layout.Layout", "from_pjrt_layout"),
    ("jax.sharding.NamedSharding", "_to_xla_hlo_sharding"),
    ("jax.tree_util.PyTreeDef", "from_node_data_and_children"),
)

# How functions are called: number of arguments, then keywords.
_CALLS = {
    "backward_pass3": (5, ""),
    "batch_jaxpr2": (3, ""),
    "closed_call_partial_eval_custom_rule": (6, ""),
    "convert_constvars_jaxpr": (1, ""),
    "dce_jaxpr": (2, ""),
    "has_effects": (1, ""),
    "jvp_jaxpr": (2, "instantiate"),
    "linearize_jaxpr": (2, "is_vjp"),
    "lower_with_sharding_in_types": (3, ""),
    "lower_jaxpr2": (1, ""),
    "make_jaxpr_effects": (4, ""),
    "new_eqn_recipe": (7, ""),
    "partial_eval_jaxpr_nounits": (2, "instantiate"),
    "prune_closed_jaxpr_outputs": (2, ""),
    "trace_to_jaxpr_dynamic": (2, ""),
    "compile_or_get_cached": (6, ""),
}


def _find(place: str) -> Any:
    """A module, or what a module or class has."""
    owner, _, name = place.rpartition(".")
    if owner:
        # Most names are no modules, for which Python would look on the disk.
        with contextlib.suppress(AttributeError):
            return getattr(_find(owner), name)
    return importlib.import_module(place)


def _look_up(places: str, name: str) -> Any:
    """A name in the first of some places; raises AttributeError if in none."""
    for place in places.split():
        try:
            with warnings.catch_warnings():
                # Deprecated there, so soon gone from there: the next one has it.
                warnings.simplefilter("error", DeprecationWarning)
                return _find(f"{place}.{name}")
        except (ImportError, AttributeError, DeprecationWarning):
            continue
    raise AttributeError(name)


def _takes(function: Any, count: int, keywords: str) -> bool:
    """Whether a function can be called so; True if it does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count), **dict.fromkeys(keywords.split()))
    except TypeError:
        return False
    return True


def load(
    names: Any = _NAMES, attributes: Any = _ATTRIBUTES, calls: Any = _CALLS
) -> dict[str, Any]:
    """Looks up the table.

    Returns:
      The objects by name.

    Raises:
      ImportError: JAX is too old, or not as the table has it; the message is one
        sentence that says what is needed, or what is missing.
    """
    version = jax.__version__
    if jax.__version_info__ < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"meshwright needs jax {oldest} or newer, found {version}; upgrade it: "
            "pip install --upgrade jax jaxlib"
        )
    found: dict[str, Any] = {}
    missing = []
    for places, group in names:
        for name in group.split():
            try:
                found[name] = _look_up(places, name)
            except AttributeError:
                missing.append(f"{places.split()[-1]}.{name}")
    for place, group in attributes:
        try:
            owner = _find(place)
        except (ImportError, AttributeError):
            missing.append(place)
            continue
        known = {n for c in owner.__mro__ for n in getattr(c, "__annotations__", ())}
        missing += [
            f"{place}.{name}"
            for name in group.split()
            if not hasattr(owner, name) and name not in known
        ]
    missing += [
        f"{name} with the arguments that it had"
        for name, call in calls.items()
        if name in found and not _takes(found[name], *call)
    ]
    if missing:
        raise ImportError(
            f"meshwright uses {', '.join(missing)}, which jax {version} does not "
            f"have; install one that it was tried with, jax 0.10 to {NEWEST_TRIED}, "
            "or a newer meshwright"
        )
    for place, name in _OPTIONAL:
        found[name] = getattr(_find(place), name, None)
    return found


FOUND = load()
