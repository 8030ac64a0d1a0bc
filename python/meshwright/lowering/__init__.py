# SPDX-License-Identifier: Apache-2.0
"""From a traced function to a partitioned program."""
