# SPDX-License-Identifier: Apache-2.0
"""How a module comes from JAX's MLIR to the compiler's, which is another one.

Text is what both read, whatever their releases. A large module is handed over as
bytecode, which takes a quarter of the time. The compiler knows the forms of bytecode
that releases of JAX have had so far; a module in one that it does not know, or that is
not valid, is handed over as text. So errors in a module are always found in its text.
"""

from __future__ import annotations

import logging
from typing import Any

from ..compiler import native
from ..core.config import Config
from ..jaxapi import frontend as compat

_logger = logging.getLogger(__name__)

# Bytes of bytecode. The text is nine times as long; at 2 MB it takes 0.2 s, and at
# 150 kB an eighth of the time to lower.
_LARGE = 1 << 14


def read(module: Any, config: Config) -> native.Session:
    """Has the compiler read a module, given as its operation.

    Raises:
      RuntimeError: the module is not valid.
    """
    code = compat.module_bytecode(module)
    if len(code) >= _LARGE:
        try:
            return native.Session(code, config)
        except RuntimeError as error:
            _logger.debug("JAX's bytecode cannot be read, taking the text: %s", error)
    return native.Session(compat.module_text(module), config)
