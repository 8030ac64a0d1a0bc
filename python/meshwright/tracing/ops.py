# SPDX-License-Identifier: Apache-2.0
"""Annotations that tell the compiler what may run where.

Eager execution and plain `jax.jit` see through all of them: a named tensor is
the tensor, a named computation or a call is the function, a loop is a loop.
Only `meshwright.jit` emits operations of dialect mpmd for them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..core.names import CALLEE_PREFIX, callee_name, check_type, function_name
from ..jaxapi import frontend as compat
from . import primitives, static_leaves, trace_cache
from .arguments import Statics
from .loops import LoopForm
from .nnx_state import is_stateful

T = TypeVar("T")

_RESERVED_PREFIX = "partir."


def _check_computation_name(name: str) -> None:
    check_type("named_computation: name must be a string", name, str)
    if name == "main" or name.startswith(_RESERVED_PREFIX):
        raise ValueError(
            f"named_computation: name {name!r} is reserved ('main', and names that "
            f"start with {_RESERVED_PREFIX!r}); choose another name"
        )


def _check_static(fn: Callable[..., Any], static: frozenset[str]) -> None:
    """Refuses names of what is no parameter of `fn`."""
    parameters = list(inspect.signature(fn).parameters.values())
    unknown = sorted(static - {parameter.name for parameter in parameters})
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if unknown and not takes_any:
        known = ", ".join(parameter.name for parameter in parameters)
        raise ValueError(
            f"named_computation: static_argnames {', '.join(unknown)} are no "
            f"parameters of the function, which has {known or 'none'}"
        )


def _without_static(
    fn: Callable[..., Any], static: Statics, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """Captures the static arguments; gives the rest and who takes them."""
    fixed = {index: args[index] for index in static.positions(len(args))}
    fixed_kwargs = {key: value for key, value in kwargs.items() if key in static.names}

    @functools.wraps(fn)
    def rest(*dynamic, **dynamic_kwargs):
        values = iter(dynamic)
        whole = [
            fixed[index] if index in fixed else next(values)
            for index in range(len(dynamic) + len(fixed))
        ]
        return fn(*whole, **fixed_kwargs, **dynamic_kwargs)

    dynamic = [arg for index, arg in enumerate(args) if index not in fixed]
    others = {key: value for key, value in kwargs.items() if key not in static.names}
    return rest, dynamic, others


def named_computation(
    fn: Callable[..., Any] | None = None,
    *,
    name: str,
    static_argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Names a computation, so that a config can say on which mesh it runs.

    Args:
      fn: the computation, a function of pytrees of arrays. Omit it to use
        `named_computation` as a decorator.
      name: what `make_config` knows the computation by.
      static_argnames: names of parameters whose arguments are Python values
        instead of arrays; given by position or by keyword.

    Returns:
      A callable with the signature of `fn`. Its derivative is a named
      computation of the same name whose transpose count is one higher.

    Raises:
      ValueError: `name` is `main` or starts with `partir.`, or a static name is
        no parameter of `fn`.
      TypeError: `name` is not a string.

    Example:

      >>> double = named_computation(lambda x: 2 * x, name="double")
      >>> int(double(3))
      6
    """
    _check_computation_name(name)
    if fn is None:
        return functools.partial(
            named_computation, name=name, static_argnames=static_argnames
        )
    static = Statics.of(fn, name, None, static_argnames)
    if static:
        _check_static(fn, static.names)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        if not compat.is_staged():
            with jax.named_scope(name):
                return fn(*args, **kwargs)
        body = fn
        if static:
            body, args, kwargs = _without_static(fn, static, args, kwargs)
        traced = trace_cache.trace(body, args, kwargs, scope=name)
        outs = primitives.named_computation_p.bind(
            *traced.operands, jaxpr=traced.jaxpr, name=name, transpose_count=0
        )
        return traced.result(outs)

    return wrapped


def _to_arrays(what: str, primitive: Any, x: T, **params: Any) -> T:
    """Applies a primitive to all arrays of a tree; other leaves stay as they are."""
    if not compat.is_staged():
        return x
    wrapped, tree = static_leaves.flatten(
        x, what, "give the arrays in it, such as layer.kernel[...]"
    )
    arrays = (leaf for leaf in wrapped if not static_leaves.is_static(leaf))
    outs = (primitive.bind(array, **params) for array in arrays)
    return static_leaves.unflatten(tree, wrapped, outs)


