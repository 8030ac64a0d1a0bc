# SPDX-License-Identifier: Apache-2.0
"""What a run did: its times, memory and traffic."""
