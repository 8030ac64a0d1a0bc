//===- ShareableBodies.cpp - Which bodies can be shared -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Share/ShareableBodies.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether a body returns something that it computes, and no argument twice:
/// which of several uses comes first would depend on where they are.
static bool returnsResults(Operation *terminator) {
  llvm::DenseSet<Value> arguments;
  bool computes = false;
  for (Value value : terminator->getOperands()) {
    if (!isa<BlockArgument>(value))
      computes = true;
    else if (!arguments.insert(value).second)
      return false;
  }
  return computes;
}

/// Whether a body has that many ops beside its terminator, those of loops among them.
static bool hasAtLeast(Block &body, unsigned minOps) {
  uint64_t numOps = 0;
  WalkResult result = body.walk([&](Operation *) {
    return ++numOps > minOps ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool mpmd::isShareable(FragmentOp fragment, unsigned minOps) {
  Block &body = *fragment.getBody();
  Operation *terminator = body.getTerminator();
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return hasAtLeast(body, minOps) && returnsResults(terminator) &&
         llvm::all_of(body.getArgumentTypes(), isTensor) &&
         llvm::all_of(terminator->getOperandTypes(), isTensor) &&
         getSharedBodyCalls(fragment).empty() && !hasEffects(fragment);
}

bool mpmd::hasOneMesh(func::FuncOp func) {
  TopologyAttr topology = isMpmdFunction(func) ? getTopology(func) : nullptr;
  if (!topology || !isHomogeneous(topology))
    return false;
  sdy::MeshAttr mesh = topology.getMeshes().front().getMesh();
  auto module = func->getParentOfType<ModuleOp>();
  return llvm::all_of(module.getOps<sdy::MeshOp>(), [&](sdy::MeshOp op) {
    return op.getMesh().getAxes().empty() ||
           op.getMesh().equalsIgnoringDeviceOrder(mesh);
  });
}

/// Constraints on each other, or that leave partial sums, are seen from outside.
static bool isSeenInsideOnly(sdy::ShardingConstraintOp constraint) {
  return constraint.getSharding().getUnreducedAxes().empty() &&
         !constraint.getInput().getDefiningOp<sdy::ShardingConstraintOp>();
}

bool mpmd::isForPropagation(FragmentOp fragment) {
  auto sharding = StringAttr::get(fragment.getContext(), sdy::kShardingAttr);
  WalkResult result = fragment.getRegion().walk([&](Operation *op) {
    auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op);
    bool isSdy = !(constraint && isSeenInsideOnly(constraint)) &&
                 isa_and_present<sdy::SdyDialect>(op->getDialect());
    bool isUnused = op->use_empty() && isOpTriviallyDead(op);
    return (isSdy && !isa<sdy::ConstantOp>(op)) || isUnused ||
                   isa<CallOpInterface>(op) || op->getDiscardableAttr(sharding)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}
