# SPDX-License-Identifier: Apache-2.0
"""One program over several processes."""
