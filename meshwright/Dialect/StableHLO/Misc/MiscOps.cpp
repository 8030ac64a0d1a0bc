//===- MiscOps.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Misc/MiscOps.cpp.inc"

void StablehloDialect::registerMiscOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Misc/MiscOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getValue().getType());
  return success();
}

bool ConstantOp::isCompatibleReturnTypes(TypeRange inferred,
                                         TypeRange written) {
  if (inferred.size() != 1 || written.size() != 1)
    return false;
  if (inferred[0] == written[0])
    return true;
  auto type = dyn_cast<RankedTensorType>(written[0]);
  auto quantized =
      type ? dyn_cast<quant::QuantizedType>(type.getElementType()) : nullptr;
  return quantized && type.clone(quantized.getStorageType()) == inferred[0];
}

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), isa<IntegerType>(getOutput().getType().getElementType())
                           ? "c"
                           : "cst");
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// Parses what follows `stablehlo.constant(`: the generic form.
static ParseResult parseGenericConstant(OpAsmParser &parser,
                                        OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  FunctionType type;
  if (parser.parseRParen())
    return failure();
  NamedAttrList properties;
  if (succeeded(parser.parseOptionalLess()) &&
      (parser.parseOptionalAttrDict(properties) || parser.parseGreater()))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  if (!properties.empty()) {
    result.propertiesAttr = properties.getDictionary(parser.getContext());
  } else if (Attribute value = result.attributes.erase("value")) {
    result.propertiesAttr = parser.getBuilder().getDictionaryAttr(
        parser.getBuilder().getNamedAttr("value", value));
  }
  if (type.getNumInputs() != 0 || type.getNumResults() != 1)
    return parser.emitError(loc)
           << "expected a constant to have no operands and one result, but got "
           << type;
  result.addTypes(type.getResults());
  return success();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalLParen()))
    return parseGenericConstant(parser, result);
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseAttribute(value))
    return failure();
  // With those of the dictionary, so that one that is given twice is an error.
  result.addAttribute(getValueAttrName(result.name), value);
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  bool isPlain = getValue().getType() == getType();
  if (!isPlain)
    printer << "() <{value = " << getValue() << "}>";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  if (isPlain)
    printer << ' ' << getValue();
  else
    printer << " : () -> " << getType();
}

//===----------------------------------------------------------------------===//
// IotaOp, DynamicIotaOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyIotaDimension(Operation *op, uint64_t dim) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() == 0)
    return op->emitOpError("does not support scalars; use a constant 0");
  if (static_cast<int64_t>(dim) >= type.getRank())
    return op->emitOpError() << "iota dimension " << dim
                             << " is out of range, expected less than the rank "
                             << type.getRank();
  return success();
}

LogicalResult IotaOp::verify() {
  return verifyIotaDimension(*this, getIotaDimension()); // (C1)
}

LogicalResult DynamicIotaOp::verify() {
  if (failed(verifyIotaDimension(*this, getIotaDimension()))) // (C1)
    return failure();
  return verifyShapeOperand(*this, "output_shape", getOutputShape(), // (C2)
                            getType());
}

Speculation::Speculatability DynamicIotaOp::getSpeculatability() {
  if (isConstantOperand(getOutputShape()) ||
      llvm::all_of(getType().getShape(), ShapedType::isDynamic))
    return Speculation::Speculatable;
  return Speculation::NotSpeculatable;
}

//===----------------------------------------------------------------------===//
// Random numbers, ids
//===----------------------------------------------------------------------===//

/// Above this, a shape is a mistake whose list of sizes is not worth its
/// memory.
static constexpr int64_t kMaxRank = 1 << 16;

FailureOr<Type> RngOp::inferType(std::optional<Location> location,
                                 Adaptor adaptor) {
  Type element = getElementTypeOrSelf(adaptor.getA());
  if (element != getElementTypeOrSelf(adaptor.getB())) // (C1)
    return emitOptionalError(location, "requires the same element type for ",
                             "both parameters, but got ", element, " and ",
                             getElementTypeOrSelf(adaptor.getB()));
  if (adaptor.getRngDistribution() == RngDistribution::NORMAL &&
      !isa<FloatType>(element)) // (C2)
    return emitOptionalError(location, "distribution NORMAL requires floats, ",
                             "but the element type is ", element);
  int64_t rank =
      cast<RankedTensorType>(adaptor.getShape().getType()).getNumElements();
  if (rank > kMaxRank)
    return emitOptionalError(location, "shape has ", rank,
                             " elements, which is no rank of a tensor");
  SmallVector<int64_t> shape;
  if (!matchConstantOperand(adaptor.getShape(), shape))
    shape.assign(rank, ShapedType::kDynamic);
  if (llvm::any_of(shape, [](int64_t dim) {
        return dim < 0 && !ShapedType::isDynamic(dim);
      }))
    return emitOptionalError(location, "shape has a negative dimension");
  return RankedTensorType::get(shape, element); // (C3)
}

