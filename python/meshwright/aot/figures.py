# SPDX-License-Identifier: Apache-2.0
"""What is known of devices: the entries of the compiler's devices.json."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from ..compiler import native


@functools.cache
def device_figures() -> Mapping[str, Mapping[str, Any]]:
    """By name, such as `h100` or `tpu-v5e`; docs/cost-model.md explains the keys."""
    found = json.loads(native.extension().devices())
    return {name: entry for name, entry in found.items() if not name.startswith("_")}
