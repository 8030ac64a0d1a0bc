//===- StageGraph.h - Towers of stages, and what feeds what -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Without towers, the stages of a pipeline are a chain: each feeds the next. With
// them they are a graph: each tower is a chain with meshes and a schedule of its
// own, and stages feed stages of towers after theirs. As a text:
//
//   vision:2;text:3;vision>text        two stages, and three; the last of vision
//                                      feeds the first of text
//   encoder:2@0-1=GPipe;decoder:2;encoder>decoder.*
//                                      on meshes 0 and 1, in the order of GPipe;
//                                      feeds every stage of the decoder
//   vision:2;aux:1;text:3;vision>text;vision>aux;aux>
//                                      aux ends in a loss of its own
//
// Stages are numbered tower by tower, so that what feeds has the lower number. A
// tower without meshes has one of its own for each stage, numbered on, and one
// without a schedule has 1F1B. Meshes are a range or a sum, `@0+2`; `NAME.K` is
// stage K of a tower, from 0.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_STAGEGRAPH_H
#define MESHWRIGHT_SCHEDULE_STAGEGRAPH_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {

/// A chain of stages.
struct Tower {
  std::string name;
  int64_t first; ///< Its first stage, in the numbers of all.
  int64_t count; ///< Of its stages.
  std::vector<int64_t> meshes;
  std::string schedule;
  bool hasLoss = false; ///< Of its own; the last tower always has one.

  bool has(int64_t stage) const {
    return stage >= first && stage < first + count;
  }
  bool operator==(const Tower &other) const;
};

struct StageGraph {
  std::vector<Tower> towers;
  /// Pairs of stages, between towers: the second reads what the first gives.
  std::vector<std::pair<int64_t, int64_t>> feeds;

  /// Whether there are no towers, so that each stage feeds the next.
  bool isChain() const { return towers.empty(); }
  int64_t countStages() const;
  int64_t countMeshes() const;
  /// Of a stage that the graph has.
  const Tower &getTower(int64_t stage) const;

  bool operator==(const StageGraph &other) const {
    return towers == other.towers && feeds == other.feeds;
  }
};

/// For each stage, in order: those that it reads, and those that read it.
struct StageLinks {
  std::vector<llvm::SmallVector<int64_t, 2>> before, after;

  /// Of a chain of that many stages, or of a graph.
  StageLinks(const StageGraph &graph, int64_t stages);
  /// The number of stages on the longest way from each to the end, itself
  /// included.
  std::vector<int64_t> countToEnd() const;
};

/// Whether a text can name a tower: letters, digits and underscores.
bool isTowerName(llvm::StringRef text);

/// Fails, naming the tower, if the text is no graph, a tower comes before one that
/// feeds it, or no way leads from it to a loss.
llvm::Expected<StageGraph> parseStageGraph(llvm::StringRef text);

/// `stage 3` of a chain, `stage 1 of text` in a tower.
std::string nameStage(const StageGraph &graph, int64_t stage);

/// A text that parses to the same graph, without spaces.
std::string toString(const StageGraph &graph);

} // namespace meshwright

#endif
