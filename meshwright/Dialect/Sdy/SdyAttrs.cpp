//===- SdyAttrs.cpp - Registration of attributes, debugging ones ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AttrSyntax.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::sdy;

#include "meshwright/Dialect/Sdy/SdyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/Sdy/SdyAttrs.cpp.inc"

void SdyDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "meshwright/Dialect/Sdy/SdyAttrs.cpp.inc"
      >();
}

/// Parses the number in `operand-1` or `step-2`. The lexer splits the word at
/// the dash, which the number then takes for its sign.
static ParseResult parseDashedNumber(AsmParser &parser, int64_t &number) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(number))
    return failure();
  if (number > 0 || number == std::numeric_limits<int64_t>::min())
    return parser.emitError(loc) << "expected '-' and a number";
  number = -number;
  return success();
}

Attribute EdgeValueRefAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  int64_t index;
  if (parser.parseKeyword(&word))
    return {};
  std::optional<EdgeNodeType> type = symbolizeEdgeNodeType(word);
  if (!type) {
    parser.emitError(loc) << "expected 'operand' or 'result', got '" << word
                          << "'";
    return {};
  }
  if (parseDashedNumber(parser, index))
    return {};
  return get(parser.getContext(), *type, index);
}

void EdgeValueRefAttr::print(AsmPrinter &printer) const {
  printer << stringifyEdgeNodeType(getType()) << '-' << getIndex();
}

Attribute PropagationOneStepAttr::parse(AsmParser &parser, Type) {
  int64_t step;
  SmallVector<AxisToPropagationDetailsAttr> entries;
  if (parser.parseKeyword("step") || parseDashedNumber(parser, step) ||
      parser.parseEqual() || parseBracedAttrs(parser, entries))
    return {};
  return get(parser.getContext(), step, entries);
}

void PropagationOneStepAttr::print(AsmPrinter &printer) const {
  printer << "step-" << getStepIndex() << " = ";
  printBracedAttrs(printer, getAxisEntries());
}