def named_tensor(x: T, name: str) -> T:
    """Names a value, so that a config can say on which mesh it lives.

    Only meaningful outside named computations, which live on one mesh anyway.

    Args:
      x: an array, or a pytree of arrays that all get the name.
      name: what `make_config` knows the tensor by.

    Returns:
      `x`. Its cotangent gets the same name.

    Raises:
      TypeError: `name` is not a string.
    """
    check_type("named_tensor: name must be a string", name, str)
    return _to_arrays("named_tensor", primitives.named_tensor_p, x, name=name)


def broadcast(x: T) -> T:
    """Lets a value be copied to every mesh that uses it.

    Args:
      x: an array or a pytree of arrays.

    Returns:
      `x`. The transpose is `reduce`.
    """
    return _to_arrays("broadcast", primitives.broadcast_p, x)


def reduce(x: T) -> T:
    """Marks the outcome of a reduction whose operands may be on many meshes.

    Args:
      x: an array or a pytree of arrays: a tree of additions (or max, min, mul,
        or, and), possibly followed by a chain of unary operations.

    Returns:
      `x`. The transpose is `broadcast`.
    """
    return _to_arrays("reduce", primitives.reduce_p, x)


def call(
    fn: Callable[..., Any], *, call_counter: int | None = None
) -> Callable[..., Any]:
    """Marks one call, e.g. of the step of one microbatch.

    Calls of one function with equal types share one function in the compiled
    program. Schedules tell the calls apart by their counter, which all fragments
    of the call and of its derivative carry.

    Of calls in calls, the outermost counter is that of all their fragments. In
    `jax.lax` loops and branches, and in named computations, there are no calls:
    these run on one mesh as a whole.

    Args:
      fn: a function of pytrees of arrays.
      call_counter: number of the call, from 0.

    Returns:
      A callable with the signature of `fn`.

    Raises:
      ValueError: a `call_counter` that is negative, or has more than 32 bits.

    Example: a loss over two microbatches.

      >>> square = lambda x: x * x
      >>> int(sum(call(square, call_counter=i)(x) for i, x in enumerate([2, 3])))
      13
    """
    if call_counter is not None:
        call_counter = operator.index(call_counter)
        if call_counter < 0:
            raise ValueError(
                f"call: call_counter must not be negative, got {call_counter}"
            )
        if call_counter >= 1 << 32:
            raise ValueError(
                f"call: call_counter must be below 2**32, got {call_counter}; number "
                "the calls 0, 1, 2, ..."
            )
    name = callee_name(fn)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        if not compat.is_staged():
            return fn(*args, **kwargs)
        return apply_call(name, trace_cache.trace(fn, args, kwargs), call_counter)

    return wrapped


def apply_call(name: str, traced: trace_cache.Traced, counter: int | None) -> Any:
    """The result of one call of a traced function, by the name of its callee."""
    outs = primitives.call_p.bind(
        *traced.operands, jaxpr=traced.jaxpr, name=name, call_counter=counter
    )
    return traced.result(outs)


def _kind_of(aval: Any) -> Any:
    """What of a type is the same in all iterations."""
    return aval if aval.is_high else (aval.shape, aval.dtype)


def _check_loop_result(what: str, init_val: Any, jaxpr: Any, tree: Any) -> None:
    leaves, expected = jax.tree.flatten(init_val)
    if tree != expected:
        raise ValueError(
            f"{what}: the body returns a tree of structure {tree}, expected that of "
            f"the initial value, {expected}"
        )
    paths = [path for path, _ in jax.tree.leaves_with_path(init_val)]
    for path, leaf, aval in zip(paths, leaves, jaxpr.out_avals, strict=True):
        initial = jax.typeof(leaf)
        if _kind_of(initial) != _kind_of(aval):
            where = jax.tree_util.keystr(path)
            raise ValueError(
                f"{what}: the body returns {aval.str_short()} for leaf {where or '.'}"
                f" of the value, whose shape and dtype were {initial.str_short()}; "
                "both must be equal in every iteration"
            )


