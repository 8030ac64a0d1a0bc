// Positions count characters of the rule from 1.
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentInfo(origins=[])' 2>&1 | FileCheck %s --check-prefix=PREFIX
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"])FragmentInfo(origins=["g"])])' 2>&1 | FileCheck %s --check-prefix=ARROW
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"])' 2>&1 | FileCheck %s --check-prefix=END
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"],stage=1,stage=2)])' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"],split_type=kDrop)])' 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"],mesh="m0")])' 2>&1 | FileCheck %s --check-prefix=FIELD

// PREFIX: in rule '{{.*}}' at character 9: expected 'ScheduleRule(ordered_fragments=[', found 'Info(origins=[])'
// ARROW:  at character 68: expected '->' or ']', found 'FragmentInfo(ori…'
// END:    at character 68: expected '->' or ']', found the end
// TWICE:  at character 76: expected a field other than stage, which the fragment already has
// SPLIT:  at character 79: expected kKeepTransferred or kDropTransferred, found 'kDrop)])'
// FIELD:  at character 68: expected stage=, call_counter=, split_type= or mesh_name=, found 'mesh="m0")])'

module {
}
