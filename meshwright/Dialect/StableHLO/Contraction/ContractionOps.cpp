//===- ContractionOps.cpp - Dot products ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/Contraction/ContractionAssembly.h"
#include "meshwright/Dialect/StableHLO/Contraction/ConvDimensionNumbers.h"
#include "meshwright/Dialect/StableHLO/Contraction/DotDimensions.h"
#include "meshwright/Dialect/StableHLO/Contraction/QuantizedContraction.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Contraction/ContractionOps.cpp.inc"

void StablehloDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Contraction/ContractionOps.cpp.inc"
      >();
}

/// Checks that the result has the expected shape.
static LogicalResult verifyResultShape(Operation *op,
                                       ArrayRef<int64_t> expected) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (areShapesCompatible(type.getShape(), expected))
    return success();
  return op->emitOpError() << "inferred shape [" << expected
                           << "] is incompatible with return type of "
                              "operation "
                           << type;
}

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  auto isVectorOrMatrix = [](RankedTensorType type) {
    return type.getRank() == 1 || type.getRank() == 2;
  };
  if (!isVectorOrMatrix(lhs) || !isVectorOrMatrix(rhs)) // (C1)
    return emitOpError() << "expected both lhs/rhs ranks to be either 1 or 2, "
                            "but got "
                         << lhs.getRank() << " and " << rhs.getRank();
  int64_t inner = lhs.getShape().back();
  if (!areDimsCompatible(inner, rhs.getDimSize(0)))
    return emitOpError() << "expected the inner dimensions of lhs and rhs to "
                            "be compatible, but got "
                         << lhs << " and " << rhs;
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  if (failed(verifyResultShape(*this, shape))) // (C2)
    return failure();
  return verifyQuantizedContraction(*this, lhs, rhs, getType(), // (C3)
                                    /*contractedRhsDims=*/{0});
}

//===----------------------------------------------------------------------===//
// DotGeneralOp
//===----------------------------------------------------------------------===//

LogicalResult stablehlo::markDims(Operation *op, StringRef side,
                                  RankedTensorType type,
                                  ArrayRef<ArrayRef<int64_t>> lists,
                                  StringRef among, llvm::SmallBitVector &used) {
  used.resize(type.getRank());
  for (ArrayRef<int64_t> dims : lists)
    for (int64_t dim : dims) {
      if (dim < 0 || dim >= type.getRank())
        return op->emitOpError()
               << side << " dimension " << dim
               << " is out of range, expected to be in range [0, "
               << type.getRank() << ")";
      if (used.test(dim))
        return op->emitOpError() << "has duplicated dimension " << dim
                                 << " among " << among << " of " << side;
      used.set(dim);
    }
  return success();
}

LogicalResult stablehlo::verifyPairedDims(Operation *op, StringRef kind,
                                          RankedTensorType lhs,
                                          RankedTensorType rhs,
                                          ArrayRef<int64_t> lhsDims,
                                          ArrayRef<int64_t> rhsDims) {
  for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsDims, rhsDims))
    if (!areDimsCompatible(lhs.getDimSize(lhsDim), rhs.getDimSize(rhsDim)))
      return op->emitOpError()
             << kind << " dimension sizes must match for lhs/rhs, but got "
             << lhs.getDimSize(lhsDim) << " and " << rhs.getDimSize(rhsDim);
  return success();
}

void stablehlo::appendFreeSizes(RankedTensorType type,
                                const llvm::SmallBitVector &used,
                                SmallVectorImpl<int64_t> &shape) {
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim)
    if (!used.test(dim))
      shape.push_back(type.getDimSize(dim));
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  DotDimensionNumbersAttr dims = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatching = dims.getLhsBatchingDimensions();
  ArrayRef<int64_t> rhsBatching = dims.getRhsBatchingDimensions();
  ArrayRef<int64_t> lhsContracting = dims.getLhsContractingDimensions();
  ArrayRef<int64_t> rhsContracting = dims.getRhsContractingDimensions();
  if (lhsBatching.size() != rhsBatching.size()) // (C1)
    return emitOpError() << "lhs and rhs should have the same number of "
                            "batching dimensions, but got "
                         << lhsBatching.size() << " and " << rhsBatching.size();
  if (lhsContracting.size() != rhsContracting.size())
    return emitOpError() << "lhs and rhs should have the same number of "
                            "contracting dimensions, but got "
                         << lhsContracting.size() << " and "
                         << rhsContracting.size();
  llvm::SmallBitVector lhsUsed, rhsUsed;
  StringRef among = "batching and contracting dimensions";
  if (failed(markDims(*this, "lhs", lhs, {lhsBatching, lhsContracting}, among,
                      lhsUsed)) ||
      failed(markDims(*this, "rhs", rhs, {rhsBatching, rhsContracting}, among,
                      rhsUsed)) ||
      failed(verifyPairedDims(*this, "batching", lhs, rhs, // (C2)
                              lhsBatching, rhsBatching)) ||
      failed(verifyPairedDims(*this, "contracting", lhs, rhs, lhsContracting,
                              rhsContracting)))
    return failure();
  auto isDefault = [](Attribute precision) {
    return cast<PrecisionAttr>(precision).getValue() == Precision::DEFAULT;
  };
  if (getAlgorithm() && getPrecisionConfig() && // (C3)
      !llvm::all_of(*getPrecisionConfig(), isDefault))
    return emitOpError() << "must specify DEFAULT precision config when "
                            "algorithm is set, but got "
                         << *getPrecisionConfig();
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatching)
    shape.push_back(lhs.getDimSize(dim));
  appendFreeSizes(lhs, lhsUsed, shape);
  appendFreeSizes(rhs, rhsUsed, shape);
  if (failed(verifyResultShape(*this, shape))) // (C4)
    return failure();
  return verifyQuantizedContraction(*this, lhs, rhs, getType(), // (C5)
                                    rhsContracting);
}

Speculation::Speculatability DotGeneralOp::getSpeculatability() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (lhs.hasStaticShape() && rhs.hasStaticShape())
    return Speculation::Speculatable;
  // Sizes that are only known when the program runs may turn out unequal: those
  // of paired dimensions, and those that the result type promises.
  DotDimensionNumbersAttr dims = getDotDimensionNumbers();
  auto areStatic = [](RankedTensorType type, ArrayRef<int64_t> dims) {
    return llvm::none_of(dims,
                         [&](int64_t dim) { return type.isDynamicDim(dim); });
  };
  if (!areStatic(lhs, dims.getLhsBatchingDimensions()) ||
      !areStatic(rhs, dims.getRhsBatchingDimensions()) ||
      !areStatic(lhs, dims.getLhsContractingDimensions()) ||
      !areStatic(rhs, dims.getRhsContractingDimensions()))
    return Speculation::NotSpeculatable;
  int64_t resultDim = dims.getLhsBatchingDimensions().size();
  auto isFreePromised = [&](RankedTensorType type, ArrayRef<int64_t> batching,
                            ArrayRef<int64_t> contracting) {
    for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim) {
      if (llvm::is_contained(batching, dim) ||
          llvm::is_contained(contracting, dim))
        continue;
      if (type.isDynamicDim(dim) && !getType().isDynamicDim(resultDim))
        return true;
      ++resultDim;
    }
    return false;
  };
  return isFreePromised(lhs, dims.getLhsBatchingDimensions(),
                        dims.getLhsContractingDimensions()) ||
                 isFreePromised(rhs, dims.getRhsBatchingDimensions(),
                                dims.getRhsContractingDimensions())
             ? Speculation::NotSpeculatable
             : Speculation::Speculatable;
}