def _loop(
    num_iterations: int,
    body_fun: Callable[..., Any],
    init_val: T,
    *,
    what: str,
    form: LoopForm,
) -> T:
    num_iterations = operator.index(num_iterations)
    if num_iterations < 0:
        raise ValueError(
            f"{what}: num_iterations must not be negative, got {num_iterations}"
        )
    name = f"{CALLEE_PREFIX}_{function_name(body_fun)}"

    @functools.wraps(body_fun)
    def index_last(value, index):
        return body_fun(index, value)

    del index_last.__wrapped__  # Its parameters are the other way around.
    index = jax.ShapeDtypeStruct((), jnp.uint32)
    traced = trace_cache.trace(index_last, (init_val, index), {}, carry=True)
    wrapped = static_leaves.wrap(init_val, static_leaves.is_equinox_module)
    _check_loop_result(what, wrapped, traced.jaxpr, traced.out_tree)
    if num_iterations == 0 or not (traced.jaxpr.out_avals or traced.jaxpr.effects):
        return init_val
    outs = primitives.for_p.bind(
        *traced.operands[:-1],
        jaxpr=traced.jaxpr,
        name=name,
        num_captured=traced.num_captured,
        iterations=num_iterations,
        form=form,
    )
    return traced.result(outs)


def fori_loop(
    num_iterations: int, body_fun: Callable[[jax.Array, T], T], init_val: T
) -> T:
    """A loop that the compiler unrolls into calls with ascending counters.

    Args:
      num_iterations: how often the body runs.
      body_fun: maps (index, value) to the next value; the index is a `uint32`.
      init_val: the first value, a pytree of arrays.

    Returns:
      The last value. A loop can be neither differentiated nor batched, and does
      not nest.

    Raises:
      ValueError: the body's result differs from `init_val` in tree structure or
        in shape or dtype of a leaf, or `num_iterations` is negative.

    Example:

      >>> int(fori_loop(4, lambda i, total: total + i, jnp.uint32(0)))
      6
    """
    return _loop(
        num_iterations, body_fun, init_val, what="fori_loop", form=LoopForm.CALL
    )


def _is_sequence(x: Any) -> bool:
    """A sequence that holds no further containers."""
    if isinstance(x, (str, bytes)) or not isinstance(x, Sequence):
        return False
    return not any(isinstance(element, (list, tuple, dict)) for element in x)


_ELEMENTS = (jax.Array, np.ndarray, np.generic, *static_leaves.NUMBERS)


def _check_sequences(inputs: Any) -> int:
    """The common length of all sequences in the tree `inputs`."""
    sequences = jax.tree.leaves_with_path(inputs, is_leaf=_is_sequence)
    lengths = {}
    for path, sequence in sequences:
        where = "inputs" + jax.tree_util.keystr(path)
        if not _is_sequence(sequence):
            raise ValueError(
                f"enumerated_for: {where} must be a sequence (list or tuple) of "
                f"arrays, got {type(sequence).__name__}"
            )
        for element in sequence:
            if not isinstance(element, _ELEMENTS):
                raise ValueError(
                    f"enumerated_for: the sequence {where} must hold arrays and "
                    f"numbers only, got an element of type {type(element).__name__}"
                )
        lengths[where] = len(sequence)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{where}: {n}" for where, n in lengths.items())
        raise ValueError(
            f"enumerated_for: all sequences must have the same length, got {listed}"
        )
    return next(iter(lengths.values()), 0)


def _stackable(path: Any, sequence: Sequence[Any]) -> list[jax.Array]:
    """The elements of a sequence as arrays of one type."""
    if all(type(x) in static_leaves.NUMBERS for x in sequence):
        # Weakly typed, as numbers are where the calls are written out.
        kind = max(map(type, sequence), key=static_leaves.NUMBERS.index)
        sequence = list(map(kind, sequence))
    elif any(isinstance(x, static_leaves.NUMBERS) for x in sequence):
        dtype = jnp.result_type(*sequence)
        sequence = [jnp.asarray(x, dtype) for x in sequence]
    arrays = [jnp.asarray(x) for x in sequence]
    types = {(x.shape, x.dtype): jax.typeof(x).str_short() for x in arrays}
    if len(types) > 1:
        raise ValueError(
            f"enumerated_for: the elements of inputs{jax.tree_util.keystr(path)} "
            f"differ in shape or dtype ({', '.join(types.values())}); a loop takes "
            "equal ones, use unroll=True for others"
        )
    return arrays


