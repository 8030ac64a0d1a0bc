//===- GatherScatterOps.cpp - Indexed access ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/GatherScatter/IndexedAccess.h"
#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/GatherScatter/GatherScatterOps.cpp.inc"

void StablehloDialect::registerGatherScatterOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/GatherScatter/GatherScatterOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Checks the size of every slice (C4).
static LogicalResult verifySliceSizes(std::optional<Location> location,
                                      const IndexedAccess &access,
                                      RankedTensorType operand,
                                      ArrayRef<int64_t> sliceSizes) {
  if (static_cast<int64_t>(sliceSizes.size()) != operand.getRank())
    return emitOptionalError(location, "slice_sizes size (", sliceSizes.size(),
                             ") not equal to operand rank (", operand.getRank(),
                             ")");
  for (auto [dim, size] : llvm::enumerate(sliceSizes)) {
    if (access.isDropped(dim) && size > 1)
      return emitOptionalError(
          location, "expects slice size of dimension ", dim,
          ", which is collapsed or batched, to be <= 1, but got ", size);
    if (size < 0 ||
        (!operand.isDynamicDim(dim) && size > operand.getDimSize(dim)))
      return emitOptionalError(location, "slice size (", size,
                               ") is out of bounds for operand dimension (",
                               operand.getDimSize(dim), ") at index ", dim);
  }
  return success();
}

/// Infers the type of the result; nothing is known of sizes that are not given.
static FailureOr<Type>
inferGatherType(std::optional<Location> location, RankedTensorType operand,
                RankedTensorType indices, GatherDimensionNumbersAttr dims,
                std::optional<ArrayRef<int64_t>> sliceSizes) {
  IndexedAccess access(dims);
  if (failed(access.verify(location, operand, indices, "operand", // (C1)-(C3)
                           "start_indices")) ||
      (sliceSizes &&
       failed(verifySliceSizes(location, access, operand, *sliceSizes))))
    return failure();
  SmallVector<int64_t> windowSizes;
  for (int64_t dim = 0, rank = operand.getRank(); dim < rank; ++dim)
    if (!access.isDropped(dim))
      windowSizes.push_back(sliceSizes ? (*sliceSizes)[dim]
                                       : ShapedType::kDynamic);
  return RankedTensorType::get( // (C5)
      access.interleave(access.getBatchSizes(indices), windowSizes),
      operand.getElementType());
}

FailureOr<Type> GatherOp::inferType(std::optional<Location> location,
                                    Adaptor adaptor) {
  return inferGatherType(
      location, cast<RankedTensorType>(adaptor.getOperand().getType()),
      cast<RankedTensorType>(adaptor.getStartIndices().getType()),
      adaptor.getDimensionNumbers(), adaptor.getSliceSizes());
}

/// Whether what is promised of indices holds, as there is one of them at most.
static bool hasOneIndex(RankedTensorType indices, int64_t indexVectorDim) {
  if (!indices.hasStaticShape())
    return false;
  int64_t count = indices.getNumElements();
  if (indexVectorDim < indices.getRank() && count > 0)
    count /= indices.getDimSize(indexVectorDim);
  return count <= 1;
}

Speculation::Speculatability GatherOp::getSpeculatability() {
  // Indices that are promised to be sorted may not be.
  bool isPromise = getIndicesAreSorted() &&
                   !hasOneIndex(getStartIndices().getType(),
                                getDimensionNumbers().getIndexVectorDim());
  return isPromise ? Speculation::NotSpeculatable
                   : detail::speculateIfStaticOperands(*this);
}

