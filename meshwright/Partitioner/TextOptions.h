//===- TextOptions.h - The options of a configuration, as texts -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// For those who do not link MLIR, as TextPartitioner.h.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_TEXTOPTIONS_H
#define MESHWRIGHT_PARTITIONER_TEXTOPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

/// A line of a table of options that has a key.
struct TextOptionInfo {
  std::string phase;
  std::string key;
  std::string type;         ///< "bool", "int", "text", "schedule" or "pairs".
  std::string defaultValue; ///< JSON.
  std::string pipelineName; ///< Empty if no textual pipeline has it.
  std::string help;
  int64_t least; ///< That a number may be.
};

/// All options of configurations, phase by phase.
std::vector<TextOptionInfo> listOptions();

} // namespace meshwright

#endif
