# SPDX-License-Identifier: Apache-2.0
"""`mw.jit`: from a Python function to a lowered one."""
