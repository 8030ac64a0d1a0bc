//===- Rules.cpp - Rules that name fragments ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Target.h"
#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

/// What is printed is the same rule again.
template <typename Rule>
static void check(StringRef input, llvm::Expected<Rule> (*parse)(StringRef)) {
  llvm::Expected<Rule> rule = parse(input);
  if (!rule) {
    if (llvm::toString(rule.takeError()).empty())
      reportFinding("the rule is rejected without an error");
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << *rule;
  llvm::Expected<Rule> again = parse(text);
  if (!again)
    reportFinding("a printed rule is not read back: " + text + ": " +
                  llvm::toString(again.takeError()));
  if (!(*again == *rule))
    reportFinding("a printed rule is read back as another: " + text);
}

void fuzz::takeInput(StringRef input) {
  check(input, mlir::mpmd::parseFragmentMergeRule);
  check(input, mlir::mpmd::parseFragmentScheduleRule);
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
