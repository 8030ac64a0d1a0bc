"""What jaxlibs answer otherwise than others, where the tests compare with them."""

import re

import jax
import ml_dtypes
import numpy as np

IS_LATER = jax.__version_info__ >= (0, 11)


def is_settled(op: str, *points: np.ndarray) -> np.ndarray:
    """Where jaxlib's answer to a function is that of the newest release.

    In 0.10 the digamma function is NaN at 0, not -inf, and the arc sine of the
    smallest normal numbers is 0.
    """
    last = points[-1]
    if IS_LATER:
        return np.ones(last.shape, bool)
    if op == "digamma":
        return last != 0
    if op == "polygamma":
        return (points[0] != 0) | (last != 0)
    if op == "asin":
        return np.abs(last) != ml_dtypes.finfo(last.dtype).tiny
    return np.ones(last.shape, bool)


def has_another_form(text: str) -> bool:
    """Whether an op of a text got an attribute in a later release than this one.

    Then bytecode that is written here, in the form of the newest, is none for it.
    """
    version = jax.__version_info__
    return (version < (0, 11) and "chlo.top_k" in text) or (
        version < (0, 11, 2) and "stablehlo.collective_broadcast" in text
    )


def without_defaults(text: str) -> str:
    """A generic text without the defaults that later jaxlibs print."""
    return text.replace(", reduction_op = 0 : i32}>", "}>") if IS_LATER else text


def is_refused(text: str) -> bool:
    """Whether only later jaxlibs refuse a text: scales that are below zero."""
    return (
        IS_LATER and re.search(r"dense<[^>]*-[^>]*> : \S*f8E8M0FNU", text) is not None
    )


def without_empty_shardings(text: str) -> str:
    """A program without annotations that name no axis, with later jaxlibs.

    There a constraint on an argument with such an annotation becomes the argument's
    own; before, and here, only for an argument without one.
    """
    empty = r" \{sdy\.sharding = #sdy\.sharding<@\w+, \[(?:\{\?\}(?:, )?)*\]>\}"
    return re.sub(empty, "", text) if IS_LATER else text
