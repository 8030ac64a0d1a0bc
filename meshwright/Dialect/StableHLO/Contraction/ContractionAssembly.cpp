//===- ContractionAssembly.cpp - Directives of contractions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Contraction/ContractionAssembly.h"
#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Precision and algorithm
//===----------------------------------------------------------------------===//

ParseResult stablehlo::parsePrecisions(OpAsmParser &parser,
                                       ArrayAttr &precisions) {
  SmallVector<Attribute> entries;
  auto parseEntry = [&]() -> ParseResult {
    PrecisionAttr precision;
    if (parseEnumKeyword(parser, precision))
      return failure();
    entries.push_back(precision);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  precisions = parser.getBuilder().getArrayAttr(entries);
  return success();
}

void stablehlo::printPrecisions(OpAsmPrinter &printer, Operation *,
                                ArrayAttr precisions) {
  printer << '[';
  llvm::interleaveComma(precisions, printer, [&](Attribute precision) {
    printer << stringifyEnum(cast<PrecisionAttr>(precision).getValue());
  });
  printer << ']';
}

ParseResult stablehlo::parsePrecisionAndAlgorithm(OpAsmParser &parser,
                                                  ArrayAttr &precisions,
                                                  DotAlgorithmAttr &algorithm) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    if (parser.parseEqual() || parsePrecisions(parser, precisions))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  return failure(parser.parseKeyword("algorithm") || parser.parseEqual() ||
                 parser.parseCustomAttributeWithFallback(algorithm));
}

void stablehlo::printPrecisionAndAlgorithm(OpAsmPrinter &printer, Operation *op,
                                           ArrayAttr precisions,
                                           DotAlgorithmAttr algorithm) {
  if (precisions) {
    printer << ", precision = ";
    printPrecisions(printer, op, precisions);
  }
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

//===----------------------------------------------------------------------===//
// Dot dimension numbers
//===----------------------------------------------------------------------===//

static ParseResult parseDims(OpAsmParser &parser,
                             SmallVectorImpl<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(dims.emplace_back());
  });
}

/// Parses `= [0] x [0]`.
static ParseResult parseDimsPair(OpAsmParser &parser,
                                 SmallVectorImpl<int64_t> &lhs,
                                 SmallVectorImpl<int64_t> &rhs) {
  return failure(parser.parseEqual() || parseDims(parser, lhs) ||
                 parser.parseKeyword("x") || parseDims(parser, rhs));
}

ParseResult
stablehlo::parseDotDimensionNumbers(OpAsmParser &parser,
                                    DotDimensionNumbersAttr &numbers) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (parseDimsPair(parser, lhsBatching, rhsBatching) || parser.parseComma()))
    return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parseDimsPair(parser, lhsContracting, rhsContracting))
    return failure();
  numbers =
      DotDimensionNumbersAttr::get(parser.getContext(), lhsBatching,
                                   rhsBatching, lhsContracting, rhsContracting);
  return success();
}

void stablehlo::printDotDimensionNumbers(OpAsmPrinter &printer, Operation *,
                                         DotDimensionNumbersAttr numbers) {
  ArrayRef<int64_t> lhsBatching = numbers.getLhsBatchingDimensions();
  ArrayRef<int64_t> rhsBatching = numbers.getRhsBatchingDimensions();
  if (!lhsBatching.empty() || !rhsBatching.empty())
    printer << "batching_dims = [" << lhsBatching << "] x [" << rhsBatching
            << "], ";
  printer << "contracting_dims = [" << numbers.getLhsContractingDimensions()
          << "] x [" << numbers.getRhsContractingDimensions() << ']';
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static ParseResult parseDenseArray(OpAsmParser &parser,
                                   DenseI64ArrayAttr &array) {
  SmallVector<int64_t> dims;
  if (parseDims(parser, dims))
    return failure();
  array = parser.getBuilder().getDenseI64ArrayAttr(dims);
  return success();
}

/// Parses `[[1, 1], [0, 2]]`.
static ParseResult parsePadding(OpAsmParser &parser,
                                DenseIntElementsAttr &padding) {
  SmallVector<int64_t> values;
  auto parsePair = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<int64_t, 2> pair;
    if (parseDims(parser, pair))
      return failure();
    if (pair.size() != 2)
      return parser.emitError(loc)
             << "expected two numbers, the padding before and after, but got "
             << pair.size();
    llvm::append_range(values, pair);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePair))
    return failure();
  int64_t rank = values.size() / 2;
  auto type =
      RankedTensorType::get({rank, 2}, parser.getBuilder().getIntegerType(64));
  padding = DenseIntElementsAttr::get(type, values);
  return success();
}

