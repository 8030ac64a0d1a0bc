//===- ConvolutionOps.cpp - Convolutions ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/Contraction/QuantizedContraction.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Dialect/StableHLO/WindowShape.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Checks that the roles of one tensor are at different places of it (C1).
static LogicalResult verifyPositions(Operation *op, StringRef tensor,
                                     int64_t rank, int64_t first,
                                     int64_t second,
                                     ArrayRef<int64_t> spatial) {
  llvm::SmallBitVector used(rank);
  SmallVector<int64_t> positions(spatial);
  positions.append({first, second});
  if (static_cast<int64_t>(positions.size()) != rank)
    return op->emitOpError()
           << "expects rank(" << tensor << ") - 2 spatial dimensions in the "
           << tensor << ", " << rank - 2 << ", but got " << spatial.size();
  for (int64_t position : positions) {
    if (position < 0 || position >= rank)
      return op->emitOpError() << "expects " << tensor
                               << "'s dimension numbers to be in range [0, "
                               << rank << "), but got " << position;
    if (used.test(position))
      return op->emitOpError() << "expects " << tensor
                               << "'s dimension numbers to be unique, but got "
                               << position << " twice";
    used.set(position);
  }
  return success();
}

template <typename ConvolutionT>
static LogicalResult verifyDimensionNumbers(ConvolutionT op) {
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank)
    return op.emitOpError() << "expects convolution arguments to have the same "
                               "number of dimensions, 2 or more, but got "
                            << lhs << " and " << rhs;
  if (op.getType().getRank() != rank)
    return op.emitOpError() << "expects the result to have rank " << rank
                            << " like the arguments, but got " << op.getType();
  ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  if (failed(verifyPositions(op, "input", rank, dims.getInputBatchDimension(),
                             dims.getInputFeatureDimension(),
                             dims.getInputSpatialDimensions())) ||
      failed(verifyPositions(op, "kernel", rank,
                             dims.getKernelInputFeatureDimension(),
                             dims.getKernelOutputFeatureDimension(),
                             dims.getKernelSpatialDimensions())))
    return failure();
  return verifyPositions(op, "output", rank, dims.getOutputBatchDimension(),
                         dims.getOutputFeatureDimension(),
                         dims.getOutputSpatialDimensions());
}

/// Checks that `divisor` divides `size` if that is known.
static LogicalResult verifyDivides(Operation *op, StringRef what, int64_t size,
                                   StringRef groups, int64_t divisor) {
  if (ShapedType::isDynamic(size) || size % divisor == 0)
    return success();
  return op->emitOpError() << "expects " << what << ", " << size
                           << ", to be a multiple of " << groups << ", "
                           << divisor;
}

template <typename ConvolutionT>
static LogicalResult verifyGroups(ConvolutionT op) {
  ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  int64_t batchGroups = op.getBatchGroupCount();
  int64_t featureGroups = op.getFeatureGroupCount();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  int64_t batch = lhs.getDimSize(dims.getInputBatchDimension());
  int64_t inputFeatures = lhs.getDimSize(dims.getInputFeatureDimension());
  int64_t kernelInputs = rhs.getDimSize(dims.getKernelInputFeatureDimension());
  int64_t kernelOutputs =
      rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  if (batchGroups > 1 && featureGroups > 1)
    return op.emitOpError()
           << "expects batch_group_count and feature_group_count not to be "
              "both greater than 1, but got "
           << batchGroups << " and " << featureGroups;
  if (failed(verifyDivides(op, "input batch dimension size", batch,
                           "batch_group_count", batchGroups)) ||
      failed(verifyDivides(op, "input feature dimension size", inputFeatures,
                           "feature_group_count", featureGroups)) ||
      failed(verifyDivides(op, "output feature dimension size of the kernel",
                           kernelOutputs, "batch_group_count", batchGroups)) ||
      failed(verifyDivides(op, "output feature dimension size of the kernel",
                           kernelOutputs, "feature_group_count",
                           featureGroups)))
    return failure();
  if (ShapedType::isStatic(inputFeatures) &&
      ShapedType::isStatic(kernelInputs) &&
      inputFeatures / featureGroups != kernelInputs)
    return op.emitOpError()
           << "expects input feature dimension size / feature_group_count, "
           << inputFeatures / featureGroups
           << ", to be the kernel's input feature dimension size, "
           << kernelInputs;
  return success();
}

