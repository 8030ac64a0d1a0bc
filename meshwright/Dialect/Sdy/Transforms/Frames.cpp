//===- Frames.cpp - Data-flow ops around shared bodies --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/Frames.h"

#include "meshwright/Dialect/Sdy/SharedBodyCall.h"

using namespace mlir;
using namespace mlir::sdy;

bool sdy::isFrame(DataFlowOpInterface op) {
  if (isa<ManualComputationOp>(op) || op->getNumRegions() != 1 ||
      !op->getRegion(0).hasOneBlock())
    return false;
  Block &block = op->getRegion(0).front();
  if (block.empty() || !sdy::isSharedBodyCall(&block.front()))
    return false;
  auto hasStaticShape = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasStaticShape();
  };
  return op.getBlockArgumentEdgeOwners().size() == block.getNumArguments() &&
         llvm::all_of(block.without_terminator(),
                      [](Operation &nested) {
                        return sdy::isSharedBodyCall(&nested);
                      }) &&
         llvm::all_of(block.getArgumentTypes(), hasStaticShape) &&
         llvm::all_of(op->getResultTypes(), hasStaticShape);
}
