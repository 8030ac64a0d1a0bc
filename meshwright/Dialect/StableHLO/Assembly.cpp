//===- Assembly.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// Distributes a function type over `numOperands` operands and one result.
static ParseResult splitFunctionType(OpAsmParser &parser, SMLoc loc,
                                     FunctionType type, size_t numOperands,
                                     Type &result) {
  if (type.getNumInputs() != numOperands)
    return parser.emitError(loc)
           << numOperands << " operands present, but expected "
           << type.getNumInputs();
  if (type.getNumResults() != 1)
    return parser.emitError(loc) << "expected exactly one result type, but got "
                                 << type.getNumResults();
  result = type.getResult(0);
  return success();
}

ParseResult stablehlo::parseTypesOfSignature(OpAsmParser &parser,
                                             ArrayRef<Type *> operands,
                                             Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function) {
    for (Type *operand : operands)
      *operand = type;
    result = type;
    return success();
  }
  if (splitFunctionType(parser, loc, function, operands.size(), result))
    return failure();
  for (auto [operand, input] : llvm::zip_equal(operands, function.getInputs()))
    *operand = input;
  return success();
}

void stablehlo::printTypesOfSignature(OpAsmPrinter &printer,
                                      ArrayRef<Type> operands, Type result) {
  if (llvm::all_of(operands, [&](Type type) { return type == result; })) {
    printer.printType(result);
    return;
  }
  printer.printFunctionalType(TypeRange(operands), TypeRange(result));
}

ParseResult stablehlo::parseVariadicSignature(
    OpAsmParser &parser, ArrayRef<OpAsmParser::UnresolvedOperand> operands,
    SmallVectorImpl<Type> &operandTypes, Type &result) {
  operandTypes.resize(operands.size());
  SmallVector<Type *> types =
      llvm::map_to_vector(operandTypes, [](Type &type) { return &type; });
  return parseTypesOfSignature(parser, types, result);
}

void stablehlo::printVariadicSignature(OpAsmPrinter &printer, Operation *,
                                       OperandRange, TypeRange operandTypes,
                                       Type result) {
  printTypesOfSignature(printer, llvm::to_vector(operandTypes), result);
}

ParseResult stablehlo::parsePairwiseTypes(OpAsmParser &parser,
                                          SmallVectorImpl<Type> &operandTypes,
                                          SmallVectorImpl<Type> &resultTypes) {
  if (parser.parseTypeList(operandTypes))
    return failure();
  resultTypes.assign(operandTypes.begin(), operandTypes.end());
  return success();
}

void stablehlo::printPairwiseTypes(OpAsmPrinter &printer, Operation *,
                                   TypeRange operandTypes, TypeRange) {
  llvm::interleaveComma(operandTypes, printer);
}

ParseResult stablehlo::parseSelectTypes(OpAsmParser &parser, Type &pred,
                                        Type &onTrue, Type &onFalse,
                                        Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() == 2) {
    pred = types[0];
    onTrue = onFalse = result = types[1];
    return success();
  }
  auto function =
      types.size() == 1 ? dyn_cast<FunctionType>(types[0]) : FunctionType();
  if (!function)
    return parser.emitError(loc, "expected functional type or list of two "
                                 "types: that of the predicate and that of the "
                                 "result");
  if (splitFunctionType(parser, loc, function, 3, result))
    return failure();
  pred = function.getInput(0);
  onTrue = function.getInput(1);
  onFalse = function.getInput(2);
  return success();
}

void stablehlo::printSelectTypes(OpAsmPrinter &printer, Operation *, Type pred,
                                 Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result) {
    printer << pred << ", " << result;
    return;
  }
  printer.printFunctionalType(TypeRange({pred, onTrue, onFalse}),
                              TypeRange(result));
}

/// Returns the type of real and imaginary part of a complex tensor, null for
/// other types.
static Type getPartType(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  auto complex =
      shaped ? dyn_cast<ComplexType>(shaped.getElementType()) : ComplexType();
  return complex ? Type(shaped.clone(complex.getElementType())) : Type();
}

ParseResult stablehlo::parseComplexTypes(OpAsmParser &parser, Type &lhs,
                                         Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type)) {
    if (splitFunctionType(parser, loc, function, 2, result))
      return failure();
    lhs = function.getInput(0);
    rhs = function.getInput(1);
    return success();
  }
  Type part = getPartType(type);
  if (!part)
    return parser.emitError(loc)
           << "expected tensor with complex element type, but got " << type;
  lhs = rhs = part;
  result = type;
  return success();
}

void stablehlo::printComplexTypes(OpAsmPrinter &printer, Operation *, Type lhs,
                                  Type rhs, Type result) {
  Type part = getPartType(result);
  if (lhs == part && rhs == part) {
    printer.printType(result);
    return;
  }
  printer.printFunctionalType(TypeRange({lhs, rhs}), TypeRange(result));
}

ParseResult stablehlo::parseTupleTypes(OpAsmParser &parser,
                                       SmallVectorImpl<Type> &operandTypes,
                                       Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(loc) << "expected tuple type, but got " << result;
  llvm::append_range(operandTypes, tuple.getTypes());
  return success();
}

void stablehlo::printTupleTypes(OpAsmPrinter &printer, Operation *, TypeRange,
                                Type result) {
  printer.printType(result);
}

//===----------------------------------------------------------------------===//
// Operands and attributes
//===----------------------------------------------------------------------===//

ParseResult stablehlo::parseOperandsAndComma(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      break;
    if (*parsed || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
  // Without operands the comma has no list before it.
  if (operands.empty())
    (void)parser.parseOptionalComma();
  return success();
}

void stablehlo::printOperandsAndComma(OpAsmPrinter &printer, Operation *,
                                      OperandRange operands) {
  printer.printOperands(operands);
  printer << ',';
}

ParseResult stablehlo::parseSliceRanges(OpAsmParser &parser,
                                        DenseI64ArrayAttr &starts,
                                        DenseI64ArrayAttr &limits,
                                        DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    if (failed(parser.parseOptionalColon()))
      return success();
    return parser.parseInteger(stride.back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void stablehlo::printSliceRanges(OpAsmPrinter &printer, Operation *,
                                 DenseI64ArrayAttr starts,
                                 DenseI64ArrayAttr limits,
                                 DenseI64ArrayAttr strides) {
  printer << '[';
  llvm::interleaveComma(
      llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()),
      printer, [&](auto range) {
        auto [start, limit, stride] = range;
        printer << start << ':' << limit;
        if (stride != 1)
          printer << ':' << stride;
      });
  printer << ']';
}

ParseResult stablehlo::parseFloatFormat(OpAsmParser &parser,
                                        IntegerAttr &exponentBits,
                                        IntegerAttr &mantissaBits) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  StringRef rest = format;
  int32_t exponent = 0, mantissa = 0;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponent) ||
      !rest.consume_front("m") || rest.consumeInteger(10, mantissa) ||
      !rest.empty())
    return parser.emitError(loc)
           << "expected exponent and mantissa bits in the form e5m2, but got "
           << format;
  exponentBits = parser.getBuilder().getI32IntegerAttr(exponent);
  mantissaBits = parser.getBuilder().getI32IntegerAttr(mantissa);
  return success();
}

void stablehlo::printFloatFormat(OpAsmPrinter &printer, Operation *,
                                 IntegerAttr exponentBits,
                                 IntegerAttr mantissaBits) {
  printer << 'e' << exponentBits.getInt() << 'm' << mantissaBits.getInt();
}
