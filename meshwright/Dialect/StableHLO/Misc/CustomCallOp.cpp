//===- CustomCallOp.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Misc/CustomCallVerifier.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::stablehlo;

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (!getHasSideEffect())
    return;
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Write::get());
  effects.emplace_back(MemoryEffects::Read::get());
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Returns true for each of 0..rank-1 exactly once, in any order.
static bool isPermutation(DenseIntElementsAttr layout, int64_t rank) {
  if (layout.getNumElements() != rank)
    return false;
  llvm::SmallBitVector seen(rank);
  for (const APInt &element : layout) {
    int64_t dim = element.getSExtValue();
    if (dim < 0 || dim >= rank || seen.test(dim))
      return false;
    seen.set(dim);
  }
  return true;
}

static LogicalResult verifyLayouts(CustomCallOp op, StringRef kind,
                                   TypeRange types, ArrayAttr layouts) {
  if (types.size() != layouts.size())
    return op.emitOpError() << "has " << types.size() << " " << kind
                            << " values, but " << layouts.size() << " " << kind
                            << " layouts; expected one layout per value";
  for (auto [index, type, layout] : llvm::enumerate(types, layouts)) {
    if (isa<TupleType>(type))
      return op.emitOpError() << kind << " " << index
                              << " is a tuple, which cannot have a layout";
    auto dims = cast<DenseIntElementsAttr>(layout);
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped && !dims.empty())
      return op.emitOpError()
             << kind << " " << index << " of type " << type
             << " is not a tensor, so its layout must be empty";
    if (shaped && shaped.hasRank() && !isPermutation(dims, shaped.getRank()))
      return op.emitOpError()
             << "incorrect layout " << layout << " for " << kind << " " << index
             << " of type " << type
             << ", layout must be a permutation of its dimensions";
  }
  return success();
}

static LogicalResult verifyAllLayouts(CustomCallOp op) {
  std::optional<ArrayAttr> operands = op.getOperandLayouts();
  std::optional<ArrayAttr> results = op.getResultLayouts();
  if (!operands && !results)
    return success();
  if (!operands || !results) // (C1)
    return op.emitOpError("layout attributes should be specified for either "
                          "both operands and results or none");
  if (failed(verifyLayouts(op, "operand", op.getOperandTypes(), *operands)))
    return failure(); // (C2)
  TypeRange types = op.getResultTypes();
  auto tuple = types.size() == 1 ? dyn_cast<TupleType>(types[0]) : nullptr;
  return verifyLayouts(op, "result",
                       tuple ? TypeRange(tuple.getTypes()) : types, *results);
}

//===----------------------------------------------------------------------===//
// Aliases and buffers
//===----------------------------------------------------------------------===//

/// Follows tuple indices into `type`, null if they lead nowhere.
static Type getPart(Type type, ArrayRef<int64_t> indices) {
  for (int64_t index : indices) {
    auto tuple = dyn_cast_or_null<TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size()))
      return nullptr;
    type = tuple.getType(index);
  }
  return type;
}

static LogicalResult verifyAlias(CustomCallOp op,
                                 OutputOperandAliasAttr alias) {
  if (op.getNumResults() == 0)
    return op.emitOpError()
           << "has no results that an operand could alias, but got " << alias
           << "; expected output_operand_aliases to be empty";
  int64_t index = alias.getOperandIndex();
  if (index < 0 || index >= static_cast<int64_t>(op.getNumOperands()))
    return op.emitOpError()
           << "expects operand_index of " << alias << " to be in range [0, "
           << op.getNumOperands() << ")";
  Type operand =
      getPart(op.getOperand(index).getType(), alias.getOperandTupleIndices());
  if (!operand)
    return op.emitOpError() << "expects operand_tuple_indices of " << alias
                            << " to lead into operand " << index << " of type "
                            << op.getOperand(index).getType();
  // Several results count as one tuple.
  Type whole = op.getNumResults() == 1
                   ? op.getResult(0).getType()
                   : TupleType::get(op.getContext(), op.getResultTypes());
  Type output = getPart(whole, alias.getOutputTupleIndices());
  if (!output)
    return op.emitOpError() << "expects output_tuple_indices of " << alias
                            << " to lead into the results of type " << whole;
  if (output != operand)
    return op.emitOpError()
           << "shapes mismatch in output_operand_aliases: "
           << "operand has type " << operand << ", but the result " << output;
  return success();
}

