//===- SplitBarriers.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A barrier over the gradients of all stages would bring them to one mesh. On one
// mesh it says in which order values are computed there; between meshes it says
// nothing, so that it becomes a barrier for each mesh, and for each value that could
// be on any.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "mlir/IR/Builders.h"

#define GEN_PASS_DEF_SPLITBARRIERSPASS
#include "meshwright/Import/Locality/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using Groups = SmallVector<SmallVector<unsigned>>;

/// The operands that stay together: those on the same first mesh.
static Groups groupOperands(stablehlo::OptimizationBarrierOp barrier,
                            const ValueMeshes &meshes) {
  Groups groups;
  llvm::SmallDenseMap<unsigned, size_t, 4> known;
  for (auto [index, operand] : llvm::enumerate(barrier->getOperands())) {
    if (meshes.isFree(operand)) {
      groups.push_back({static_cast<unsigned>(index)});
      continue;
    }
    auto [group, isNew] =
        known.try_emplace(meshes.get(operand).find_first(), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[group->second].push_back(index);
  }
  return groups;
}

static void split(stablehlo::OptimizationBarrierOp barrier,
                  const Groups &groups) {
  OpBuilder builder(barrier);
  for (ArrayRef<unsigned> group : groups) {
    SmallVector<Value> operands;
    for (unsigned index : group)
      operands.push_back(barrier->getOperand(index));
    auto part = stablehlo::OptimizationBarrierOp::create(
        builder, barrier.getLoc(), ValueRange(operands).getTypes(), operands);
    for (auto [index, result] : llvm::zip_equal(group, part->getResults()))
      barrier->getResult(index).replaceAllUsesWith(result);
  }
  barrier->erase();
}

namespace {
struct SplitBarriersPass
    : mpmd::impl::SplitBarriersPassBase<SplitBarriersPass> {
  void runOnOperation() override {
    ValueMeshes::visitFunctions(getOperation(), [&](auto &&...analyzed) {
      runOnFunction(analyzed...);
    });
  }

  /// From first to last: what a barrier gives decides about those after it.
  void runOnFunction(func::FuncOp func, const MeshDataFlow &flow,
                     const ValueMeshes::Callees &callees) {
    eraseConsents(func);
    SmallVector<stablehlo::OptimizationBarrierOp> barriers(
        func.front().getOps<stablehlo::OptimizationBarrierOp>());
    std::optional<ValueMeshes> meshes;
    for (stablehlo::OptimizationBarrierOp barrier : barriers) {
      if (!isMeshlessOp(barrier) || barrier->getNumOperands() < 2)
        continue;
      if (!meshes)
        meshes.emplace(func, flow, callees);
      Groups groups = groupOperands(barrier, *meshes);
      // What could be anywhere may stay with what is on one mesh.
      unsigned numPlaced =
          llvm::count_if(groups, [&](ArrayRef<unsigned> group) {
            return !meshes->isFree(barrier->getOperand(group.front()));
          });
      if (groups.size() < 2 || numPlaced == 1)
        continue;
      split(barrier, groups);
      ++numSplit;
      meshes.reset();
    }
  }
};
} // namespace