def _element_at(arrays: Sequence[jax.Array], index: jax.Array) -> jax.Array:
    """The array at a traced index: the compiler folds this when it unrolls."""
    shape = arrays[0].shape
    stacked = jax.lax.concatenate([jax.lax.reshape(x, (1, *shape)) for x in arrays], 0)
    starts = (index, *[jnp.uint32(0)] * len(shape))
    return jax.lax.reshape(jax.lax.dynamic_slice(stacked, starts, (1, *shape)), shape)


def _of_jax(args: Any) -> Any:
    """Arguments with arrays of JAX where a trace would have them, too."""
    leaves, tree = jax.tree.flatten(args, is_leaf=is_stateful)
    wrapped = static_leaves.wrap_leaves(leaves, tree)
    numbers = np.ndarray, np.generic, *static_leaves.NUMBERS
    converted = [
        jnp.asarray(leaf)
        if isinstance(leaf, numbers) and not static_leaves.is_static(wrapper)
        else leaf
        for leaf, wrapper in zip(leaves, wrapped, strict=True)
    ]
    return jax.tree.unflatten(tree, converted)


def _written_out(body_fun: Any, carry: Any, inputs: Any, length: int) -> Any:
    """One call per element; the body is traced once for all elements of a type."""
    name = callee_name(body_fun)
    traced, form_before = None, ()
    for index in range(length):
        element = jax.tree.map(
            lambda sequence, at=index: sequence[at], inputs, is_leaf=_is_sequence
        )
        args = carry, jnp.uint32(index), element
        if not compat.is_staged():
            carry = body_fun(*_of_jax(args))
            continue
        # What is no array is a part of the program, and a trace reads the state of
        # those objects that it was made with.
        leaves, tree = jax.tree.flatten(args)
        wrapped = static_leaves.wrap_leaves(leaves, tree)
        static = (leaf.value for leaf in wrapped if static_leaves.is_static(leaf))
        objects = filter(is_stateful, jax.tree.leaves(args, is_leaf=is_stateful))
        form = (tree, *static, *objects)
        is_same = len(form) == len(form_before) and form[0] == form_before[0]
        is_same = is_same and all(map(operator.is_, form[1:], form_before[1:]))
        traced = traced.again(args, {}) if is_same else None
        traced, form_before = traced or trace_cache.trace(body_fun, args, {}), form
        carry = apply_call(name, traced, index)
    return carry


def enumerated_for(
    body_fun: Callable[[T, Any, Any], T],
    initial_carry: T,
    inputs: Any,
    *,
    unroll: bool = False,
) -> T:
    """Runs a body once per element of the inputs, as one call each.

    Args:
      body_fun: maps (carry, index, element) to the next carry. The element is
        `inputs` with every sequence replaced by its array at that index.
      initial_carry: the first carry, a pytree of arrays.
      inputs: a pytree of equally long sequences (lists, tuples, ranges) of arrays
        or numbers.
      unroll: write the calls out here instead of leaving a loop to the compiler.
        Only the unrolled form can be differentiated and batched.

    The body is traced once for all elements of one type.

    Returns:
      The last carry.

    Raises:
      ValueError: a leaf of `inputs` is not a sequence, a sequence holds something
        that is neither an array nor a number, the lengths differ, or the elements
        of a sequence do and `unroll` is not set.

    Example:

      >>> rows = [jnp.float32(1), jnp.float32(2)]
      >>> float(enumerated_for(lambda c, i, x: c + x, jnp.float32(0), rows))
      3.0
    """
    length = _check_sequences(inputs)
    if unroll or length == 0:
        return _written_out(body_fun, initial_carry, inputs, length)

    # A sequence of another kind would be no node of the carry's tree.
    inputs = jax.tree.map_with_path(_stackable, inputs, is_leaf=_is_sequence)

    def _for_i_body(index, value):
        carry, sequences = value
        element = jax.tree.map(
            lambda sequence: _element_at(sequence, index),
            sequences,
            is_leaf=_is_sequence,
        )
        return call(body_fun)(carry, index, element), sequences

    carry, _ = _loop(
        length,
        _for_i_body,
        (initial_carry, inputs),
        what="enumerated_for",
        form=LoopForm.PLAIN_CALL,
    )
    return carry