/// Verifies one of the three targets that make or end a buffer.
static LogicalResult verifyBufferTarget(CustomCallOp op, bool takesTensor,
                                        bool takesBuffer, bool returnsBuffer) {
  StringRef target = op.getCallTargetName();
  unsigned numOperands = takesTensor || takesBuffer ? 1 : 0;
  if (op.getNumOperands() != numOperands || op.getNumResults() != 1)
    return op.emitOpError() << "target " << target << " requires "
                            << numOperands << " operands and one result";
  Type result = op.getResult(0).getType();
  if (returnsBuffer != isa<MemRefType>(result))
    return op.emitOpError() << "target " << target << " requires a "
                            << (returnsBuffer ? "memref" : "tensor")
                            << " result, but got " << result;
  if (numOperands == 0)
    return success();
  Type operand = op.getOperand(0).getType();
  if (takesBuffer != isa<MemRefType>(operand))
    return op.emitOpError() << "target " << target << " requires a "
                            << (takesBuffer ? "memref" : "tensor")
                            << " operand, but got " << operand;
  auto from = dyn_cast<ShapedType>(operand), to = dyn_cast<ShapedType>(result);
  if (!from || !to || from.getElementType() != to.getElementType() ||
      !areShapesCompatible(from, to))
    return op.emitOpError()
           << "target " << target << " keeps shape and element type, but got "
           << operand << " and " << result;
  return success();
}

static LogicalResult verifyBuffers(CustomCallOp op) {
  StringRef target = op.getCallTargetName();
  if (target == "CreateBuffer")
    return verifyBufferTarget(op, /*takesTensor=*/false, /*takesBuffer=*/false,
                              /*returnsBuffer=*/true);
  if (target == "Pin")
    return verifyBufferTarget(op, /*takesTensor=*/true, /*takesBuffer=*/false,
                              /*returnsBuffer=*/true);
  if (target == "Unpin")
    return verifyBufferTarget(op, /*takesTensor=*/false, /*takesBuffer=*/true,
                              /*returnsBuffer=*/false);
  SmallVector<unsigned> numAliases(op.getNumResults());
  for (Attribute attribute : op.getOutputOperandAliases()) {
    auto alias = cast<OutputOperandAliasAttr>(attribute);
    ArrayRef<int64_t> indices = alias.getOutputTupleIndices();
    ++numAliases[op.getNumResults() == 1 || indices.empty() ? 0 : indices[0]];
  }
  for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
    if (isa<MemRefType>(type) && numAliases[index] != 1)
      return op.emitOpError()
             << "result " << index << " is a buffer, so exactly one entry of "
             << "output_operand_aliases must name it, but " << numAliases[index]
             << " do";
  return success();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyBackendConfig(CustomCallOp op) {
  std::optional<Attribute> config = op.getBackendConfig();
  if (!config)
    return success();
  bool isTyped =
      op.getApiVersion() == CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (isTyped == isa<DictionaryAttr>(*config))
    return success();
  return op.emitOpError() << "api_version "
                          << static_cast<uint32_t>(op.getApiVersion())
                          << " requires backend_config to be a "
                          << (isTyped ? "dictionary" : "string")
                          << " attribute, but got " << *config;
}

LogicalResult CustomCallOp::verify() {
  if (failed(verifyAllLayouts(*this))) // (C1) (C2)
    return failure();
  for (Attribute alias : getOutputOperandAliases()) // (C3)
    if (failed(verifyAlias(*this, cast<OutputOperandAliasAttr>(alias))))
      return failure();
  if (failed(verifyBackendConfig(*this))) // (C4)
    return failure();
  if (failed(verifyBuffers(*this))) // (C5)
    return failure();
  auto *verifier = getOperation()
                       ->getDialect()
                       ->getRegisteredInterface<CustomCallVerifier>();
  return verifier ? verifier->verify(*this) : success(); // (C6)
}
