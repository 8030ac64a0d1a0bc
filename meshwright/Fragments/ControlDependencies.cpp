//===- ControlDependencies.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

void mlir::mpmd::addControlDependency(FragmentOp first, FragmentOp second) {
  addControlDependencies(first, second);
}

void mlir::mpmd::addControlDependencies(ArrayRef<FragmentOp> firsts,
                                        FragmentOp second) {
  if (firsts.empty())
    return;
  unsigned numOperands = second->getNumOperands();
  if (!second->hasAttr(kControlOperandStartIdxAttr))
    second->setAttr(kControlOperandStartIdxAttr,
                    Builder(second).getI64IntegerAttr(numOperands));
  second->insertOperands(
      numOperands, llvm::map_to_vector(firsts, [](FragmentOp first) -> Value {
        return first->getResult(0);
      }));
}

void mlir::mpmd::removeControlDependencies(func::FuncOp func) {
  walkOutsideFragments<FragmentOp>(func, [](FragmentOp fragment) {
    auto start =
        fragment->getAttrOfType<IntegerAttr>(kControlOperandStartIdxAttr);
    if (!start)
      return;
    fragment->removeAttr(kControlOperandStartIdxAttr);
    int64_t first = start.getInt(), numOperands = fragment->getNumOperands();
    if (first >= 0 && first < numOperands)
      fragment->eraseOperands(first, numOperands - first);
  });
}
