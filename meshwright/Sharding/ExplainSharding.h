//===- ExplainSharding.h - Where the axes of a value come from --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_EXPLAINSHARDING_H
#define MESHWRIGHT_SHARDING_EXPLAINSHARDING_H

#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/Text/SourcePlace.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::mpmd {

/// The passes of the shard phase before propagation; those of a program
/// without meshes if there are no options.
void addExplainPreparation(OpPassManager &passes,
                           const ShardingPropagationOptions *options);

/// A place in a file, where it is known.
using ExplainedPlace = std::optional<meshwright::SourcePlace>;

/// How an axis passes from one value to the next.
struct ExplainedStep {
  std::string operation; ///< Or an edge: "into argument 0 of …".
  ExplainedPlace place;
  std::string direction; ///< "operand 0 to result 0"; empty at edges.
};

/// Which annotation gave a value an axis, and by which steps.
struct ExplainedAxis {
  unsigned dimension;
  std::string axis;
  bool isWritten; ///< At the value itself.
  std::string source;
  ExplainedPlace place; ///< Of the source.
  std::vector<ExplainedStep> steps;
};

struct ExplainedValue {
  std::string name;
  ExplainedPlace place;
  std::vector<ExplainedAxis> axes; ///< By dimension.
};

using ValueFilter = llvm::function_ref<bool(Value)>;

/// Propagates the shardings of a module that is so prepared, and tells of each axis
/// of some values which annotation it comes from, and by which ops. The values
/// are those that `value` names: `arg 0` or `result 0` of the main function, a
/// line, `file:line` or `file:line:column`, or a name that their location bears;
/// all that are sharded if it is empty; those of `isChosen` if there is one.
/// Fails, with an error, if there are none.
FailureOr<std::vector<ExplainedValue>>
explainShardings(ModuleOp module, StringRef value, ValueFilter isChosen = {});

/// As text for people.
void printExplanation(ArrayRef<ExplainedValue> values, llvm::raw_ostream &os);

/// As JSON.
void writeExplanation(ArrayRef<ExplainedValue> values, llvm::raw_ostream &os);

} // namespace mlir::mpmd

#endif