LogicalResult RngBitGeneratorOp::verify() {
  if (areShapesCompatible(getInitialState().getType(),
                          getOutputState().getType())) // (C1)
    return success();
  return emitOpError() << "output state shape of " << getOutputState().getType()
                       << " must match the initial state shape of "
                       << getInitialState().getType();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Some tensors, then a token.
static LogicalResult verifyReceivedTypes(Operation *op) {
  if (op->getNumResults() == 0)
    return op->emitOpError(
        "result is expected to be at least of size 1, but got 0");
  TypeRange types = op->getResultTypes();
  if (!isa<TokenType>(types.back()))
    return op->emitOpError("last result is expected to be of token type, but "
                           "got ")
           << types.back();
  for (Type type : types.drop_back())
    if (!isa<TensorType>(type))
      return op->emitOpError("everything but the last result is expected to be "
                             "of tensor type, but got ")
             << type;
  return success();
}

LogicalResult InfeedOp::verify() {
  if (failed(verifyReceivedTypes(*this))) // (C1)
    return failure();
  ArrayAttr layouts = getLayoutAttr();
  if (!layouts) // (C2)
    return success();
  if (layouts.size() != getNumResults() - 1)
    return emitOpError() << "layout has " << layouts.size()
                         << " entries, but there are " << getNumResults() - 1
                         << " tensors";
  for (Attribute layout : layouts) {
    auto dims = dyn_cast<ArrayAttr>(layout);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<IntegerAttr>))
      return emitOpError() << "layout entry " << layout
                           << " is not an array of integers";
  }
  return success();
}

static LogicalResult verifyChannelType(Operation *op, ChannelHandleAttr channel,
                                       bool isHostTransfer, int64_t hostType) {
  int64_t expected = isHostTransfer ? hostType : 1;
  if (channel.getType() == expected)
    return success();
  return op->emitOpError() << "channel_handle has type " << channel.getType()
                           << ", expected " << expected
                           << (isHostTransfer ? " for a host transfer"
                                              : " unless is_host_transfer");
}

LogicalResult SendOp::verify() {
  return verifyChannelType(*this, getChannelHandle(), getIsHostTransfer(),
                           /*hostType=*/2); // (C1)
}

LogicalResult RecvOp::verify() {
  if (failed(verifyChannelType(*this, getChannelHandle(), getIsHostTransfer(),
                               /*hostType=*/3))) // (C1)
    return failure();
  return verifyReceivedTypes(*this); // (C2)
}

//===----------------------------------------------------------------------===//
// CompositeOp
//===----------------------------------------------------------------------===//

/// Returns true for letters, digits, underscores and the characters of `extra`.
static bool isWord(StringRef text, StringRef extra = "") {
  return !text.empty() && llvm::all_of(text, [&](char c) {
    return llvm::isAlnum(c) || c == '_' || extra.contains(c);
  });
}

LogicalResult CompositeOp::verify() {
  SmallVector<StringRef> parts;
  getName().split(parts, '.');
  if (parts.size() < 2 || !isWord(parts[0]) || !llvm::isAlpha(parts[0][0]) ||
      !llvm::all_of(ArrayRef(parts).drop_front(),
                    [](StringRef part) { return isWord(part, "$"); })) // (C1)
    return emitOpError() << "name must be a valid namespaced op name, such as "
                            "\"acme.norm\", but it is \""
                         << getName() << "\"";
  return success();
}

LogicalResult
CompositeOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto func = symbolTable.lookupNearestSymbolFrom<func::FuncOp>(
      *this, getDecompositionAttr());
  if (!func) // (C2)
    return emitOpError() << "decomposition " << getDecompositionAttr()
                         << " does not reference a valid function; expected a "
                            "func.func of that name in the module";
  FunctionType type = func.getFunctionType();
  if (type.getInputs() != ArrayRef(llvm::to_vector(getOperandTypes())))
    return emitOpError() << "has operand types " << getOperandTypes()
                         << ", but the decomposition takes "
                         << type.getInputs();
  if (type.getResults() != ArrayRef(llvm::to_vector(getResultTypes())))
    return emitOpError() << "has result types " << getResultTypes()
                         << ", but the decomposition returns "
                         << type.getResults();
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers and tuples
//===----------------------------------------------------------------------===//

LogicalResult
OptimizationBarrierOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &inferred) {
  llvm::append_range(inferred, adaptor.getOperands().getTypes());
  return success();
}

LogicalResult TupleOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &inferred) {
  inferred.push_back(TupleType::get(context, TypeRange(adaptor.getOperands())));
  return success();
}

FailureOr<Type> GetTupleElementOp::inferType(std::optional<Location> location,
                                             Adaptor adaptor) {
  auto tuple = cast<TupleType>(adaptor.getOperand().getType());
  if (adaptor.getIndex() >= tuple.size()) // (C1)
    return emitOptionalError(location, "index ", adaptor.getIndex(),
                             " is out of bounds of a tuple with ", tuple.size(),
                             " elements");
  return tuple.getType(adaptor.getIndex());
}
