//===- FragmentRules.h - Rules that name fragments --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Users steer merging and scheduling by rules that describe fragments:
//
//   FragmentMergeRule(sources=[INFO,INFO],target=INFO)
//   FragmentScheduleRule(ordered_fragments=[INFO->INFO->INFO])
//
// where INFO is, without white space,
//
//   FragmentInfo(origins=["f","g"(1)],stage=2,call_counter=5,
//                split_type=kDropTransferred,mesh_name="m1")
//
// Only `origins` is needed, and comes first. A rule may thus be in the text
// of a pass option: the parsers below make both kinds option types.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_RULES_FRAGMENTRULES_H
#define MESHWRIGHT_OPTIMIZE_RULES_FRAGMENTRULES_H

#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Text/OptionParser.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mlir::mpmd {

/// Merges the fragments that match any of `sources`, and describes the result.
struct FragmentMergeRule {
  SmallVector<FragmentInfo> sources;
  FragmentInfo target;
};

/// Lists fragments in the order in which they must run.
struct FragmentScheduleRule {
  SmallVector<FragmentInfo> orderedFragments;
};

bool operator==(const FragmentMergeRule &a, const FragmentMergeRule &b);
bool operator==(const FragmentScheduleRule &a, const FragmentScheduleRule &b);

/// Print in the syntax above; what is printed parses to the same rule.
raw_ostream &operator<<(raw_ostream &os, const FragmentMergeRule &rule);
raw_ostream &operator<<(raw_ostream &os, const FragmentScheduleRule &rule);

/// Parse one rule. An error says at which character, counted from 1, what was
/// expected. Text after the rule is not looked at.
llvm::Expected<FragmentMergeRule> parseFragmentMergeRule(StringRef text);
llvm::Expected<FragmentScheduleRule> parseFragmentScheduleRule(StringRef text);

bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 FragmentMergeRule &value);
bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 FragmentScheduleRule &value);

} // namespace mlir::mpmd

namespace llvm::cl {

template <>
class parser<mlir::mpmd::FragmentMergeRule>
    : public meshwright::OptionParser<mlir::mpmd::FragmentMergeRule> {
public:
  using OptionParser::OptionParser;
  StringRef getValueName() const override { return "merge-rule"; }
};
template <>
class parser<mlir::mpmd::FragmentScheduleRule>
    : public meshwright::OptionParser<mlir::mpmd::FragmentScheduleRule> {
public:
  using OptionParser::OptionParser;
  StringRef getValueName() const override { return "schedule-rule"; }
};

} // namespace llvm::cl

#endif
