//===- CrossMeshReduction.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"

using namespace mlir;
using namespace mlir::mpmd;

stablehlo::ReduceOp mpmd::getReduceOfPieces(stablehlo::ConcatenateOp concat) {
  if (concat->getNumOperands() == 0 || !concat->hasOneUse() ||
      !llvm::all_equal(concat->getOperandTypes()))
    return {};
  auto reduce = dyn_cast<stablehlo::ReduceOp>(*concat->user_begin());
  if (!reduce || reduce.getInputs().size() != 1 ||
      reduce.getInputs().front() != concat->getResult(0) ||
      reduce.getDimensions().size() != 1 ||
      reduce.getDimensions().front() !=
          static_cast<int64_t>(concat.getDimension()))
    return {};
  auto pieceType = dyn_cast<RankedTensorType>(concat->getOperand(0).getType());
  int64_t dimension = concat.getDimension();
  if (!pieceType || dimension < 0 || dimension >= pieceType.getRank() ||
      pieceType.getDimSize(dimension) != 1)
    return {};
  return reduce;
}

stablehlo::ConcatenateOp mpmd::getConcatOfPieces(stablehlo::ReduceOp reduce) {
  if (reduce.getInputs().empty())
    return {};
  auto concat =
      reduce.getInputs().front().getDefiningOp<stablehlo::ConcatenateOp>();
  if (!concat || getReduceOfPieces(concat) != reduce)
    return {};
  return concat;
}

std::optional<ReductionType>
mpmd::getBodyReductionKind(stablehlo::ReduceOp reduce) {
  Region &body = reduce->getRegion(0);
  if (!body.hasOneBlock())
    return std::nullopt;
  return getReductionKind(body.front());
}

std::optional<ReductionType> mpmd::getMarkedReduction(Operation *op) {
  if (auto attr =
          dyn_cast_or_null<ReductionAttr>(op->getDiscardableAttr(kReduceAttr)))
    return attr.getValue();
  return std::nullopt;
}
