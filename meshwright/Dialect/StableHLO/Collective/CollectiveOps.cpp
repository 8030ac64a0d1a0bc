//===- CollectiveOps.cpp - Between processes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Collective/ReplicaGroups.h"
#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include <set>

using namespace mlir;
using namespace mlir::stablehlo;

/// Upstream asks the attributes of an operation only where they are
/// discardable.
static LogicalResult verifyMeshUse(Operation *op, Attribute groups,
                                   SymbolTableCollection &symbolTable) {
  auto axes = dyn_cast<ReplicaGroupMeshAxesAttr>(groups);
  return axes ? axes.verifySymbolUses(op, symbolTable) : success();
}

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Collective/CollectiveOps.cpp.inc"

void StablehloDialect::registerCollectiveOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Collective/CollectiveOps.cpp.inc"
      >();
}

/// Checks that `part` and `whole` have one shape, but for a dimension along
/// which the size of the former is not zero and divides that of the latter.
static LogicalResult verifyPart(Operation *op, RankedTensorType part,
                                RankedTensorType whole, int64_t splitDim,
                                StringRef dimName) {
  if (part.getRank() != whole.getRank())
    return op->emitOpError()
           << "operand and result should have same rank, but are " << part
           << " and " << whole;
  if (splitDim >= part.getRank())
    return op->emitOpError()
           << dimName << " must be a valid index of operand, but is "
           << splitDim << " for rank " << part.getRank();
  for (int64_t dim = 0; dim < part.getRank(); ++dim) {
    int64_t partSize = part.getDimSize(dim), wholeSize = whole.getDimSize(dim);
    if (dim == splitDim && partSize == 0)
      return op->emitOpError() << "dimension size of " << part << " at "
                               << dimName << " " << dim << " cannot be zero";
    if (areDimsCompatible(partSize, wholeSize))
      continue;
    if (dim != splitDim)
      return op->emitOpError()
             << "operand and result should have the same shape except for the "
                "dimension size at "
             << dimName << ", but are " << part << " and " << whole;
    if (wholeSize % partSize != 0)
      return op->emitOpError()
             << "dimension size of " << whole << " at " << dimName << " " << dim
             << " must be a multiple of that of " << part;
  }
  return success();
}

/// Checks that a computation of two arguments reduces elements of the operands.
static LogicalResult verifyComputation(Operation *op, Region &computation,
                                       TypeRange operands) {
  for (Type operand : operands) {
    auto tensor = cast<RankedTensorType>(operand);
    Type scalar = RankedTensorType::get({}, tensor.getElementType());
    if (failed(verifyReducer(op, computation, operand, scalar, {})))
      return failure();
  }
  return success();
}

/// Infers the shapes of the operands with the element type that the computation
/// returns.
static FailureOr<SmallVector<Type>>
inferReduced(std::optional<Location> location, Region &computation,
             TypeRange operands) {
  if (operands.empty())
    return emitOptionalError(location, "expects at least one operand");
  SmallVector<Type> inferred;
  for (Type operand : operands) {
    auto types = inferReducedTypes(location, computation,
                                   cast<RankedTensorType>(operand));
    if (failed(types))
      return failure();
    llvm::append_range(inferred, *types);
  }
  return inferred;
}

