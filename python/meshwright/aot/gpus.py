# SPDX-License-Identifier: Apache-2.0
"""GPUs as XLA's compiler describes them to itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What all GPUs of the table have in common: CUDA programming guide, compute
# capabilities 8.0 to 10.0.
_COMMON = {
    "threads_per_block_limit": 1024,
    "threads_per_warp": 32,
    "threads_per_core_limit": 2048,
    "shared_memory_per_block": 49152,
    "registers_per_core_limit": 65536,
    "registers_per_block_limit": 65536,
    "block_dim_limit_x": 2**31 - 1,
    "block_dim_limit_y": 65535,
    "block_dim_limit_z": 65535,
}
# Not the name of a field of XLA's.
_OURS = ("kind", "capability")
# The oldest cuDNN that has what XLA would like to use.
_CUDNN = {"major": 9, "minor": 10, "patch": 0}


def target_text(entry: Mapping[str, Any]) -> str:
    """XLA's description of a GPU, as text.

    Args:
      entry: `xla` of a device in devices.json.
    """
    major, minor = entry["capability"].split(".")
    own = {key: value for key, value in entry.items() if key not in _OURS}
    return "\n".join(
        [
            "gpu_device_info {",
            *_fields(_COMMON | own),
            "cuda_compute_capability {",
            *_fields({"major": int(major), "minor": int(minor)}),
            "}",
            "}",
            'platform_name: "CUDA"',
            "dnn_version_info {",
            *_fields(_CUDNN),
            "}",
            f'device_description_str: "{entry["kind"]}"',
        ]
    )


def _fields(values: Mapping[str, Any]) -> list[str]:
    return [f"  {name}: {value}" for name, value in values.items()]
