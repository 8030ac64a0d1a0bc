//===- PopulateUnreducedOutSharding.cpp -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation does not carry unreduced axes, along which every device holds a
// partial value. Where a body constrains the very value that it returns to be
// unreduced, the result of the fragment must be so, too:
//
//   %c = sdy.sharding_constraint %x <@m, [{}, {"c"}], unreduced={"r"}>
//   mpmd.return %c           // out_shardings=[<@m, [{}, {}], unreduced={"r"}>]
//
// How the dimensions are split remains what propagation found.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_POPULATEUNREDUCEDOUTSHARDINGPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Returns the constraint that makes a value unreduced, if there is one.
static sdy::ShardingConstraintOp getUnreducedConstraint(Value value) {
  auto constraint = value.getDefiningOp<sdy::ShardingConstraintOp>();
  bool isUnreduced =
      constraint && !constraint.getSharding().getUnreducedAxes().empty();
  return isUnreduced ? constraint : sdy::ShardingConstraintOp();
}

/// The current shardings of the results, or closed ones without axes. The mesh
/// of the latter is `mesh`.
static SmallVector<sdy::TensorShardingAttr> getOutShardings(FragmentOp fragment,
                                                            Attribute mesh) {
  if (fragment.getOutShardingsAttr())
    return fragment.getOpResultEdgeOwnerShardings();
  return llvm::map_to_vector(fragment.getResultTypes(), [&](Type type) {
    auto tensor = dyn_cast<MeshTensorType>(type);
    return sdy::TensorShardingAttr::getFullyClosed(
        mesh.getContext(), tensor ? tensor.getRank() : 0, mesh);
  });
}

/// Returns whether any became unreduced.
static bool populateOutShardings(FragmentOp fragment) {
  auto returned = fragment.getBody()->getTerminator()->getOperands();
  auto constraints = llvm::map_to_vector(returned, getUnreducedConstraint);
  auto first = llvm::find_if(constraints, [](auto op) { return !!op; });
  if (first == constraints.end())
    return false;

  auto shardings =
      getOutShardings(fragment, (*first).getSharding().getMeshOrRef());
  Attribute mesh;
  for (auto [sharding, constraint] : llvm::zip(shardings, constraints)) {
    if (!constraint || !sharding)
      continue;
    ArrayRef<sdy::AxisRefAttr> unreduced =
        constraint.getSharding().getUnreducedAxes();
    if (sharding.getUnreducedAxes() == unreduced)
      continue;
    mesh = constraint.getSharding().getMeshOrRef();
    sharding = sharding.replaceUnreducedAxes(unreduced);
  }
  if (!mesh)
    return false;
  // All shardings of a fragment are on one mesh; partial values are summed.
  for (sdy::TensorShardingAttr &sharding : shardings)
    if (sharding)
      sharding = sdy::TensorShardingAttr::get(
          mesh.getContext(), mesh, sharding.getDimShardings(),
          sharding.getReplicatedAxes(), sharding.getUnreducedAxes(),
          sdy::ReductionKind::Sum);
  fragment.setOpResultEdgeOwnerShardings(shardings);
  return true;
}

namespace {
struct PopulateUnreducedOutShardingPass
    : mpmd::impl::PopulateUnreducedOutShardingPassBase<
          PopulateUnreducedOutShardingPass> {
  void runOnOperation() override {
    if (!isDistributedFunction(getOperation()))
      return markAllAnalysesPreserved();
    getOperation().walk<WalkOrder::PreOrder>([&](FragmentOp fragment) {
      numFragments += populateOutShardings(fragment);
      return WalkResult::skip(); // No fragment is inside another.
    });
  }
};
} // namespace
