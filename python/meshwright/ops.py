# SPDX-License-Identifier: Apache-2.0
"""Annotations that tell the compiler what may run where."""

from .tracing.ops import broadcast as broadcast
from .tracing.ops import call as call
from .tracing.ops import enumerated_for as enumerated_for
from .tracing.ops import fori_loop as fori_loop
from .tracing.ops import named_computation as named_computation
from .tracing.ops import named_tensor as named_tensor
from .tracing.ops import reduce as reduce
