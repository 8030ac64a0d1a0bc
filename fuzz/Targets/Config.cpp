//===- Config.cpp - Configurations as JSON --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Target.h"
#include "meshwright/Partitioner/PartitionConfig.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  ErrorCount errors(getContext());
  auto config = parsePartitionConfig(input, "config.json", getContext());
  if (succeeded(config))
    (void)config->resolveOptions();
  else if (errors.get() == 0)
    reportFinding("the configuration is rejected without an error");
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
