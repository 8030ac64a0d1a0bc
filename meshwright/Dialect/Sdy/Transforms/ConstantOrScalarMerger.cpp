//===- ConstantOrScalarMerger.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Copies of a constant that ended with the same sharding are of no use. Ops are
// compared by name, attributes (with `sdy.sharding`), operands and types; the
// first of each region replaces the others.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"

#define GEN_PASS_DEF_CONSTANTORSCALARMERGERPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// Constants, and broadcasts of scalars.
static bool canMerge(Operation *op) {
  if (isa<ConstantOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
  if (!broadcast)
    return false;
  auto type = dyn_cast<ShapedType>(broadcast->getOperand(0).getType());
  return type && type.hasRank() && type.getRank() == 0;
}

namespace {

/// Compares ops by what they compute and how that is sharded.
struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};

struct ConstantOrScalarMergerPass
    : sdy::impl::ConstantOrScalarMergerPassBase<ConstantOrScalarMergerPass> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PreOrder>([&](Region *region) {
      for (Block &block : *region)
        mergeIn(block);
    });
  }

private:
  void mergeIn(Block &block) {
    llvm::DenseMap<Operation *, Operation *, EqualOps> firsts;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!canMerge(&op))
        continue;
      auto [first, isNew] = firsts.try_emplace(&op, &op);
      if (isNew)
        continue;
      op.replaceAllUsesWith(first->second);
      op.erase();
      ++numMerged;
    }
  }
};

} // namespace
