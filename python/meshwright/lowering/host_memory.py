# SPDX-License-Identifier: Apache-2.0
"""Whether what a config wants on the hosts has a place there."""

from __future__ import annotations

import dataclasses
import logging

from jax.sharding import Mesh

from ..core.config import Config
from ..jaxapi import described

_logger = logging.getLogger(__name__)

_OFFLOAD_OPTION = "mpmd_offload_activations"
_HOST = "pinned_host"


def with_available_offload(config: Config) -> Config:
    """A config that keeps activations on devices whose hosts offer no memory."""
    options = config.partitioning_options or {}
    if not options.get(_OFFLOAD_OPTION):
        return config
    for name, mesh in config.topology.items():
        if not isinstance(mesh, Mesh):
            continue  # Of which devices it will be is not known yet.
        device = mesh.devices.flat[0]
        if _HOST not in described.memory_kinds(device)[1]:
            _logger.warning(
                "%s: devices of mesh %r (%s) cannot reach memory of kind %s; "
                "activations stay on the devices",
                _OFFLOAD_OPTION,
                name,
                device.device_kind,
                _HOST,
            )
            rest = {k: v for k, v in options.items() if k != _OFFLOAD_OPTION}
            return dataclasses.replace(config, partitioning_options=rest)
    return config
