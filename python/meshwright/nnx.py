# SPDX-License-Identifier: Apache-2.0
"""`meshwright.jit` for functions of Flax NNX modules.

    import meshwright as mw

    step = mw.nnx.jit(train_step, config)
    loss = step(model, optimizer, batch)  # model and optimizer are updated

The annotations need nothing of this: `named_computation` and `call` carry the
state of modules wherever they find some. Only this module needs Flax.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import jax

from .core.config import Config, PyTree
from .core.tracebacks import at_users_line
from .frontend import jit as _jit
from .frontend.jit_options import with_config
from .programs.stages import Lowered

try:
    from flax import nnx
except ImportError as error:
    raise ImportError(
        "meshwright.nnx is for modules of Flax NNX, and Flax cannot be imported: "
        f"{error}; install flax >= 0.12, or use meshwright.jit"
    ) from error

__all__ = ["NnxWrapped", "jit"]

_CONTEXT = "meshwright.nnx.jit"


def _is_module(value: Any) -> bool:
    return isinstance(value, (nnx.Variable, nnx.Pytree))


class NnxWrapped:
    """A function of NNX modules that runs on the meshes of a topology.

    Attributes:
      pure: the `MpmdWrapped` that it calls, a function of the state of the modules to
        the state afterwards and the result.
    """

    def __init__(self, func: Callable[..., Any], mpmd_config: Config, **options: Any):
        @functools.wraps(func)
        def pure(*state, **arrays):
            args = nnx.from_tree(state, ctxtag=_CONTEXT, is_inner=True)
            result = func(*args, **arrays)
            static = self.pure._statics.positions(len(args))
            # As many as have shardings and meshes: static arguments have none.
            after = jax.tree.map(
                lambda leaf: leaf if _is_module(leaf) else None,
                tuple(arg for at, arg in enumerate(args) if at not in static),
                is_leaf=_is_module,
            )
            return nnx.to_tree((after, result), ctxtag=_CONTEXT)

        functools.update_wrapper(self, func)
        self.pure = _jit.jit(pure, mpmd_config, **options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A decorated method is bound to its object, which is its first argument."""
        return self if instance is None else types.MethodType(self, instance)

    def _check_keywords(self, kwargs: dict[str, Any]) -> None:
        for name, value in kwargs.items():
            if any(map(_is_module, jax.tree.leaves(value, is_leaf=_is_module))):
                raise TypeError(
                    f"{self.pure.name}: pass {name} by position: modules by keyword "
                    "would not be updated"
                )

    @at_users_line
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function; the modules among the arguments are updated.

        Args:
          *args: NNX modules, and pytrees of such and of arrays.
          **kwargs: pytrees of arrays, and static arguments.

        Returns:
          The function's result.

        Raises:
          TypeError: a module by keyword.
        """
        self._check_keywords(kwargs)
        with nnx.update_context(_CONTEXT):
            state = nnx.to_tree(args, ctxtag=_CONTEXT)
            _, result = nnx.from_tree(
                self.pure(*state, **kwargs), ctxtag=_CONTEXT, is_inner=False
            )
        return result

    @at_users_line
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Lowers for arguments like these; their state does not change.

        Args:
          *args: NNX modules, and pytrees of such and of arrays.
          **kwargs: pytrees of arrays, and static arguments.

        Returns:
          The lowered `pure`.
        """
        self._check_keywords(kwargs)
        with nnx.update_context(_CONTEXT):
            state = nnx.to_tree(args, ctxtag=_CONTEXT)
            return self.pure.lower(*state, **kwargs)


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
    override_func_name: str | None = None,
    tie_state: bool = False,
) -> Any:
    """`meshwright.jit` for functions of NNX modules, as `nnx.jit` is for `jax.jit`.

    What the function assigns to the variables of modules that it gets as arguments
    (batch statistics, counters of random streams, what an optimizer updates) is in
    the caller's modules afterwards. Modules that the function closes over are
    constants; Flax raises `TraceContextError` when one is assigned to.

    Args:
      func: a function of modules, which come by position, and pytrees of arrays.
        Left out, `jit` is a decorator.
      mpmd_config: what `make_config` returned. To `input_mesh_assignment` a module
        is one leaf; its state comes back to the mesh that it came from.
      config: the same by another name, `@mw.nnx.jit(config=...)`.
      in_shardings: as for `jax.jit`; a module is one leaf, whose sharding its state
        keeps.
      out_shardings: the same for the result.
      donate_argnums: arguments whose buffers the program may reuse.
      donate_argnames: the same, by name.
      static_argnums: arguments that are Python values.
      static_argnames: the same, by name.
      override_func_name: name to use instead of the function's own.
      tie_state: the state comes back to the meshes that it came from also where
        these were not assigned.

    Returns:
      The wrapped function, with `lower` and `__call__`.

    Raises:
      ImportError: Flax is not installed.

    Example: batch statistics are updated on their mesh.

      >>> import jax, jax.numpy as jnp
      >>> from flax import nnx
      >>> import meshwright as mw
      >>> mesh = jax.sharding.Mesh(jax.devices()[:1], "x")
      >>> config = mw.make_config({"m": mesh}, {"norm": "m"})
      >>> def forward(model, x):
      ...     return mw.named_computation(model, name="norm")(x)
      >>> model = nnx.BatchNorm(1, rngs=nnx.Rngs(0))
      >>> _ = mw.nnx.jit(forward, config)(model, jnp.ones((2, 1)))
      >>> model.mean[...].round(2)
      Array([0.01], dtype=float32)
    """
    func, mpmd_config = with_config(func, mpmd_config, config)
    inputs = mpmd_config.input_mesh_assignment
    outputs = mpmd_config.output_mesh_assignment
    if inputs or outputs:
        mpmd_config = dataclasses.replace(
            mpmd_config, output_mesh_assignment=(inputs or None, outputs or None)
        )
    if isinstance(in_shardings, list):  # As for jax.jit, the tuple of arguments.
        in_shardings = tuple(in_shardings)
    if in_shardings is not None or out_shardings is not None:
        out_shardings = (in_shardings, out_shardings)
    wrap = functools.partial(
        NnxWrapped,
        mpmd_config=mpmd_config,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        override_func_name=override_func_name,
        tie_state=tie_state,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
    )
    return wrap if func is None else wrap(func)
