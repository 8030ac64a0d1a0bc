# SPDX-License-Identifier: Apache-2.0
"""Marks inside of a model by the paths of its modules, whose source stays as it is.

A module whose path is given gets a class of its own, a subclass that puts a mark on
what it is called with. A class goes where its module goes: through `nnx.split` and
`nnx.merge`, `jax.checkpoint`, gradients and optimizers. Flax Linen makes its modules
while the model is called; there an interceptor of calls puts the marks.
"""

from __future__ import annotations

import difflib
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import jax

from ..core.names import check_type
from ..tracing import static_leaves
from ..tracing.nnx_state import is_stateful
from .marks import check_tower_name, stage_boundary

T = TypeVar("T")

_WHAT = "marked"
_SEPARATOR = "/"
# Which marks are put where Linen modules are called. JAX caches what it traces by it.
_linen_marks = jax.make_user_context(default_value=None)


def marked(model: T, paths: Sequence[str] | Mapping[str, str]) -> T:
    """Puts a `stage_boundary` before modules of a model, by their paths.

    The mark is on the first argument with arrays that the module is called with. A
    module that is called several times has a mark each time.

    Args:
      model: a module of Flax NNX, Flax Linen, Equinox or Keras.
      paths: attributes, names, keys and indices that lead from the model to a module,
        such as `"decoder/layers_2"` or `"layers/2"`. The first stage needs none. Or a
        dict from paths to towers, for stages that are a graph (`stage_boundary`): each
        module then begins a stage of its tower, also the first one, and the mark is on
        all arguments with arrays.

    Returns:
      A model with the marks, of the same parameters at the same paths: an NNX module
      that shares its variables with `model`, an Equinox module with the same leaves,
      or a Linen module. Keras layers cannot be shared by two models: their classes are
      changed, and the result is `model` itself. Go on with the result.

    Raises:
      TypeError: `model` is no such module, `paths` are no texts, or a path
        leads to something that is not called.
      ValueError: a path is unknown or given twice; the text lists those near it. Paths
        of a Linen module are known when it is called.

    Example: the second stage begins at the second layer.

      >>> from flax import nnx
      >>> layers = nnx.List([nnx.Linear(2, 2, rngs=nnx.Rngs(i)) for i in range(2)])
      >>> model = marked(nnx.Sequential(*layers), ["layers/1"])
      >>> model(jnp.ones((1, 2))).shape
      (1, 2)
    """
    wanted = _check_paths(paths)
    for module, base, mark in (
        ("flax.nnx", "Module", _mark_nnx),
        ("flax.linen", "Module", _mark_linen),
        ("equinox", "Module", _mark_equinox),
        ("keras", "Layer", _mark_keras),
    ):
        library = sys.modules.get(module)
        if library is not None and isinstance(model, getattr(library, base)):
            return mark(model, wanted, library)
    raise TypeError(
        f"{_WHAT}: expected a module of Flax NNX, Flax Linen, Equinox or Keras, got "
        f"{type(model).__name__}; in a function, call stage_boundary where a stage ends"
    )


def _check_paths(paths: Any) -> dict[str, str | None]:
    """The tower of each path, if it has one."""
    if isinstance(paths, Mapping):
        towers = dict(paths)
        for path, tower in towers.items():
            check_tower_name(f"{_WHAT}: {path!r}", tower)
        paths = list(towers)
    elif isinstance(paths, str) or not isinstance(paths, Sequence):
        raise TypeError(
            f"{_WHAT}: paths must be a list of texts in the order of the stages, or a "
            f"dict from these to towers, got {paths!r} of type {type(paths).__name__}"
        )
    else:
        towers = {}
    for index, path in enumerate(paths):
        check_type(f"{_WHAT}: paths[{index}] must be a text", path, str)
        if path in paths[:index]:
            raise ValueError(f"{_WHAT}: path {path!r} is given twice")
    return {path: towers.get(path) for path in paths}


