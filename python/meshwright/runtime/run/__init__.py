# SPDX-License-Identifier: Apache-2.0
"""Issues the steps of a loaded program."""
