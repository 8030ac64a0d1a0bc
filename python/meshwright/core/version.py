# SPDX-License-Identifier: Apache-2.0
"""The version of the package; pyproject.toml reads it here."""

__version__ = "0.7.0"
