# SPDX-License-Identifier: Apache-2.0
"""The options of the compiler. Written by scripts/option_docs.py."""

from __future__ import annotations

# Name to type: bool, int, text, schedule, or pairs of indices.
TYPES = {
    "mpmd_input_output_constraints": "pairs",
    "mpmd_infer_transfers": "bool",
    "mpmd_infer_cross_mesh_reductions": "bool",
    "mpmd_copy_between_memories": "bool",
    "mpmd_max_clones": "int",
    "mpmd_error_limit": "int",
    "mpmd_report_placement": "bool",
    "mpmd_merge_inferred_after_scheduling": "bool",
    "mpmd_absorb_inferred_fragments_on_entry_point_function": "bool",
    "mpmd_split_bwd_fragments": "bool",
    "mpmd_verify_scheduling_units": "bool",
    "mpmd_enable_heterogeneous_meshes": "bool",
    "mpmd_assume_homogeneous_devices": "bool",
    "mpmd_max_inlined_ops": "int",
    "mpmd_pipeline_schedule": "schedule",
    "mpmd_complete_schedule": "bool",
    "mpmd_report_misfits": "bool",
    "mpmd_fragment_remat": "bool",
    "mpmd_merge_remat_fragments": "bool",
    "mpmd_merge_forward_with_backward": "bool",
    "mpmd_retarget_shardings": "bool",
    "mpmd_copy_constant_creation_from_producer_to_consumer": "bool",
    "mpmd_apply_merge_transfers_pass": "bool",
    "mpmd_verbose_logging": "bool",
    "mpmd_ignore_pass_through": "bool",
    "mpmd_fail_on_reshard_only_fragments": "bool",
    "mpmd_fail_on_backward_deps": "bool",
    "mpmd_fail_on_inferred_fragments": "bool",
    "mpmd_fail_on_param_transfers": "bool",
    "mpmd_param_transfer_pattern": "text",
    "mpmd_dump": "text",
    "mpmd_dump_unchanged": "bool",
    "mpmd_time_passes": "bool",
    "mpmd_pass_statistics": "bool",
    "mpmd_reproducer": "text",
    "mpmd_verify_each": "bool",
}
