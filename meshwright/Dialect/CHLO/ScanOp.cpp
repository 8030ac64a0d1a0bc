//===- ScanOp.cpp - Values carried along a dimension ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::chlo;

void ScanOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  size_t numInputs = getInputs().size();
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() < numInputs ? "input" : "carry");
}

//===----------------------------------------------------------------------===//
// Inference and verification
//===----------------------------------------------------------------------===//

/// Returns the size of the scanned dimension, and checks it (C2).
static FailureOr<int64_t> getScanSize(std::optional<Location> location,
                                      ScanOp::Adaptor adaptor) {
  int64_t size = ShapedType::kDynamic;
  if (std::optional<uint64_t> given = adaptor.getScanDimSize())
    size = *given;
  int64_t dimension = adaptor.getDimension();
  for (Value input : adaptor.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type)
      continue;
    if (dimension >= type.getRank())
      return emitOptionalError(location, "scan dimension ", dimension,
                               " is out of range for input ", type);
    int64_t inputSize = type.getDimSize(dimension);
    if (!stablehlo::areDimsCompatible(size, inputSize))
      return emitOptionalError(location, "expects inputs of size ", size,
                               " along the scan dimension, but got ", type);
    if (ShapedType::isDynamic(size))
      size = inputSize;
  }
  return size;
}

FailureOr<SmallVector<Type>>
ScanOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  FailureOr<int64_t> size = getScanSize(location, adaptor);
  if (failed(size))
    return failure();
  std::optional<OperandRange> returned =
      stablehlo::getReturnedValues(adaptor.getBody());
  size_t numInits = adaptor.getInits().size();
  if (!returned || returned->size() < numInits)
    return emitOptionalError(location,
                             "expects a body that returns outputs and ",
                             numInits, " carried value(s)");
  int64_t dimension = adaptor.getDimension();
  SmallVector<Type> inferred;
  for (Type type : returned->drop_back(numInits).getTypes()) { // (C4)
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() < dimension)
      return emitOptionalError(location,
                               "expects the body to return ranked tensors for "
                               "the outputs, of at least rank ",
                               dimension, ", but got ", type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape.insert(shape.begin() + dimension, *size);
    inferred.push_back(RankedTensorType::get(shape, tensor.getElementType()));
  }
  llvm::append_range(inferred, adaptor.getInits().getTypes());
  return inferred;
}

LogicalResult ScanOp::verify() {
  if (getInputs().empty() && getOutputs().empty()) // (C1)
    return emitOpError() << "expects at least one input or output";
  if (getCarries().size() != getInits().size())
    return emitOpError()
           << "expects one carried result per initial value, but got "
           << getCarries().size() << " and " << getInits().size();
  if (getBody().getNumArguments() != getNumOperands()) // (C3)
    return emitOpError() << "expects its body to have " << getNumOperands()
                         << " arguments, one per operand, but it has "
                         << getBody().getNumArguments();
  for (auto [index, argument, operand] :
       llvm::enumerate(getBody().getArgumentTypes(), getOperandTypes())) {
    Type expected = operand;
    auto tensor = dyn_cast<RankedTensorType>(operand);
    if (!tensor)
      return emitOpError() << "expects operand " << index
                           << " to be ranked, but it is " << operand;
    if (index < getInputs().size()) {
      if (tensor.getRank() <= static_cast<int64_t>(getDimension()))
        return success(); // Reported by inference, which is verified later.
      SmallVector<int64_t> shape(tensor.getShape());
      shape.erase(shape.begin() + getDimension());
      expected = RankedTensorType::get(shape, tensor.getElementType());
    }
    if (!stablehlo::areTypesCompatible(argument, expected))
      return emitOpError() << "expects argument " << index
                           << " of its body to be compatible with " << expected
                           << ", but it is " << argument;
  }
  std::optional<OperandRange> returned =
      stablehlo::getReturnedValues(getBody());
  if (!returned || returned->size() < getInits().size())
    return success(); // Reported later, by the IR's verifier or by inference.
  auto carried = returned->take_back(getInits().size());
  if (!stablehlo::areTypesCompatible(carried.getTypes(), // (C4)
                                     getInits().getTypes()))
    return emitOpError()
           << "expects its body to return carried values of types "
           << getInits().getTypes() << ", but it returns "
           << carried.getTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

void ScanOp::print(OpAsmPrinter &printer) {
  printer << '(' << getInputs() << ") inits (" << getInits()
          << ") dimension=" << getDimension() << ' ';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getDimensionAttrName().getValue(),
                                            getOperandSegmentSizeAttr(),
                                            getResultSegmentSizeAttr()});
  printer << ' ';
  printer.printRegion(getBody());
  printer << " : ";
  printer.printFunctionalType(*this);
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, inits;
  int64_t dimension;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("inits") ||
      parser.parseOperandList(inits, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dimension") || parser.parseEqual() ||
      parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion()) || parser.parseColonType(type))
    return failure();
  int32_t numInputs = operands.size(), numInits = inits.size();
  int32_t numOutputs = static_cast<int32_t>(type.getNumResults()) - numInits;
  if (numOutputs < 0)
    return parser.emitError(loc)
           << "expected at least one result per initial value, but got "
           << type.getNumResults() << " for " << numInits;
  llvm::append_range(operands, inits);
  if (parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  Builder &builder = parser.getBuilder();
  result.addAttribute(getDimensionAttrName(result.name),
                      builder.getI64IntegerAttr(dimension));
  result.addAttribute(getOperandSegmentSizeAttr(),
                      builder.getDenseI32ArrayAttr({numInputs, numInits}));
  result.addAttribute(getResultSegmentSizeAttr(),
                      builder.getDenseI32ArrayAttr({numOutputs, numInits}));
  result.addTypes(type.getResults());
  return success();
}
