//===- Plan.h - What each mesh of a pipeline does, in order -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A plan has a list of actions for each mesh. A mesh runs its list in order,
// each action as soon as its inputs are there; nothing but the order is part of
// the plan. The inputs of an action, by stage and microbatch:
//
//   F(s, m)          F(s - 1, m)
//   B or I(s, m)     F(s, m), and B or I(s + 1, m)
//   W(s, m)          I(s, m)
//
// Where the stages are a graph of towers, F reads all stages that feed it, and B
// or I all that it feeds.
//
// Where the vocabulary is cut over all meshes, each has a stage beside the chain
// with its part of the head, and one with its part of the embedding:
//
//   E(s, m)          nothing; F of the first stage needs E of all parts
//   S(s, m)          F of the last stage
//   T(s, m)          S of all parts, whose maxima and sums make the softmax; B or
//                    I of the last stage needs T of all parts
//   G(s, m)          E(s, m), and B or I of the first stage
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PLAN_H
#define MESHWRIGHT_SCHEDULE_PLAN_H

#include "meshwright/Schedule/StageGraph.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

/// Forward; backward as a whole; its two halves, the gradient of the input
/// and that of the weights. Of a part of the vocabulary, forward and backward: of
/// the embedding, and of the head with the loss.
enum class ActionKind {
  Forward,
  Backward,
  Input,
  Weight,
  Embedding,
  EmbeddingBackward,
  Head,
  HeadBackward
};

/// 'F', 'B', 'I' or 'W'; 'E', 'G', 'S' or 'T' of a part of the vocabulary.
char getLetter(ActionKind kind);

/// The kind with that letter, a word of its own.
std::optional<ActionKind> findKind(llvm::StringRef letter);

/// Whether the stage of this is one of the chain, rather than a part of the
/// vocabulary.
bool isInChain(ActionKind kind);

/// Whether a microbatch comes to its stage with this, on the way to the loss.
bool isForward(ActionKind kind);

/// Whether the stage has nothing to do for the microbatch after this.
bool isLast(ActionKind kind);

struct Action {
  int64_t stage;
  ActionKind kind;
  int64_t microbatch;
  /// Runs as one step with the next action, a backward, overlapping it.
  bool joinsNext = false;

  bool operator==(const Action &other) const;
  bool operator!=(const Action &other) const { return !(*this == other); }
};

using ActionList = std::vector<Action>;

struct Plan {
  std::vector<ActionList> meshes;
  /// Parts of a microbatch's sequence, of which each is a unit of its own: the
  /// microbatch of an action is then the number of its unit, those of microbatch
  /// m from m times this on.
  int64_t sequenceChunks = 1;
  StageGraph graph; ///< What feeds what; by default, each stage the next.

  size_t countActions() const;
  /// Or units of sequences in chunks: one more than the largest number.
  int64_t countMicrobatches() const;
  /// Whether each microbatch goes forward and back through each of the stages of a
  /// chain.
  /// What is for inference has no way back, and DualPipe takes half of the
  /// microbatches through a copy of the model.
  bool isTraining(int64_t stages, int64_t microbatches) const;
};

/// What the line of a CSV file with the towers begins with.
inline constexpr llvm::StringLiteral kTowersKeyword = "towers ";

/// Prints `0F3`: stage, letter, microbatch.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Action &action);
std::string toString(const Action &action);

/// Prints one line per mesh, actions separated by commas, overlapped ones as
/// `(0F3;7B0)OVERLAP_F_B`; before them a line with the towers, if there are any.
void printCsv(const Plan &plan, llvm::raw_ostream &os);

} // namespace meshwright

#endif
