# SPDX-License-Identifier: Apache-2.0
"""What may be said to `jit` in several ways, and what may not be said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.config import Config

_PLACES = "the topology of the config says where a program runs"
# Options of `jax.jit` that cannot mean anything here.
_REFUSED = {
    "device": _PLACES,
    "backend": _PLACES,
    "inline": "meshwright.jit is applied last and is inlined nowhere",
    "abstracted_axes": "meshes split arrays of known sizes",
}


def refuse_options(options: Iterable[str]) -> None:
    """Raises TypeError for options that `jit` does not take."""
    for option in options:
        why = _REFUSED.get(option, "jax.jit has no such option either")
        raise TypeError(f"meshwright.jit: no option {option!r}: {why}")


def with_config(
    func: Any, mpmd_config: Config | None, config: Config | None
) -> tuple[Callable[..., Any] | None, Config]:
    """Function and config of `jit`, from the places where they may be given."""
    if isinstance(func, Config) and mpmd_config is None:
        func, mpmd_config = None, func
    if mpmd_config is not None and config is not None:
        raise TypeError(
            "meshwright.jit: got both mpmd_config and config; give the config once"
        )
    found = config if mpmd_config is None else mpmd_config
    if found is None:
        raise TypeError(
            "meshwright.jit: needs a config beside the function, what "
            "meshwright.make_config returned: mw.jit(f, config), @mw.jit(config=config)"
        )
    return func, found