def _unknown(path: str, known: Iterable[str]) -> ValueError:
    names = list(known)
    near = difflib.get_close_matches(path, names, n=3) or names[:3]
    listed = ", ".join(map(repr, near)) or "none"
    return ValueError(f"{_WHAT}: unknown path {path!r}; near it are {listed}")


def _with_mark(
    where: str, args: Any, kwargs: Any, tower: str | None
) -> tuple[Any, Any]:
    """Arguments of a call after a mark: the first of them that has arrays, or all."""
    given = {**dict(enumerate(args)), **kwargs}
    wanted = [key for key, arg in given.items() if _has_arrays(arg)]
    if not wanted:
        raise TypeError(
            f"{_WHAT}: {where} is called without an array, and a mark needs one; give "
            "the path of a module that is called with activations"
        )
    marked = wanted if tower is not None else wanted[:1]
    passed = stage_boundary([given[key] for key in marked], tower)
    given |= dict(zip(marked, passed, strict=True))
    return tuple(given[at] for at in range(len(args))), {k: given[k] for k in kwargs}


def _has_arrays(arg: Any) -> bool:
    return not is_stateful(arg) and any(
        map(static_leaves.is_array, jax.tree.leaves(arg))
    )


@functools.cache
def _marked_class(kind: type, method: str, tower: str | None) -> type:
    """A subclass whose calls are marked; of two equal ones JAX makes one trace."""
    call = getattr(kind, method)

    @functools.wraps(call)
    def marked_call(self, *args, **kwargs):
        args, kwargs = _with_mark(kind.__name__, args, kwargs, tower)
        return call(self, *args, **kwargs)

    return _subclass(kind, **{method: marked_call, "_mpmd_is_marked": True})


def _subclass(kind: type, **body: Any) -> type:
    # What is saved, printed or named after a class, goes by that of the user.
    names = ("__module__", "__qualname__", "__doc__")
    body |= {name: getattr(kind, name) for name in names}
    return types.new_class(kind.__name__, (kind,), {}, lambda ns: ns.update(body))


def _copy_as(kind: type, module: Any) -> Any:
    """A module of a class with the attributes of another one."""
    copy = object.__new__(kind)
    for name, value in vars(module).items():
        object.__setattr__(copy, name, value)
    return copy


def _class_for(
    path: str, module: Any, base: type, method: str, tower: str | None
) -> type:
    kind = type(module)
    if not isinstance(module, base) or not callable(module):
        raise TypeError(
            f"{_WHAT}: {path} is of type {kind.__name__}, which is not called; give "
            "the path of a module that is called with activations"
        )
    is_marked = hasattr(kind, "_mpmd_is_marked")
    return kind if is_marked else _marked_class(kind, method, tower)


def _parts(value: Any) -> Mapping[str, Any]:
    """What a step of a path may lead to."""
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {str(index): part for index, part in enumerate(value)}
    found = {
        name: part
        for name, part in getattr(value, "__dict__", {}).items()
        if not name.startswith("_")
    }
    # Keras knows the layers of a model by their names.
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(value, keras.Model):
        found |= {layer.name: layer for layer in value.layers}
    return found


def _find(model: Any, path: str, base: type) -> Any:
    value = model
    for step in path.split(_SEPARATOR):
        parts = _parts(value)
        if step not in parts:
            raise _unknown(path, _paths(model, base))
        value = parts[step]
    return value


def _paths(model: Any, base: type) -> Iterator[str]:
    """The paths of all modules in a model."""
    seen = {id(model)}
    stack = [((), model)]
    while stack:
        path, value = stack.pop()
        if path and isinstance(value, base):
            yield _SEPARATOR.join(path)
        for step, part in reversed(_parts(value).items()):
            holds_more = isinstance(part, (base, Mapping, list, tuple))
            if holds_more and id(part) not in seen:
                seen.add(id(part))
                stack.append(((*path, step), part))


