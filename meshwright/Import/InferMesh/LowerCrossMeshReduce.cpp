//===- LowerCrossMeshReduce.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/LowerCrossMeshReduce.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
using ValuesByMesh = SmallVector<std::pair<StringRef, SmallVector<Value>>>;
using AssignsByType = llvm::MapVector<MeshTensorType, SmallVector<AssignOp>>;
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

/// The assigns that read the reduce on the meshes of its use set, in its order,
/// and on one mesh those to each memory, in use order.
static AssignsByType getTargets(ReduceOp reduce) {
  llvm::MapVector<StringRef, SmallVector<AssignOp>> assignsByMesh;
  MeshSet uses = getMeshSet(reduce, kUseSetAttr);
  for (MeshWithOriginsAttr mesh : uses.getMeshes())
    assignsByMesh[mesh.getMeshName()];
  for (Operation *user : reduce->getUsers())
    if (auto assign = dyn_cast<AssignOp>(user))
      if (auto it = assignsByMesh.find(assign.getType().getMeshName());
          it != assignsByMesh.end())
        it->second.push_back(assign);
  AssignsByType targets;
  for (auto &[mesh, assigns] : assignsByMesh)
    for (AssignOp assign : assigns)
      targets[assign.getType()].push_back(assign);
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

/// Whether every target has the type of all operands.
static bool isOfOneType(const ValuesByMesh &groups,
                        const AssignsByType &targets) {
  return targets.size() == 1 && llvm::all_of(groups, [&](const auto &group) {
           return group.second.front().getType() == targets.front().first;
         });
}

LogicalResult mpmd::lowerCrossMeshReduce(ReduceOp reduce,
                                         RewriterBase &rewriter) {
  AssignsByType targets = getTargets(reduce);
  FailureOr<ValuesByMesh> groups = groupOperands(reduce);
  if (targets.empty() || failed(groups))
    return failure();
  // A transfer has to be in a function, not in a loop.
  if (!isa<func::FuncOp>(reduce->getParentOp()) &&
      !isOfOneType(*groups, targets))
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
  for (auto &[type, assigns] : targets) {
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
