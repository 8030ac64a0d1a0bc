//===- RegionSyntax.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Syntax/RegionSyntax.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"

using namespace mlir;
using namespace mlir::mpmd;

ParseResult mpmd::parseOperandsAndBody(OpAsmParser &parser,
                                       OperationState &result,
                                       UnresolvedOperands &operands) {
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  // Else an inherent attribute of a wrong type would silently be dropped.
  auto verifyAttributes = [&]() -> ParseResult {
    return result.name.verifyInherentAttrs(result.attributes, [&] {
      return parser.emitError(parser.getNameLoc())
             << "'" << result.name.getStringRef() << "' op ";
    });
  };
  return failure(
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || verifyAttributes() ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(*body, arguments));
}

void mpmd::printOperandsAndBody(OpAsmPrinter &printer, Operation *op,
                                ArrayRef<NamedAttribute> attrs,
                                ArrayRef<StringRef> elided) {
  Region &body = op->getRegion(0);
  printer << " (";
  printer.printOperands(op->getOperands());
  printer << ')';
  printer.printOptionalAttrDict(attrs, elided);
  printer << " (";
  llvm::interleaveComma(body.getArguments(), printer, [&](BlockArgument arg) {
    printer.printRegionArgument(arg);
  });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult mpmd::parseFunctionalTypes(OpAsmParser &parser,
                                       OperationState &result,
                                       const UnresolvedOperands &operands,
                                       SMLoc operandsLoc) {
  FunctionType types;
  if (parser.parseColonType(types) ||
      parser.resolveOperands(operands, types.getInputs(), operandsLoc,
                             result.operands))
    return failure();
  result.addTypes(types.getResults());
  return success();
}

template <typename EntryT>
static LogicalResult verifyList(Operation *op, StringRef name, StringRef what,
                                StringRef example) {
  Attribute attribute = op->getAttr(name);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!attribute || (list && llvm::all_of(list, llvm::IsaPred<EntryT>)))
    return success();
  return emitError(op->getLoc())
         << "`" << name << "` must be a list of " << what << ", as in `" << name
         << " = " << example << "`, but is " << attribute;
}

/// COMPAT(entry-lists): The lists may be longer or shorter than those of
/// operands and results.
LogicalResult mpmd::verifyLists(Operation *op) {
  return success(
      succeeded(verifyList<DictionaryAttr>(op, kArgAttrsAttr, "dictionaries",
                                           "[{}]")) &&
      succeeded(verifyList<DictionaryAttr>(op, kResAttrsAttr, "dictionaries",
                                           "[{}]")) &&
      succeeded(verifyList<StringAttr>(op, kInferredByAttr, "names of passes",
                                       "[\"uniquify\"]")));
}