def _mark_nnx(model: Any, paths: Mapping[str, str | None], nnx: Any) -> Any:
    result = nnx.clone(model, variables=False, graph=True)
    for path, tower in paths.items():
        module = _find(result, path, nnx.Pytree)
        kind = _class_for(path, module, nnx.Pytree, "__call__", tower)
        object.__setattr__(module, "__class__", kind)
    return result


def _mark_equinox(model: Any, paths: Mapping[str, str | None], eqx: Any) -> Any:
    def replaced(path: str, module: Any) -> Any:
        kind = _class_for(path, module, eqx.Module, "__call__", paths[path])
        return _copy_as(kind, module)

    for path in paths:
        model = eqx.tree_at(
            lambda tree, path=path: _find(tree, path, eqx.Module),
            model,
            replace_fn=functools.partial(replaced, path),
        )
    return model


def _mark_keras(model: Any, paths: Mapping[str, str | None], keras: Any) -> Any:
    layers = [_find(model, path, keras.Layer) for path in paths]
    kinds = [
        _class_for(path, layer, keras.Layer, "call", tower)
        for (path, tower), layer in zip(paths.items(), layers, strict=True)
    ]
    for layer, kind in zip(layers, kinds, strict=True):
        object.__setattr__(layer, "__class__", kind)
    return model


class _LinenMarks:
    """The marks of one Linen model, and which of its modules were called so far."""

    def __init__(self, paths: Mapping[str, str | None]):
        self._paths = paths
        self._called: dict[str, None] = {}

    def call(self, root: Any, function: Callable[..., Any]) -> Any:
        """Runs a function in which calls of marked modules below a root are marked."""
        linen = sys.modules["flax.linen"]
        depth = len(root.path) if root.scope is not None else 0

        def intercept(call, args, kwargs, context):
            if context.method_name == "__call__":
                path = _SEPARATOR.join(context.module.path[depth:])
                self._called[path] = None
                if path in self._paths:
                    tower = self._paths[path]
                    args, kwargs = _with_mark(path, args, kwargs, tower)
            return call(*args, **kwargs)

        if _linen_marks.value is self:  # Of a model that calls itself.
            return function()
        with _linen_marks(self), linen.intercept_methods(intercept):
            return function()

    def check(self, root: Any) -> None:
        for path in self._paths:
            if path in self._called:
                continue
            if _has_variables(root.variables, path):
                raise ValueError(
                    f"{_WHAT}: {path!r} is not called, or it shares a trace with other "
                    "modules of its class, which is wrapped in flax.linen.jit; name a "
                    "module that is called, or wrap the class where each is made"
                )
            raise _unknown(path, filter(None, self._called))


def _has_variables(variables: Any, path: str) -> bool:
    """Whether there is a module with variables at a path, in any collection."""

    def step(tree: Any, name: str) -> Any:
        return tree.get(name) if isinstance(tree, Mapping) else None

    names = path.split(_SEPARATOR)
    found = (functools.reduce(step, names, tree) for tree in variables.values())
    return any(isinstance(tree, Mapping) for tree in found)


def _mark_linen(model: Any, paths: Mapping[str, str | None], linen: Any) -> Any:
    kind = type(model)
    before = getattr(kind, "_mpmd_marked_paths", {})
    marks = _LinenMarks({**before, **paths})
    plain = kind.__base__ if before else kind

    @linen.nowrap
    def apply(self, *args, **kwargs):
        return marks.call(self, lambda: plain.apply(self, *args, **kwargs))

    @linen.nowrap
    @functools.wraps(plain.__call__)
    def call(self, *args, **kwargs):
        result = marks.call(self, lambda: plain.__call__(self, *args, **kwargs))
        marks.check(self)
        return result

    body = {"apply": apply, "__call__": call, "_mpmd_marked_paths": marks._paths}
    return _copy_as(_subclass(plain, **body), model)
