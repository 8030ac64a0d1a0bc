//===- SdyAttrs.cpp - Registration of attributes, debugging ones ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

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

//===----------------------------------------------------------------------===//
// Edges of propagation
//===----------------------------------------------------------------------===//

/// Parses the number in `operand-1` or `step-2`, for which the lexer has three
/// tokens.
static ParseResult parseDashedNumber(AsmParser &parser, int64_t &number) {
  return failure(parser.parseMinus() || parser.parseInteger(number));
}

static std::string toString(EdgeValueRefAttr value) {
  return llvm::formatv("{0}-{1}", stringifyEdgeNodeType(value.getType()),
                       value.getIndex());
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
  printer << toString(*this);
}

LogicalResult AxisToPropagationDetailsAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, AxisRefAttr axis,
    EdgeValueRefAttr source, ArrayRef<EdgeValueRefAttr> targets) {
  auto emitEdgeError = [&] {
    return emitError() << "edge of axis " << axis.toString() << " from "
                       << toString(source) << ' ';
  };
  if (targets.empty())
    return emitEdgeError() << "has no target, expected at least one";
  llvm::DenseSet<EdgeValueRefAttr> known;
  for (EdgeValueRefAttr target : targets) {
    if (target == source)
      return emitEdgeError() << "goes to itself";
    if (!known.insert(target).second)
      return emitEdgeError() << "goes to " << toString(target) << " twice";
  }
  return success();
}

Attribute PropagationOneStepAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t step;
  SmallVector<AxisToPropagationDetailsAttr> entries;
  if (parser.parseKeyword("step") || parseDashedNumber(parser, step) ||
      parser.parseEqual() || parseBracedAttrs(parser, entries))
    return {};
  return parser.getChecked<PropagationOneStepAttr>(loc, parser.getContext(),
                                                   step, entries);
}

void PropagationOneStepAttr::print(AsmPrinter &printer) const {
  printer << "step-" << getStepIndex() << " = ";
  printBracedAttrs(printer, getAxisEntries());
}

LogicalResult
PropagationOneStepAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t step,
                               ArrayRef<AxisToPropagationDetailsAttr> edges) {
  if (step < 0)
    return emitError() << "step of propagation must be non-negative, got "
                       << step;
  if (edges.empty())
    return emitError() << "step " << step
                       << " of propagation has no edge, expected at least one";
  return success();
}

LogicalResult
PropagationEdgesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                             ArrayRef<PropagationOneStepAttr> steps) {
  if (steps.empty())
    return emitError() << "propagation has no step, expected at least one";
  llvm::SmallSet<int64_t, 4> known; // In a dense one some numbers are reserved.
  for (PropagationOneStepAttr step : steps)
    if (!known.insert(step.getStepIndex()).second)
      return emitError()
             << "step " << step.getStepIndex()
             << " of propagation is duplicated; list each step once";
  return success();
}
