# SPDX-License-Identifier: Apache-2.0
"""Pipelines: microbatches, the rules of schedules, and where stages live."""

from ..core.by_path import ByPath as ByPath
from ..core.by_path import by_path as by_path
from ..schedules.assignment import stage_assignment as stage_assignment
from ..schedules.rules import FragmentInfo as FragmentInfo
from ..schedules.rules import FragmentMergeRule as FragmentMergeRule
from ..schedules.rules import FragmentMergeRules as FragmentMergeRules
from ..schedules.rules import FragmentOrigin as FragmentOrigin
from ..schedules.rules import FragmentScheduleRule as FragmentScheduleRule
from ..schedules.rules import FragmentScheduleRules as FragmentScheduleRules
from ..schedules.rules import MergePredicate as MergePredicate
from ..schedules.rules import PipelineContext as PipelineContext
from ..schedules.rules import PipelineSchedule as PipelineSchedule
from ..schedules.rules import ScheduleMergeRuleBuilder as ScheduleMergeRuleBuilder
from ..schedules.rules import SchedulingKey as SchedulingKey
from ..schedules.rules import SchedulingPredicate as SchedulingPredicate
from ..schedules.rules import SplitFragmentType as SplitFragmentType
from ..schedules.rules import TargetInfoBuilder as TargetInfoBuilder
from ..schedules.rules import (
    build_merge_rules_from_predicate as build_merge_rules_from_predicate,
)
from ..schedules.rules import build_rules as build_rules
from ..schedules.rules import (
    build_schedule_rules_from_key as build_schedule_rules_from_key,
)
from ..schedules.rules import (
    build_schedule_rules_from_predicate as build_schedule_rules_from_predicate,
)
from ..schedules.rules import merged_fragment_info as merged_fragment_info
from ..schedules.rules import pipeline_context as pipeline_context
from ..schedules.rules import rule_text as rule_text
from .accumulate import accumulate as accumulate
from .parts import Parts as Parts
from .parts import parts as parts
from .parts import whole as whole
from .scan import scan as scan