/// Parses booleans, also as numbers: all but 0 are true.
static ParseResult parseReversal(OpAsmParser &parser,
                                 DenseBoolArrayAttr &reversal) {
  SmallVector<bool> values;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (succeeded(parser.parseOptionalKeyword(&keyword, {"true", "false"}))) {
      values.push_back(keyword == "true");
      return success();
    }
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (!isNumber.has_value())
      return parser.emitError(loc) << "expected true, false or an integer";
    if (failed(*isNumber))
      return failure();
    values.push_back(number != 0);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  reversal = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

ParseResult stablehlo::parseWindowAttributes(OpAsmParser &parser,
                                             DenseI64ArrayAttr &strides,
                                             DenseIntElementsAttr &padding,
                                             DenseI64ArrayAttr &lhsDilation,
                                             DenseI64ArrayAttr &rhsDilation,
                                             DenseBoolArrayAttr &reversal) {
  auto parseField = [&](SMLoc loc, StringRef name) -> ParseResult {
    auto once = [&](auto &attribute, auto parse) -> ParseResult {
      if (attribute)
        return parser.emitError(loc)
               << "duplicate `" << name << "` entry; give it once";
      return failure(parser.parseEqual() || parse(parser, attribute));
    };
    if (name == "stride")
      return once(strides, parseDenseArray);
    if (name == "pad")
      return once(padding, parsePadding);
    if (name == "lhs_dilate")
      return once(lhsDilation, parseDenseArray);
    if (name == "rhs_dilate")
      return once(rhsDilation, parseDenseArray);
    if (name == "reverse")
      return once(reversal, parseReversal);
    return parser.emitError(loc)
           << "unexpected `" << name
           << "`, expected one of: `stride`, `pad`, `lhs_dilate`, "
              "`rhs_dilate`, `reverse`";
  };
  do {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)))
      return success(); // Nothing at all, or a trailing comma.
    if (parseField(loc, name))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

void stablehlo::printWindowAttributes(OpAsmPrinter &printer, Operation *,
                                      DenseI64ArrayAttr strides,
                                      DenseIntElementsAttr padding,
                                      DenseI64ArrayAttr lhsDilation,
                                      DenseI64ArrayAttr rhsDilation,
                                      DenseBoolArrayAttr reversal) {
  llvm::ListSeparator separator;
  auto printDims = [&](StringRef name, DenseI64ArrayAttr dims) {
    if (dims)
      printer << StringRef(separator) << name << " = [" << dims.asArrayRef()
              << ']';
  };
  printDims("stride", strides);
  if (padding) {
    printer << StringRef(separator) << "pad = [";
    auto values = padding.getValues<int64_t>();
    for (size_t index = 0; index + 1 < values.size(); index += 2)
      printer << (index == 0 ? "[" : ", [") << values[index] << ", "
              << values[index + 1] << ']';
    printer << ']';
  }
  printDims("lhs_dilate", lhsDilation);
  printDims("rhs_dilate", rhsDilation);
  if (reversal) {
    printer << StringRef(separator) << "reverse = [";
    llvm::interleaveComma(reversal.asArrayRef(), printer);
    printer << ']';
  }
}
