//===- RaggedDotOp.cpp - Dot product of groups of different sizes ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/Contraction/DotDimensions.h"

using namespace mlir;
using namespace mlir::chlo;
using mlir::stablehlo::areDimsCompatible;
using mlir::stablehlo::areShapesCompatible;
using stablehlo::appendFreeSizes;
using stablehlo::markDims;
using stablehlo::verifyPairedDims;

/// Checks (C3): sizes per group, or for every index of the dimensions of `lhs`
/// that come before the ragged one, `prefix`.
static LogicalResult verifyGroupSizes(RaggedDotOp op, RankedTensorType lhs,
                                      ArrayRef<int64_t> prefix) {
  RankedTensorType sizes = op.getGroupSizes().getType();
  if (sizes.getRank() == 1)
    return success();
  SmallVector<int64_t> expected;
  for (int64_t dim : prefix)
    expected.push_back(lhs.getDimSize(dim));
  if (sizes.getRank() != 0 &&
      areShapesCompatible(sizes.getShape().drop_back(), expected))
    return success();
  return op.emitOpError()
         << "expects group_sizes to have rank 1, or shape [" << expected
         << "] before the dimension of the groups, but its type is " << sizes;
}

/// The dimensions of the lhs that group sizes have one by one, in their order.
static SmallVector<int64_t>
getDimsBeforeRagged(RaggedDotDimensionNumbersAttr dims,
                    const llvm::SmallBitVector &lhsUsed) {
  ArrayRef<int64_t> batching = dims.getLhsBatchingDimensions();
  ArrayRef<int64_t> contracting = dims.getLhsContractingDimensions();
  int64_t ragged = dims.getLhsRaggedDimensions().front();
  auto upToRagged = [&](ArrayRef<int64_t> list) {
    return list.take_until([&](int64_t dim) { return dim == ragged; });
  };
  if (llvm::is_contained(batching, ragged))
    return llvm::to_vector(upToRagged(batching));
  SmallVector<int64_t> before = llvm::to_vector(batching);
  if (llvm::is_contained(contracting, ragged)) {
    llvm::append_range(before, upToRagged(contracting));
    return before;
  }
  for (int64_t dim = 0; dim < ragged; ++dim)
    if (!lhsUsed.test(dim))
      before.push_back(dim);
  return before;
}

LogicalResult RaggedDotOp::verify() {
  auto lhs = dyn_cast<RankedTensorType>(getLhs().getType());
  auto rhs = dyn_cast<RankedTensorType>(getRhs().getType());
  if (!lhs || !rhs)
    return success();
  RaggedDotDimensionNumbersAttr dims = getRaggedDotDimensionNumbers();
  ArrayRef<int64_t> batching = dims.getLhsBatchingDimensions();
  ArrayRef<int64_t> contracting = dims.getLhsContractingDimensions();
  ArrayRef<int64_t> groups = dims.getRhsGroupDimensions();
  if (batching.size() != dims.getRhsBatchingDimensions().size() || // (C1)
      contracting.size() != dims.getRhsContractingDimensions().size())
    return emitOpError() << "lhs and rhs should have the same number of "
                            "batching and of contracting dimensions, but got "
                         << dims;
  llvm::SmallBitVector lhsUsed, rhsUsed;
  StringRef among = "the dimension numbers";
  if (failed(markDims(*this, "lhs", lhs, {batching, contracting}, among,
                      lhsUsed)) ||
      failed(markDims(*this, "rhs", rhs,
                      {dims.getRhsBatchingDimensions(),
                       dims.getRhsContractingDimensions(), groups},
                      among, rhsUsed)) ||
      failed(verifyPairedDims(*this, "batching", lhs, rhs, batching,
                              dims.getRhsBatchingDimensions())) ||
      failed(verifyPairedDims(*this, "contracting", lhs, rhs, contracting,
                              dims.getRhsContractingDimensions())))
    return failure();

  if (dims.getLhsRaggedDimensions().size() != 1) // (C2)
    return emitOpError() << "expects exactly one ragged dimension, but got "
                         << dims.getLhsRaggedDimensions().size();
  int64_t ragged = dims.getLhsRaggedDimensions().front();
  if (ragged < 0 || ragged >= lhs.getRank())
    return emitOpError() << "ragged dimension " << ragged
                         << " is out of range, expected to be in range [0, "
                         << lhs.getRank() << ")";
  bool isBatch = llvm::is_contained(batching, ragged);
  bool isContracting = llvm::is_contained(contracting, ragged);
  size_t numGroupDims = isBatch || isContracting ? 0 : 1;
  if (groups.size() != numGroupDims)
    return emitOpError()
           << "expects " << numGroupDims
           << " group dimension(s) in rhs where the ragged dimension is "
           << (isBatch         ? "batched"
               : isContracting ? "contracted"
                               : "neither batched nor contracted")
           << ", but got " << groups.size();

  if (failed(verifyGroupSizes(*this, lhs,
                              getDimsBeforeRagged(dims, lhsUsed)))) // (C3)
    return failure();
  int64_t numGroups = getGroupSizes().getType().getShape().back();
  if (numGroupDims == 1 &&
      !areDimsCompatible(rhs.getDimSize(groups[0]), numGroups))
    return emitOpError() << "expects the group dimension of rhs to have the "
                            "number of groups, "
                         << numGroups << ", as size, but it has "
                         << rhs.getDimSize(groups[0]);

  SmallVector<int64_t> shape; // (C4)
  if (isContracting)
    shape.push_back(numGroups);
  for (int64_t dim : batching)
    shape.push_back(lhs.getDimSize(dim));
  appendFreeSizes(lhs, lhsUsed, shape);
  appendFreeSizes(rhs, rhsUsed, shape);
  auto result = dyn_cast<RankedTensorType>(getType());
  if (result && !areShapesCompatible(result.getShape(), shape))
    return emitOpError() << "inferred shape [" << shape
                         << "] is incompatible with return type of operation "
                         << result;
  return success();
}
