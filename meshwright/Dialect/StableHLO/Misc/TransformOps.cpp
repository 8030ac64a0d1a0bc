//===- TransformOps.cpp - Fourier, linear algebra, normalization ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// FftOp
//===----------------------------------------------------------------------===//

/// Checks that the last dimensions of the real side have these sizes.
static LogicalResult verifyLastSizes(std::optional<Location> location,
                                     RankedTensorType type,
                                     ArrayRef<int64_t> sizes) {
  if (areShapesCompatible(type.getShape().take_back(sizes.size()), sizes))
    return success();
  return emitOptionalError(location, "expects the last dimensions of ", type,
                           " to be [", sizes, "], according to the fft_length");
}

FailureOr<Type> FftOp::inferType(std::optional<Location> location,
                                 Adaptor adaptor) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> lengths = adaptor.getFftLength();
  int64_t numLengths = lengths.size();
  if (numLengths < 1 || numLengths > 3) // (C1)
    return emitOptionalError(
        location, "expects 1 to 3 lengths of the transform, but got ",
        numLengths);
  if (llvm::any_of(lengths, [](int64_t length) { return length < 0; }))
    return emitOptionalError(
        location,
        "expects lengths of the transform not to be negative, but got [",
        lengths, "]");
  if (operand.getRank() < numLengths)
    return emitOptionalError(
        location, "expects operand's rank, ", operand.getRank(),
        ", to be at least the number of lengths, ", numLengths);
  Type element = operand.getElementType();
  FftType kind = adaptor.getFftType();
  if (kind == FftType::RFFT ? !element.isF32() && !element.isF64() // (C2)
                            : !isa<ComplexType>(element))
    return emitOptionalError(location, "expects elements of operand to be ",
                             kind == FftType::RFFT ? "f32 or f64" : "complex",
                             " for ", stringifyFftType(kind), ", but got ",
                             element);
  SmallVector<int64_t> shape(operand.getShape());
  SmallVector<int64_t> halved(lengths);
  // Of no numbers there are no frequencies; one is taken back for none, too.
  if (lengths.back() != 0 ||
      (kind == FftType::IRFFT && operand.getShape().back() == 1))
    halved.back() = lengths.back() / 2 + 1;
  if (kind == FftType::RFFT) { // (C3)
    if (failed(verifyLastSizes(location, operand, lengths)))
      return failure();
    shape.back() = halved.back();
    element = ComplexType::get(element);
  } else if (kind == FftType::IRFFT) {
    if (failed(verifyLastSizes(location, operand, halved)))
      return failure();
    llvm::copy(lengths, shape.end() - numLengths);
    element = cast<ComplexType>(element).getElementType();
  }
  return RankedTensorType::get(shape, element);
}

Speculation::Speculatability FftOp::getSpeculatability() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  // A transformed size may turn out to be another than the length.
  if (!llvm::none_of(operand.getShape().take_back(getFftLength().size()),
                     ShapedType::isDynamic))
    return Speculation::NotSpeculatable;
  return detail::speculateIfStaticDimsCarry(*this);
}

//===----------------------------------------------------------------------===//
// CholeskyOp and TriangularSolveOp
//===----------------------------------------------------------------------===//

/// Checks that a tensor holds square matrices.
static LogicalResult verifySquare(std::optional<Location> location,
                                  RankedTensorType type) {
  if (type.getRank() < 2)
    return emitOptionalError(location, "expects a to have rank >= 2, but got ",
                             type);
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  if (!areDimsCompatible(matrix[0], matrix[1]))
    return emitOptionalError(
        location, "minor dimensions of a must have equal size, but got ", type);
  return success();
}

FailureOr<Type> CholeskyOp::inferType(std::optional<Location> location,
                                      Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getA().getType());
  if (failed(verifySquare(location, type)))
    return failure();
  return type;
}

