//===- ReductionSteps.h - Ways to make a program smaller --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMD_REDUCE_REDUCTIONSTEPS_H
#define MESHWRIGHT_TOOLS_MPMD_REDUCE_REDUCTIONSTEPS_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Counts what a step could do without, and says which of it has to go.
class Candidates {
public:
  Candidates(unsigned begin, unsigned end) : begin(begin), end(end) {}

  /// Counts one more. Whether it goes.
  bool take() {
    unsigned position = count++;
    return position >= begin && position < end;
  }
  unsigned getCount() const { return count; }
  /// Whether one at most goes.
  bool isSingle() const { return end == begin + 1; }

private:
  unsigned begin, end, count = 0;
};

/// Does without some candidates. May leave what nothing reads, and may leave an
/// invalid program, which is not tried.
///
/// What a step makes smaller no other makes larger: first the number of calls
/// and of regions, then of operations, then of arguments, results and
/// attributes, or rounds of steps would not end.
using ReductionStep = void (*)(mlir::ModuleOp module, Candidates &candidates);

void dropFunctions(mlir::ModuleOp module, Candidates &candidates);
void dropResults(mlir::ModuleOp module, Candidates &candidates);
void dropOpsForArguments(mlir::ModuleOp module, Candidates &candidates);
void dropOpsForZeros(mlir::ModuleOp module, Candidates &candidates);
void dropArguments(mlir::ModuleOp module, Candidates &candidates);
void dropAttributes(mlir::ModuleOp module, Candidates &candidates);
void inlineCalls(mlir::ModuleOp module, Candidates &candidates);
void inlineRegions(mlir::ModuleOp module, Candidates &candidates);
void narrowCallees(mlir::ModuleOp module, Candidates &candidates);
void narrowRegions(mlir::ModuleOp module, Candidates &candidates);
void returnEarlier(mlir::ModuleOp module, Candidates &candidates);

} // namespace meshwright

#endif
