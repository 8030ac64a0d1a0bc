//===- LowerCrossMeshReduce.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/LowerCrossMeshReduce.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
using ValuesByMesh = SmallVector<std::pair<StringRef, SmallVector<Value>>>;
using AssignsByMesh = llvm::MapVector<StringRef, SmallVector<AssignOp>>;
} // namespace

/// The operands by mesh, meshes in mesh order, values in operand order.
static FailureOr<ValuesByMesh> groupOperands(ReduceOp reduce) {
  llvm::MapVector<StringRef, SmallVector<Value>> groups;
  for (Value operand : reduce->getOperands()) {
    auto unassign = operand.getDefiningOp<UnassignOp>();
    if (!unassign)
      return failure();
    Value value = unassign.getTensor();
    groups[cast<MeshTensorType>(value.getType()).getMeshName()].push_back(
        value);
  }
  ValuesByMesh sorted = groups.takeVector();
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
    return meshBefore(a.first, b.first);
  });
  return sorted;
}

/// The assigns that read the reduce on the meshes of its use set, in its order.
static AssignsByMesh getTargets(ReduceOp reduce) {
  AssignsByMesh targets;
  MeshSet uses = getMeshSet(reduce, kUseSetAttr);
  for (MeshWithOriginsAttr mesh : uses.getMeshes())
    targets[mesh.getMeshName()];
  for (Operation *user : reduce->getUsers())
    if (auto assign = dyn_cast<AssignOp>(user))
      if (auto it = targets.find(assign.getType().getMeshName());
          it != targets.end())
        it->second.push_back(assign);
  targets.remove_if([](const auto &target) { return target.second.empty(); });
  return targets;
}

/// A fragment that folds values of one mesh from left to right.
static Value createFold(ReduceOp reduce, ArrayRef<Value> values,
                        MeshTensorType type, RewriterBase &rewriter) {
  Location loc = reduce.getLoc();
  auto fragment = FragmentOp::createWithGlobalBody(
      loc, rewriter.getArrayAttr({}),
      rewriter.getStringAttr(type.getMeshName()), values, Type(type), rewriter,
      [&](ArrayRef<Value> args, OpBuilder &body) -> SmallVector<Value> {
        Value folded = args.front();
        for (Value arg : args.drop_front())
          folded =
              createReductionOp(body, loc, reduce.getReduction(), folded, arg)
                  ->getResult(0);
        return {folded};
      });
  setInferredBy(fragment, {"infer_mesh_convert_reduce_ops"});
  return fragment->getResult(0);
}

LogicalResult mpmd::lowerCrossMeshReduce(ReduceOp reduce,
                                         RewriterBase &rewriter) {
  AssignsByMesh targets = getTargets(reduce);
  FailureOr<ValuesByMesh> groups = groupOperands(reduce);
  if (targets.empty() || failed(groups))
    return failure();

  rewriter.setInsertionPointAfter(reduce);
  SmallVector<Value> partials;
  for (auto &[mesh, values] : *groups)
    partials.push_back(
        values.size() == 1
            ? values.front()
            : createFold(reduce, values,
                         cast<MeshTensorType>(values.front().getType()),
                         rewriter));
  for (auto &[mesh, assigns] : targets) {
    MeshTensorType type = assigns.front().getType();
    SmallVector<Value> onMesh;
    for (Value partial : partials) {
      if (partial.getType() != type)
        partial = TransferOp::create(rewriter, reduce.getLoc(), type, partial);
      onMesh.push_back(partial);
    }
    Value whole = createFold(reduce, onMesh, type, rewriter);
    for (AssignOp assign : assigns)
      rewriter.replaceOp(assign, whole);
  }
  return success();
}