FailureOr<Type> TriangularSolveOp::inferType(std::optional<Location> location,
                                             Adaptor adaptor) {
  auto a = cast<RankedTensorType>(adaptor.getA().getType());
  auto b = cast<RankedTensorType>(adaptor.getB().getType());
  if (failed(verifySquare(location, a))) // (C1)
    return failure();
  if (a.getRank() != b.getRank()) // (C2)
    return emitOptionalError(
        location, "operands must have equal rank, but got ", a, " and ", b);
  int64_t shared = b.getDimSize(b.getRank() - (adaptor.getLeftSide() ? 2 : 1));
  if (!areDimsCompatible(a.getShape().back(), shared))
    return emitOptionalError(
        location, "shared dimension of operands must have equal size, but got ",
        a, " and ", b);
  if (!areShapesCompatible(a.getShape().drop_back(2),
                           b.getShape().drop_back(2)))
    return emitOptionalError(
        location,
        "leading batch dimensions of the operands must be same, but got ", a,
        " and ", b);
  if (adaptor.getTransposeA() == Transpose::TRANSPOSE_INVALID) // (C3)
    return emitOptionalError(location, "invalid transpose option value for "
                                       "triangular solve: TRANSPOSE_INVALID");
  return b;
}

Speculation::Speculatability TriangularSolveOp::getSpeculatability() {
  // A diagonal that is promised to be all ones may not be.
  return getUnitDiagonal() ? Speculation::NotSpeculatable
                           : detail::speculateIfStaticOperands(*this);
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

/// Checks the operands of a batch normalization and returns the type of its
/// one-dimensional results.
static FailureOr<Type> verifyBatchNorm(std::optional<Location> location,
                                       ArrayRef<Value> tensors,
                                       ArrayRef<Value> vectors,
                                       int64_t featureIndex) {
  auto type = cast<RankedTensorType>(tensors[0].getType());
  if (featureIndex >= type.getRank()) // (C1)
    return emitOptionalError(location,
                             "expects feature_index to be smaller than the "
                             "rank of operand type; got feature_index ",
                             featureIndex, ", and rank ", type.getRank());
  for (Value tensor : tensors) // (C2)
    if (!areShapesCompatible(type, tensor.getType()))
      return emitOptionalError(location,
                               "expects multi-dimensional operands to have "
                               "compatible shapes, but got ",
                               type, " and ", tensor.getType());
  int64_t numFeatures = type.getDimSize(featureIndex);
  for (Value vector : vectors) {
    int64_t size = cast<RankedTensorType>(vector.getType()).getDimSize(0);
    if (!areDimsCompatible(size, numFeatures))
      return emitOptionalError(
          location,
          "expects the size of single-dimensional operands to be compatible "
          "with feature count, but the size is ",
          size, " and the feature count is ", numFeatures);
  }
  ArrayRef<int64_t> bounds = getBounds(type);
  Attribute encoding = bounds.empty() ? Attribute()
                                      : getBoundsEncoding(type.getContext(),
                                                          bounds[featureIndex]);
  return Type(
      RankedTensorType::get(numFeatures, type.getElementType(), encoding));
}

FailureOr<SmallVector<Type>>
BatchNormGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  FailureOr<Type> vector = verifyBatchNorm(
      location, {adaptor.getOperand(), adaptor.getGradOutput()},
      {adaptor.getScale(), adaptor.getMean(), adaptor.getVariance()},
      adaptor.getFeatureIndex());
  if (failed(vector))
    return failure();
  return SmallVector<Type>{adaptor.getOperand().getType(), *vector, *vector};
}

FailureOr<SmallVector<Type>>
BatchNormInferenceOp::inferTypes(std::optional<Location> location,
                                 Adaptor adaptor) {
  if (failed(verifyBatchNorm(location, adaptor.getOperand(),
                             {adaptor.getScale(), adaptor.getOffset(),
                              adaptor.getMean(), adaptor.getVariance()},
                             adaptor.getFeatureIndex())))
    return failure();
  return SmallVector<Type>{adaptor.getOperand().getType()};
}

FailureOr<SmallVector<Type>>
BatchNormTrainingOp::inferTypes(std::optional<Location> location,
                                Adaptor adaptor) {
  FailureOr<Type> vector = verifyBatchNorm(
      location, adaptor.getOperand(), {adaptor.getScale(), adaptor.getOffset()},
      adaptor.getFeatureIndex());
  if (failed(vector))
    return failure();
  return SmallVector<Type>{adaptor.getOperand().getType(), *vector, *vector};
}
