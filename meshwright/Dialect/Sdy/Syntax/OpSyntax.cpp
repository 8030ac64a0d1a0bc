//===- OpSyntax.cpp - Text of sdy ops -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Syntax/OpSyntax.h"

using namespace mlir;
using namespace mlir::sdy;

ParseResult sdy::parseRegionWithArgs(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true) ||
      parser.parseRegion(region, arguments, /*enableNameShadowing=*/true));
}

void sdy::printRegionWithArgs(OpAsmPrinter &printer, Operation *,
                              Region &region) {
  printer << '(';
  llvm::interleaveComma(region.getArguments(), printer, [&](BlockArgument arg) {
    printer.printRegionArgument(arg);
  });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  // The value of a quantized constant has another type than the result, which
  // then needs the generic form.
  if (succeeded(parser.parseOptionalLParen()))
    return failure(parser.parseRParen() ||
                   parser.parseGenericOperationAfterOpName(
                       result, ArrayRef<OpAsmParser::UnresolvedOperand>()));
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseAttribute(value, getValueAttrName(result.name),
                            result.attributes))
    return failure();
  result.addTypes(value.getShapedType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  if (getValue().getShapedType() != getOutput().getType()) {
    printer.printGenericOp(*this, /*printOpName=*/false);
    return;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getValueAttrName().getValue()});
  printer << ' ' << getValue();
}
