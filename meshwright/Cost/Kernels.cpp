//===- Kernels.cpp - What a backend fuses ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each op has a level: the most ops on a way to it that end a kernel. Fused are
// ops of one level that are connected. No way leaves a kernel and comes back,
// since it would pass an op that ends one, and be a level higher.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Kernels.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace meshwright;

namespace {
enum class Fusion {
  Free,  ///< With what it reads and with its readers.
  Ends,  ///< With what it reads.
  Heads, ///< With its readers: what a matrix product is followed by.
  Alone,
};
} // namespace

bool meshwright::isProduct(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::DotOp,
             stablehlo::ConvolutionOp>(op);
}

static Fusion classify(Operation *op) {
  if (isProduct(op))
    return Fusion::Heads;
  if (isa<stablehlo::ReduceOp>(op))
    return Fusion::Ends;
  if (isa<stablehlo::GatherOp, stablehlo::DynamicGatherOp,
          stablehlo::AllGatherOp, stablehlo::AllToAllOp,
          stablehlo::CollectivePermuteOp, stablehlo::CollectiveBroadcastOp,
          stablehlo::FftOp, stablehlo::CholeskyOp, stablehlo::TriangularSolveOp,
          stablehlo::CustomCallOp, stablehlo::RngBitGeneratorOp,
          stablehlo::RngOp, stablehlo::CompositeOp, CallOpInterface>(op) ||
      op->getNumRegions())
    return Fusion::Alone;
  return Fusion::Free;
}

Kernels::Kernels(Block &block) {
  llvm::DenseMap<Operation *, unsigned> levels;
  llvm::EquivalenceClasses<Operation *> fused;
  // A kernel has one op at its head.
  llvm::DenseMap<Operation *, bool> hasHead;
  for (Operation &op : block.without_terminator()) {
    Fusion fusion = classify(&op);
    bool isJoining = fusion == Fusion::Free || fusion == Fusion::Ends;
    unsigned level = 0;
    for (Value operand : op.getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block)
        continue;
      Fusion before = classify(source);
      bool isBorder =
          !isJoining || before == Fusion::Ends || before == Fusion::Alone;
      // What needs nothing is computed where it is read.
      if (source->getNumOperands() == 0)
        isBorder = false;
      level = std::max(level, levels.lookup(source) + isBorder);
    }
    levels[&op] = level;
    fused.insert(&op);
    hasHead[&op] = fusion == Fusion::Heads;
    if (!isJoining)
      continue;
    for (Value operand : op.getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block ||
          levels.lookup(source) != level)
        continue;
      Fusion before = classify(source);
      if (before == Fusion::Ends || before == Fusion::Alone)
        continue;
      Operation *a = fused.getLeaderValue(&op);
      Operation *b = fused.getLeaderValue(source);
      bool both = hasHead[a] && hasHead[b], any = hasHead[a] || hasHead[b];
      if (a == b || both)
        continue;
      fused.unionSets(a, b);
      hasHead[fused.getLeaderValue(&op)] = any;
    }
  }
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block.without_terminator()) {
    auto [number, isNew] =
        numbers.try_emplace(fused.getLeaderValue(&op), count);
    count += isNew;
    kernels[&op] = number->second;
  }
}

bool Kernels::isStored(OpResult result) const {
  unsigned own = get(result.getOwner());
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    Operation *inBlock =
        result.getOwner()->getBlock()->findAncestorOpInBlock(*user);
    auto found = kernels.find(inBlock);
    return found == kernels.end() || found->second != own;
  });
}
