//===- TextOptions.cpp - The options of a configuration, as texts ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextOptions.h"
#include "meshwright/Partitioner/ConfigOptions.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace meshwright;

std::vector<TextOptionInfo> meshwright::listOptions() {
  std::vector<TextOptionInfo> result;
  for (const ConfigOption &option : getConfigOptions())
    result.push_back(
        {option.phase.str(), option.key.str(), option.getType().str(),
         llvm::to_string(option.getDefault()), option.pipelineName.str(),
         option.help.str(), option.getLeast()});
  return result;
}