FailureOr<Type> DynamicGatherOp::inferType(std::optional<Location> location,
                                           Adaptor adaptor) {
  auto operandType = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto sizesType = cast<RankedTensorType>(adaptor.getSliceSizes().getType());
  if (sizesType.getDimSize(0) != operandType.getRank())
    return emitOptionalError(
        location, "slice_sizes size (", sizesType.getDimSize(0),
        ") not equal to operand rank (", operandType.getRank(), ")");
  SmallVector<int64_t> sizes;
  std::optional<ArrayRef<int64_t>> knownSizes;
  if (matchConstantOperand(adaptor.getSliceSizes(), sizes))
    knownSizes = sizes;
  return inferGatherType(
      location, operandType,
      cast<RankedTensorType>(adaptor.getStartIndices().getType()),
      adaptor.getDimensionNumbers(), knownSizes);
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

/// Checks that there are values and that they have one shape (C1).
static LogicalResult verifySameShape(ScatterOp op, StringRef what,
                                     ValueRange values) {
  for (Value value : values)
    if (!areShapesCompatible(value.getType(), values[0].getType()))
      return op.emitOpError()
             << "expects all " << what << " to have compatible shapes, but got "
             << values[0].getType() << " and " << value.getType();
  return success();
}

/// Checks the shape of the updates (C5).
static LogicalResult verifyUpdates(ScatterOp op, const IndexedAccess &access,
                                   RankedTensorType input,
                                   RankedTensorType updates) {
  SmallVector<int64_t> batchSizes =
      access.getBatchSizes(op.getScatterIndices().getType());
  int64_t rank = batchSizes.size() + access.window.list.size();
  if (updates.getRank() != rank)
    return op.emitOpError() << "expects updates tensor must be of rank " << rank
                            << ", but its type is " << updates;
  SmallVector<int64_t> windowSizes;
  for (auto [dim, size] : llvm::enumerate(input.getShape()))
    if (!access.isDropped(dim))
      windowSizes.push_back(size);
  SmallVector<int64_t> limits = access.interleave(batchSizes, windowSizes);
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = updates.getDimSize(dim);
    if (areDimsCompatible(size, limits[dim]))
      continue;
    if (!llvm::is_contained(access.window.list, dim))
      return op.emitOpError()
             << "expects bounds of the scatter dimensions of updates to be "
                "same as the bounds of the corresponding dimensions of scatter "
                "indices; for dimension "
             << dim << ", updates bound is " << size
             << ", scatter_indices bound is " << limits[dim];
    if (size > limits[dim])
      return op.emitOpError()
             << "expects bounds of the window dimensions of updates to not "
                "exceed the bounds of the corresponding dimensions of operand; "
                "for dimension "
             << dim << ", updates bound is " << size << ", operand bound is "
             << limits[dim];
  }
  return success();
}

FailureOr<SmallVector<Type>>
ScatterOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  if (adaptor.getInputs().empty() || adaptor.getOperands().size() % 2 == 0)
    return emitOptionalError(
        location, "expects at least one input and as many updates, but got ",
        adaptor.getOperands().size(), " operands");
  auto shapes =
      llvm::map_to_vector(adaptor.getInputs().getTypes(), [](Type type) {
        return cast<RankedTensorType>(type);
      });
  return inferReducedTypes(location, adaptor.getUpdateComputation(), shapes);
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty())
    return success(); // Reported by inference, which is verified later.
  if (failed(verifySameShape(*this, "inputs", getInputs())) ||
      failed(verifySameShape(*this, "updates", getUpdates())))
    return failure();
  auto input = cast<RankedTensorType>(getInputs()[0].getType());
  auto updates = cast<RankedTensorType>(getUpdates()[0].getType());
  IndexedAccess access(getScatterDimensionNumbers());
  if (failed(access.verify(getLoc(), input, getScatterIndices().getType(),
                           "operand", "scatter_indices")) || // (C2)-(C4)
      failed(verifyUpdates(*this, access, input, updates)))
    return failure();
  auto toScalar = [](Type type) -> Type {
    return RankedTensorType::get({},
                                 cast<RankedTensorType>(type).getElementType());
  };
  return verifyReducer( // (C6)
      *this, getUpdateComputation(),
      llvm::map_to_vector(getInputs().getTypes(), toScalar),
      llvm::map_to_vector(getUpdates().getTypes(), toScalar), {});
}

Speculation::Speculatability ScatterOp::getSpeculatability() {
  // What is promised of the indices may not hold.
  bool isPromise =
      (getUniqueIndices() || getIndicesAreSorted()) &&
      !hasOneIndex(getScatterIndices().getType(),
                   getScatterDimensionNumbers().getIndexVectorDim());
  return isPromise ? Speculation::NotSpeculatable
                   : detail::likeBody(detail::speculateIfStaticOperands(*this));
}