template <typename ConvolutionT>
static LogicalResult verifyElements(ConvolutionT op) {
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  RankedTensorType result = op.getType();
  if (!isQuantized(lhs.getElementType()) &&
      !isQuantized(rhs.getElementType()) &&
      !isQuantized(result.getElementType())) {
    if (lhs.getElementType() == rhs.getElementType())
      return success();
    return op.emitOpError()
           << "expects lhs and rhs to have compatible element types, but got "
           << lhs.getElementType() << " and " << rhs.getElementType();
  }
  int64_t outputs = op.getDimensionNumbers().getKernelOutputFeatureDimension();
  SmallVector<int64_t> contracted;
  for (int64_t dim = 0; dim < rhs.getRank(); ++dim)
    if (dim != outputs)
      contracted.push_back(dim);
  return verifyQuantizedContraction(op, lhs, rhs, result, contracted);
}

/// Checks everything but the spatial sizes of the result if `padding` is an
/// operand, as `knowsPadding` says.
template <typename ConvolutionT>
static LogicalResult verifyConvolution(ConvolutionT op,
                                       DenseIntElementsAttr padding,
                                       bool knowsPadding) {
  if (failed(verifyDimensionNumbers(op))) // (C1)
    return failure();
  ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  SmallVector<int64_t> spatialSizes, kernelSizes;
  for (int64_t dim : dims.getInputSpatialDimensions())
    spatialSizes.push_back(lhs.getDimSize(dim));
  for (int64_t dim : dims.getKernelSpatialDimensions())
    kernelSizes.push_back(rhs.getDimSize(dim));
  auto optional = [](std::optional<ArrayRef<int64_t>> list) {
    return list.value_or(ArrayRef<int64_t>());
  };
  auto window = buildWindow( // (C2)
      op.getLoc(),
      {kernelSizes, optional(op.getWindowStrides()), padding,
       optional(op.getLhsDilation()), optional(op.getRhsDilation()),
       op.getWindowReversal().value_or(ArrayRef<bool>())});
  if (failed(window) || failed(verifyGroups(op)) || // (C3)
      failed(verifyElements(op)))                   // (C4)
    return failure();

  SmallVector<int64_t> shape(lhs.getRank(), ShapedType::kDynamic); // (C5)
  int64_t batch = lhs.getDimSize(dims.getInputBatchDimension());
  if (ShapedType::isStatic(batch))
    shape[dims.getOutputBatchDimension()] =
        batch / static_cast<int64_t>(op.getBatchGroupCount());
  shape[dims.getOutputFeatureDimension()] =
      rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  if (knowsPadding) {
    auto counts = countWindows(op.getLoc(), spatialSizes, *window);
    if (failed(counts))
      return failure();
    for (auto [dim, count] :
         llvm::zip_equal(dims.getOutputSpatialDimensions(), *counts))
      shape[dim] = count;
  }
  if (areShapesCompatible(shape, op.getType().getShape()))
    return success();
  return op.emitOpError() << "inferred shape [" << shape
                          << "] is incompatible with return type of operation "
                          << op.getType();
}

//===----------------------------------------------------------------------===//
// ConvolutionOp
//===----------------------------------------------------------------------===//

LogicalResult ConvolutionOp::verify() {
  return verifyConvolution(*this, getPaddingAttr(), /*knowsPadding=*/true);
}

//===----------------------------------------------------------------------===//
// DynamicConvOp
//===----------------------------------------------------------------------===//

LogicalResult DynamicConvOp::verify() {
  RankedTensorType type = getPadding().getType();
  int64_t numSpatial = getDimensionNumbers().getInputSpatialDimensions().size();
  if (type.getDimSize(0) != numSpatial || type.getDimSize(1) != 2)
    return emitOpError() << "expects padding to be of shape [" << numSpatial
                         << ", 2], but its type is " << type;
  DenseIntElementsAttr padding;
  if (DenseIntElementsAttr constant = getConstantOperand(getPadding())) {
    auto values = llvm::map_to_vector(
        constant.getValues<APInt>(), [&](const APInt &value) {
          return type.getElementType().isUnsignedInteger()
                     ? static_cast<int64_t>(value.getLimitedValue(INT64_MAX))
                     : value.getSExtValue();
        });
    padding = DenseIntElementsAttr::get(
        RankedTensorType::get(type.getShape(),
                              IntegerType::get(getContext(), 64)),
        values);
  }
  return verifyConvolution(*this, padding,
                           /*knowsPadding=*/static_cast<bool>(padding));
}