/// Returns the types of the operands that hold data. With a dynamic root, these
/// are all but the last, which must have one position for each.
static FailureOr<TypeRange> getDataTypes(std::optional<Location> location,
                                         TypeRange operands,
                                         bool hasDynamicRoot) {
  if (!hasDynamicRoot)
    return operands;
  if (operands.empty())
    return emitOptionalError(
        location,
        "expects the root as last operand when has_dynamic_root is set");
  TypeRange data = operands.drop_back();
  auto root = cast<RankedTensorType>(operands.back());
  if (!root.getElementType().isSignlessInteger(32) || root.getRank() != 1 ||
      !areDimsCompatible(root.getDimSize(0), data.size()))
    return emitOptionalError(
        location, "expects the root, the last operand, to be tensor<",
        data.size(), "xi32>, but it is ", root);
  return data;
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  if (failed(verifyReplicaGroups(getLoc(), getReplicaGroups(), {})) || // (C1)
      (getUseGlobalDeviceIds() &&
       failed(verifyGlobalDeviceIds(*this, getReplicaGroups(),
                                    getChannelHandleAttr(),
                                    /*smallestHandle=*/0))))
    return failure();
  if (getNumOperands() != getNumResults()) // (C2)
    return emitOpError()
           << "requires the same number of operands and results, but has "
           << getNumOperands() << " and " << getNumResults();
  for (auto [operand, result] :
       llvm::zip_equal(getOperandTypes(), getResultTypes())) {
    auto part = cast<RankedTensorType>(operand);
    auto whole = cast<RankedTensorType>(result);
    if (part.getElementType() != whole.getElementType())
      return emitOpError() << "requires the same element type for operand and "
                              "result, but they are "
                           << part << " and " << whole;
    if (failed(verifyPart(*this, part, whole, getAllGatherDim(), // (C3)
                          "all_gather_dim")))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// AllReduceOp and CollectiveReduceOp
//===----------------------------------------------------------------------===//

template <typename ReduceT>
static LogicalResult verifyReducing(ReduceT op, TypeRange data) {
  ReplicaGroupRules rules;
  rules.allowsPadding = true;
  if (failed(verifyReplicaGroups(op.getLoc(), op.getReplicaGroups(), rules)))
    return failure();
  if (op.getUseGlobalDeviceIds() &&
      failed(verifyGlobalDeviceIds(op, op.getReplicaGroups(),
                                   op.getChannelHandleAttr(),
                                   /*smallestHandle=*/1)))
    return failure();
  return verifyComputation(op, op.getComputation(), data);
}

FailureOr<SmallVector<Type>>
AllReduceOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  return inferReduced(location, adaptor.getComputation(),
                      adaptor.getOperands().getTypes());
}

LogicalResult AllReduceOp::verify() {
  return verifyReducing(*this, getOperandTypes());
}

FailureOr<SmallVector<Type>>
CollectiveReduceOp::inferTypes(std::optional<Location> location,
                               Adaptor adaptor) {
  FailureOr<TypeRange> data = getDataTypes(
      location, adaptor.getOperands().getTypes(), adaptor.getHasDynamicRoot());
  if (failed(data))
    return failure();
  return inferReduced(location, adaptor.getComputation(), *data);
}

LogicalResult CollectiveReduceOp::verify() {
  TypeRange operands = getOperandTypes();
  if (operands.empty())
    return success(); // Reported by inference, which is verified later.
  return verifyReducing(*this,
                        getHasDynamicRoot() ? operands.drop_back() : operands);
}

//===----------------------------------------------------------------------===//
// ReduceScatterOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReplicaGroups(getLoc(), getReplicaGroups(), {})) || // (C1)
      (getUseGlobalDeviceIds() &&
       failed(verifyGlobalDeviceIds(*this, getReplicaGroups(),
                                    getChannelHandleAttr(),
                                    /*smallestHandle=*/1))) ||
      failed(verifyComputation(*this, getComputation(), // (C2)
                               getOperand().getType())) ||
      failed(verifyPart(*this, getType(), getOperand().getType(), // (C3)
                        getScatterDimension(), "scatter_dimension")))
    return failure();
  if (getOperand().getType().getDimSize(getScatterDimension()) == 0)
    return emitOpError() << "operand dimension size at scatter_dimension "
                         << getScatterDimension() << " cannot be zero";
  std::optional<OperandRange> returned = getReturnedValues(getComputation());
  if (!returned)
    return success(); // Reported by the verifier of the IR.
  auto type = cast<RankedTensorType>(returned->front().getType());
  if (!areElementTypesCompatible(type, getType())) // (C4)
    return emitOpError() << "expects the result to have the element type that "
                            "the computation returns, but they are "
                         << getType() << " and " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Type>>
AllToAllOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  int64_t split = adaptor.getSplitDimension();
  int64_t concat = adaptor.getConcatDimension();
  int64_t count = adaptor.getSplitCount();
  ReplicaGroupRules rules;
  rules.groupSize = count;
  if (failed(verifyReplicaGroups(location, adaptor.getReplicaGroups(), // (C1)
                                 rules)))
    return failure();
  SmallVector<Type> inferred;
  for (Type operand : adaptor.getOperands().getTypes()) {
    auto type = cast<RankedTensorType>(operand);
    if (split >= type.getRank() || concat >= type.getRank()) // (C2)
      return emitOptionalError(
          location, "expects split_dimension ", split, " and concat_dimension ",
          concat, " to be less than the rank of the operand, ", type.getRank());
    SmallVector<int64_t> shape(type.getShape());
    if (ShapedType::isStatic(shape[split])) {
      if (shape[split] % count != 0)
        return emitOptionalError(
            location, "split dimension has size ", shape[split],
            ", expected to be a multiple of split_count ", count);
      shape[split] /= count;
    }
    std::optional<int64_t> whole = multiplySizes(shape[concat], count);
    if (!whole)
      return emitOptionalError(location, "makes the size of concat_dimension ",
                               concat, " more than 2^63 - 1, the largest size");
    shape[concat] = *whole;
    inferred.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  return inferred;
}

//===----------------------------------------------------------------------===//
// CollectiveBroadcastOp and CollectivePermuteOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Type>>
CollectiveBroadcastOp::inferTypes(std::optional<Location> location,
                                  Adaptor adaptor) {
  ReplicaGroupRules rules;
  rules.coversAllIds = false;
  if (failed(verifyReplicaGroups(location, adaptor.getReplicaGroups(), // (C1)
                                 rules)))
    return failure();
  FailureOr<TypeRange> data = // (C3)
      getDataTypes(location, adaptor.getOperands().getTypes(),
                   adaptor.getHasDynamicRoot());
  if (failed(data))
    return failure();
  return llvm::to_vector(*data); // (C2)
}

FailureOr<Type> CollectivePermuteOp::inferType(std::optional<Location> location,
                                               Adaptor adaptor) {
  DenseIntElementsAttr pairs = adaptor.getSourceTargetPairs();
  ShapedType type = pairs.getType();
  if (type.getRank() != 2 || type.getDimSize(1) != 2) // (C1)
    return emitOptionalError(
        location,
        "expect source_target_pairs attribute of shape (N, 2), but got (",
        type.getShape(), ")");
  // Sets of the DenseSet kind would reserve two of the ids.
  std::set<int64_t> sources, targets;
  for (auto [index, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    bool isSource = index % 2 == 0;
    if (id < 0)
      return emitOptionalError(
          location, "replica ids in source_target_pairs must be >= 0, but got ",
          id);
    if (!(isSource ? sources : targets).insert(id).second)
      return emitOptionalError(location, "duplicate ",
                               isSource ? "sources" : "targets",
                               " not allowed, but ", id, " is one twice");
  }
  return adaptor.getOperand().getType();
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

FailureOr<Type> AsyncStartOp::inferType(std::optional<Location> location,
                                        Adaptor adaptor) {
  std::optional<OperandRange> returned = getReturnedValues(adaptor.getBody());
  if (!returned || returned->size() != 1 ||
      !isa<RankedTensorType>(returned->front().getType()))
    return emitOptionalError(location,
                             "expects a body that returns exactly one tensor");
  Type type = returned->front().getType();
  return FutureType::get(type.getContext(), type);
}

LogicalResult AsyncStartOp::verify() {
  if (getBody().getArgumentTypes() != getOperandTypes()) // (C1)
    return emitOpError() << "expects the arguments of the body to have the "
                            "types of the operands, but they are ("
                         << getBody().getArgumentTypes() << ") and ("
                         << getOperandTypes() << ")";
  Block &body = getBody().front();
  if (!llvm::hasNItems(body, 2)) // (C2)
    return emitOpError() << "expects exactly one operation in its body besides "
                            "the terminator";
  if (!isa<AllGatherOp, AllReduceOp, AllToAllOp, CollectiveBroadcastOp,
           CollectivePermuteOp, CollectiveReduceOp, ReduceScatterOp, SliceOp,
           DynamicSliceOp, DynamicUpdateSliceOp>(body.front()))
    return emitOpError() << "expects a collective, slice, dynamic_slice or "
                            "dynamic_update_slice in its body, but got "
                         << body.front().getName();
  return success();
}

FailureOr<Type> AsyncDoneOp::inferType(std::optional<Location> location,
                                       Adaptor adaptor) {
  auto future = cast<FutureType>(adaptor.getOperand().getType());
  if (future.getTypes().size() != 1)
    return emitOptionalError(
        location, "expects a future of one tensor, but got ", future);
  return future.getTypes().front();
}
