# SPDX-License-Identifier: Apache-2.0
"""From the modules of fragments to executables on devices."""
