# SPDX-License-Identifier: Apache-2.0
"""Imports staging schedules tracing jaxapi compiler core.

Pipelines: microbatches, the rules of schedules, and where stages live.
"""

from ..core.by_path import ByPath as ByPath
from ..core.by_path import by_path as by_path
from ..core.config import Tower as Tower
from ..core.fragments import FragmentInfo as FragmentInfo
from ..core.fragments import FragmentMergeRule as FragmentMergeRule
from ..core.fragments import FragmentMergeRules as FragmentMergeRules
from ..core.fragments import FragmentOrigin as FragmentOrigin
from ..core.fragments import FragmentScheduleRule as FragmentScheduleRule
from ..core.fragments import FragmentScheduleRules as FragmentScheduleRules
from ..core.fragments import MergePredicate as MergePredicate
from ..core.fragments import PipelineContext as PipelineContext
from ..core.fragments import PipelineSchedule as PipelineSchedule
from ..core.fragments import ScheduleMergeRuleBuilder as ScheduleMergeRuleBuilder
from ..core.fragments import SchedulingKey as SchedulingKey
from ..core.fragments import SchedulingPredicate as SchedulingPredicate
from ..core.fragments import SplitFragmentType as SplitFragmentType
from ..core.fragments import TargetInfoBuilder as TargetInfoBuilder
from ..schedules.assignment import stage_assignment as stage_assignment
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
from .cuts import chunk_lengths as chunk_lengths
from .layout import Layout as Layout
from .layout import layout as layout
from .optimizer import Optimizer as Optimizer
from .optimizer import optimizer as optimizer
from .parts import Parts as Parts
from .parts import parts as parts
from .parts import whole as whole
from .scan import scan as scan
from .scan_microbatches import scan_microbatches as scan_microbatches
from .vocabulary import vocabulary as vocabulary
