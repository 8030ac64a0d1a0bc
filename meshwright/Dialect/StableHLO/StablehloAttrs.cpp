//===- StablehloAttrs.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Dialect/StableHLO/StructForm.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::stablehlo;

#include "meshwright/Dialect/StableHLO/StablehloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/StableHLO/StablehloAttrs.cpp.inc"

void StablehloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "meshwright/Dialect/StableHLO/StablehloAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

/// Parses `<bounds = [8, ?]>`, the long form of a bounds encoding.
static Attribute parseTypeExtensions(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parser.parseKeyword("bounds") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseSize(parser, bounds); }) ||
      parser.parseGreater())
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

Attribute StablehloDialect::parseAttribute(DialectAsmParser &parser,
                                           Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  OptionalParseResult parsed =
      generatedAttributeParser(parser, &mnemonic, type, attribute);
  if (parsed.has_value())
    return attribute;
  if (mnemonic == "type_extensions")
    return parseTypeExtensions(parser);
  parser.emitError(loc) << "unknown attribute `" << mnemonic << "` in dialect `"
                        << getNamespace() << "`";
  return {};
}

void StablehloDialect::printAttribute(Attribute attribute,
                                      DialectAsmPrinter &printer) const {
  [[maybe_unused]] LogicalResult printed =
      generatedAttributePrinter(attribute, printer);
  assert(succeeded(printed) && "every attribute of the dialect is generated");
}

//===----------------------------------------------------------------------===//
// ResultAccuracyAttr
//===----------------------------------------------------------------------===//

/// Parses `name = value ,` if it begins with `name`.
template <typename Value>
static ParseResult parseOptionalTolerance(AsmParser &parser, StringRef name,
                                          Value &value) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  if (parser.parseEqual())
    return failure();
  if constexpr (std::is_same_v<Value, double>) {
    if (parser.parseFloat(value))
      return failure();
  } else if (parser.parseInteger(value)) {
    return failure();
  }
  return parser.parseComma();
}

ResultAccuracyAttr ResultAccuracyAttr::getDefault(MLIRContext *context) {
  return get(context, APFloat(0.0), APFloat(0.0), /*ulps=*/0,
             ResultAccuracyModeAttr::get(context, ResultAccuracyMode::DEFAULT));
}

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseOptionalTolerance(parser, "atol", atol) ||
      parseOptionalTolerance(parser, "rtol", rtol) ||
      parseOptionalTolerance(parser, "ulps", ulps) ||
      parser.parseKeyword("mode") || parser.parseEqual() ||
      parser.parseAttribute(mode) || parser.parseGreater())
    return {};
  return parser.getChecked<ResultAccuracyAttr>(
      loc, parser.getContext(), APFloat(atol), APFloat(rtol), ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!getAtol().isZero()) {
    printer << "atol = ";
    printer.printFloat(getAtol());
    printer << ", ";
  }
  if (!getRtol().isZero()) {
    printer << "rtol = ";
    printer.printFloat(getRtol());
    printer << ", ";
  }
  if (getUlps() != 0)
    printer << "ulps = " << getUlps() << ", ";
  printer << "mode = " << getMode() << '>';
}

LogicalResult
ResultAccuracyAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                           APFloat atol, APFloat rtol, int64_t ulps,
                           ResultAccuracyModeAttr mode) {
  if (atol.isNegative() || rtol.isNegative() || ulps < 0) // (C1)
    return emitError() << "expected non-negative tolerances";
  bool hasTolerance = !atol.isZero() || !rtol.isZero() || ulps != 0;
  if (hasTolerance && mode.getValue() != ResultAccuracyMode::TOLERANCE) // (C2)
    return emitError() << "mode " << stringifyEnum(mode.getValue())
                       << " has no tolerances; use mode TOLERANCE";
  return success();
}

//===----------------------------------------------------------------------===//
// OutputOperandAliasAttr
//===----------------------------------------------------------------------===//

/// Parses `name = [1, 2]`.
static ParseResult parseIndices(AsmParser &parser, StringRef name,
                                SmallVectorImpl<int64_t> &indices) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(indices.emplace_back());
  });
}

Attribute OutputOperandAliasAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> outputIndices, operandIndices;
  int64_t operand = 0;
  if (parser.parseLess() ||
      parseIndices(parser, "output_tuple_indices", outputIndices) ||
      parser.parseComma() || parser.parseKeyword("operand_index") ||
      parser.parseEqual() || parser.parseInteger(operand) ||
      parser.parseComma() ||
      parseIndices(parser, "operand_tuple_indices", operandIndices) ||
      parser.parseGreater())
    return {};
  return OutputOperandAliasAttr::get(parser.getContext(), outputIndices,
                                     operand, operandIndices);
}

void OutputOperandAliasAttr::print(AsmPrinter &printer) const {
  printer << "<output_tuple_indices = [" << getOutputTupleIndices()
          << "], operand_index = " << getOperandIndex()
          << ", operand_tuple_indices = [" << getOperandTupleIndices() << "]>";
}

//===----------------------------------------------------------------------===//
// TypeExtensionsAttr
//===----------------------------------------------------------------------===//

Attribute TypeExtensionsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater,
                                     [&] { return parseSize(parser, bounds); }))
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

void TypeExtensionsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getBounds(), printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
  printer << '>';
}

LogicalResult TypeExtensionsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (getBounds().size() != shape.size()) // (C1)
    return emitError() << "bounds have " << getBounds().size()
                       << " entries, but the rank is " << shape.size();
  for (auto [dim, size, bound] : llvm::enumerate(shape, getBounds()))
    if (ShapedType::isStatic(size) && ShapedType::isStatic(bound)) // (C2)
      return emitError() << "dimension " << dim << " is static (" << size
                         << "), so its bound must be ?, but it is " << bound;
  return success();
}
