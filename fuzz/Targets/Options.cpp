//===- Options.cpp - Options of configurations, pipelines and passes ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a pipeline as mpmd-opt takes it, or an option of a configuration as
// after --set: option=value.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Passes.h"
#include "Support/Target.h"
#include "meshwright/Partitioner/PartitionConfig.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  auto [key, value] = input.split('=');
  ConfigOptions options;
  ErrorCount errors(getContext());
  if (failed(setOption(options, key, value, getContext())) && errors.get() == 0)
    reportFinding("an option is rejected without an error");
  runPasses("module {}", input);
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
