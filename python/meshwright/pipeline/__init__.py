# SPDX-License-Identifier: Apache-2.0
"""Pipelines: microbatches, the rules of schedules, and where stages live."""

from .accumulate import accumulate as accumulate
from .assignment import stage_assignment as stage_assignment
from .by_path import ByPath as ByPath
from .by_path import by_path as by_path
from .parts import Parts as Parts
from .parts import parts as parts
from .parts import whole as whole
from .rules import FragmentInfo as FragmentInfo
from .rules import FragmentMergeRule as FragmentMergeRule
from .rules import FragmentMergeRules as FragmentMergeRules
from .rules import FragmentOrigin as FragmentOrigin
from .rules import FragmentScheduleRule as FragmentScheduleRule
from .rules import FragmentScheduleRules as FragmentScheduleRules
from .rules import MergePredicate as MergePredicate
from .rules import PipelineContext as PipelineContext
from .rules import PipelineSchedule as PipelineSchedule
from .rules import ScheduleMergeRuleBuilder as ScheduleMergeRuleBuilder
from .rules import SchedulingKey as SchedulingKey
from .rules import SchedulingPredicate as SchedulingPredicate
from .rules import SplitFragmentType as SplitFragmentType
from .rules import TargetInfoBuilder as TargetInfoBuilder
from .rules import build_merge_rules_from_predicate as build_merge_rules_from_predicate
from .rules import build_rules as build_rules
from .rules import build_schedule_rules_from_key as build_schedule_rules_from_key
from .rules import (
    build_schedule_rules_from_predicate as build_schedule_rules_from_predicate,
)
from .rules import merged_fragment_info as merged_fragment_info
from .rules import pipeline_context as pipeline_context
from .rules import rule_text as rule_text
from .scan import scan as scan
