//===- ConstantOrScalarSplitter.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One constant with many uses would make all of them split alike. Recomputing a
// constant costs nothing, so each use gets its own, with all ops after it up
// to scalars, which cannot be split:
//
//   %c = stablehlo.constant             %c0 = sdy.constant  %c1 = sdy.constant
//   %0 = stablehlo.add %c, %x   becomes %0 = stablehlo.add %c0, %x
//   %1 = stablehlo.add %c, %y           %1 = stablehlo.add %c1, %y
//
// First it is found out which ops compute constants, then operands are
// replaced, last the originals go.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GEN_PASS_DEF_CONSTANTORSCALARSPLITTERPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static bool isScalar(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() && type.getRank() == 0;
}

static bool isScalarExpansion(Operation *op) {
  return isa<stablehlo::BroadcastInDimOp>(op) && isScalar(op->getOperand(0));
}

static void replaceStablehloConstants(ModuleOp module) {
  module.walk([](stablehlo::ConstantOp op) {
    // No op of sdy may be read by one.
    if (llvm::any_of(op->getUsers(), llvm::IsaPred<DataFlowEdgeOp>))
      return;
    OpBuilder builder(op);
    auto constant =
        ConstantOp::create(builder, op.getLoc(), op.getType(), op.getValue());
    constant->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.replaceAllUsesWith(constant.getOutput());
    op.erase();
  });
}

namespace {

/// Splits the constants of one function.
class Splitter {
public:
  Splitter(func::FuncOp func, int64_t maxCopies)
      : func(func), maxCopies(maxCopies) {}

  /// Returns how many operations were copied, at most `maxCopies`.
  FailureOr<int64_t> run() {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isConstantExpression(op)) {
        constantExpressions.insert(op);
        originals.push_back(op);
      } else if (isScalarExpansion(op)) {
        scalarExpansions.insert(op);
        originals.push_back(op);
      } else if (!isa<ShardingGroupOp>(op)) {
        consumers.push_back(op);
      }
    });
    for (Operation *op : consumers)
      for (OpOperand &operand : op->getOpOperands()) {
        splitOperand(operand);
        if (numCopies > maxCopies)
          return op->emitError()
                 << "more than " << maxCopies
                 << " operations would be copied, so that each reader of a "
                    "constant has its own; raise max-copied-ops, or let fewer "
                    "read what many operations compute of constants";
      }
    eraseUnusedOriginals();
    return numCopies;
  }

private:
  bool isConstantExpression(Operation *op) {
    if (isa<ConstantOp, stablehlo::IotaOp>(op))
      return true;
    if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
             stablehlo::SliceOp>(op) &&
        !(isElementwiseForSharding(op) && isPure(op)))
      return false;
    return op->getNumOperands() != 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *def = operand.getDefiningOp();
             return def && constantExpressions.contains(def);
           });
  }

  bool isOriginal(Operation *op) const {
    return op &&
           (constantExpressions.contains(op) || scalarExpansions.contains(op));
  }

  void splitOperand(OpOperand &operand) {
    if (!isOriginal(operand.get().getDefiningOp()) || isScalar(operand.get()))
      return;
    IRMapping copies;
    operand.set(copy(cast<OpResult>(operand.get()), copies));
  }

  /// Copies what computes a value, operands first.
  Value copy(OpResult value, IRMapping &copies) {
    SmallVector<Operation *> stack = {value.getOwner()};
    llvm::DenseSet<Operation *> copied; // Membership only.
    while (!stack.empty()) {
      Operation *op = stack.back();
      size_t height = stack.size();
      if (!copied.contains(op))
        for (Value operand : op->getOperands())
          if (Operation *def = operand.getDefiningOp();
              isOriginal(def) && !isScalar(operand) && !copied.contains(def))
            stack.push_back(def);
      if (stack.size() != height)
        continue;
      stack.pop_back();
      if (copied.insert(op).second)
        copyOp(op, copies);
    }
    return copies.lookup(value);
  }

  void copyOp(Operation *op, IRMapping &copies) {
    ++numCopies;
    OpBuilder builder(op);
    Operation *clone = builder.clone(*op, copies);
    builder.setInsertionPointAfter(clone);
    for (auto [result, cloned] :
         llvm::zip(op->getResults(), clone->getResults()))
      for (Operation *user : llvm::to_vector(result.getUsers()))
        if (auto group = dyn_cast<ShardingGroupOp>(user))
          ShardingGroupOp::create(builder, group.getLoc(), cloned,
                                  group.getGroupId())
              ->setDiscardableAttrs(group->getDiscardableAttrDictionary());
  }

  /// Users come before what they use.
  void eraseUnusedOriginals() {
    for (Operation *op : llvm::reverse(originals)) {
      if (!llvm::all_of(op->getUsers(), llvm::IsaPred<ShardingGroupOp>))
        continue;
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        user->erase();
      op->erase();
    }
  }

  func::FuncOp func;
  int64_t maxCopies, numCopies = 0;
  llvm::DenseSet<Operation *> constantExpressions; // Membership only.
  llvm::DenseSet<Operation *> scalarExpansions;    // Membership only.
  SmallVector<Operation *> originals, consumers;
};

struct ConstantOrScalarSplitterPass
    : sdy::impl::ConstantOrScalarSplitterPassBase<
          ConstantOrScalarSplitterPass> {
  using Base::Base;

  void runOnOperation() override {
    replaceStablehloConstants(getOperation());
    int64_t numLeft = maxCopiedOps;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      FailureOr<int64_t> numCopied = Splitter(func, numLeft).run();
      if (failed(numCopied))
        return signalPassFailure();
      numLeft -= *numCopied;
      numCopies += *numCopied;
    }
  }
};

} // namespace
