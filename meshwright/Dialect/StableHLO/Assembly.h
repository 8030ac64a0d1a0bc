//===- Assembly.h - Directives of the assembly formats ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ASSEMBLY_H
#define MESHWRIGHT_DIALECT_STABLEHLO_ASSEMBLY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::stablehlo {

/// An operation whose operands and result all have one type prints that type
/// only, otherwise its function type. Either form is accepted.
ParseResult parseTypesOfSignature(OpAsmParser &parser,
                                  ArrayRef<Type *> operands, Type &result);
void printTypesOfSignature(OpAsmPrinter &printer, ArrayRef<Type> operands,
                           Type result);

/// The same over the types of the operands and, last, of the result.
template <typename... Types>
ParseResult parseSignature(OpAsmParser &parser, Types &...types) {
  Type *all[] = {&types...};
  return parseTypesOfSignature(parser, ArrayRef(all).drop_back(),
                               *ArrayRef(all).back());
}
template <typename... Types>
void printSignature(OpAsmPrinter &printer, Operation *, Types... types) {
  Type all[] = {types...};
  printTypesOfSignature(printer, ArrayRef(all).drop_back(),
                        ArrayRef(all).back());
}

/// The same over a list of operands.
ParseResult
parseVariadicSignature(OpAsmParser &parser,
                       ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                       SmallVectorImpl<Type> &operandTypes, Type &result);
void printVariadicSignature(OpAsmPrinter &printer, Operation *op,
                            OperandRange operands, TypeRange operandTypes,
                            Type result);

/// Types that operands and results share pairwise are written once.
ParseResult parsePairwiseTypes(OpAsmParser &parser,
                               SmallVectorImpl<Type> &operandTypes,
                               SmallVectorImpl<Type> &resultTypes);
void printPairwiseTypes(OpAsmPrinter &printer, Operation *op,
                        TypeRange operandTypes, TypeRange resultTypes);

/// `pred type, result type` if both branches have the type of the result, the
/// function type otherwise.
ParseResult parseSelectTypes(OpAsmParser &parser, Type &pred, Type &onTrue,
                             Type &onFalse, Type &result);
void printSelectTypes(OpAsmPrinter &printer, Operation *op, Type pred,
                      Type onTrue, Type onFalse, Type result);

/// The complex result type if both operands have its real type, the function
/// type otherwise.
ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs,
                              Type &result);
void printComplexTypes(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs,
                       Type result);

/// A tuple type represents the types of the operands as well.
ParseResult parseTupleTypes(OpAsmParser &parser,
                            SmallVectorImpl<Type> &operandTypes, Type &result);
void printTupleTypes(OpAsmPrinter &printer, Operation *op,
                     TypeRange operandTypes, Type result);

/// `%a, %b,`: the format continues after the last comma.
ParseResult parseOperandsAndComma(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands);
void printOperandsAndComma(OpAsmPrinter &printer, Operation *op,
                           OperandRange operands);

/// `[2:6, 1:10:3]`: start, limit and, unless it is 1, stride of each dimension.
ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides);
void printSliceRanges(OpAsmPrinter &printer, Operation *op,
                      DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides);

/// `e5m2`: the bits of exponent and mantissa.
ParseResult parseFloatFormat(OpAsmParser &parser, IntegerAttr &exponentBits,
                             IntegerAttr &mantissaBits);
void printFloatFormat(OpAsmPrinter &printer, Operation *op,
                      IntegerAttr exponentBits, IntegerAttr mantissaBits);

/// The bare keyword of an enumeration.
template <typename EnumAttrT>
ParseResult parseEnumKeyword(OpAsmParser &parser, EnumAttrT &attribute) {
  using Enum = decltype(attribute.getValue());
  FailureOr<Enum> value = FieldParser<Enum>::parse(parser);
  if (failed(value))
    return failure();
  attribute = EnumAttrT::get(parser.getContext(), *value);
  return success();
}
template <typename EnumAttrT>
void printEnumKeyword(OpAsmPrinter &printer, Operation *, EnumAttrT attribute) {
  printer << stringifyEnum(attribute.getValue());
}

} // namespace mlir::stablehlo

#endif
