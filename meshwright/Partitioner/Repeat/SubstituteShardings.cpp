//===- SubstituteShardings.cpp - Shardings of substitutes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/SubstituteShardings.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/AlikeUnits.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

/// The type of the scalars of computed microbatches that a fragment reads and that differ
/// from `type` in nothing but their sharding; null if they have several.
static MeshTensorType findComputed(FragmentOp reader, MeshTensorType type) {
  MeshTensorType found;
  for (Value operand : reader->getOperands()) {
    auto maker = operand.getDefiningOp<FragmentOp>();
    auto own = dyn_cast<MeshTensorType>(operand.getType());
    if (!maker || !own || isSubstitute(maker) || !getCallCounter(maker) ||
        own.replaceSharding(type.getSharding()) != type)
      continue;
    if (found && found != own)
      return {};
    found = own;
  }
  return found;
}

static void adoptType(OpResult value) {
  auto type = dyn_cast<MeshTensorType>(value.getType());
  if (!type || type.getRankedTensorType().getRank() != 0 || type.getSharding())
    return;
  MeshTensorType found;
  for (Operation *user : value.getUsers()) {
    auto reader = dyn_cast<FragmentOp>(user);
    MeshTensorType computed =
        reader ? findComputed(reader, type) : MeshTensorType();
    if (!computed || (found && found != computed))
      return;
    found = computed;
  }
  // A partial sum is more than another name of the same.
  if (found && found.getSharding() &&
      found.getSharding().getUnreducedAxes().empty())
    value.setType(found);
}

void meshwright::adoptScalarTypes(func::FuncOp function) {
  if (!function->hasAttr(kKeepsCountersAttr))
    return;
  for (FragmentOp fragment : function.front().getOps<FragmentOp>())
    if (isSubstitute(fragment))
      for (OpResult result : fragment->getResults())
        adoptType(result);
}
