//===- AttrSyntax.cpp - Lists as sdy attributes and ops write them --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"

using namespace mlir;
using namespace mlir::sdy;

ParseResult sdy::parseAxisRefs(AsmParser &parser,
                               SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        return parser.parseCustomAttributeWithFallback(axes.emplace_back());
      });
}

void sdy::printAxisRefs(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  printer << '{';
  llvm::interleaveComma(axes, printer, [&](AxisRefAttr axis) {
    printer.printStrippedAttrOrType(axis);
  });
  printer << '}';
}

ParseResult sdy::parseAxisNames(AsmParser &parser,
                                SmallVectorImpl<StringAttr> &names) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        std::string name;
        if (parser.parseString(&name))
          return failure();
        names.push_back(StringAttr::get(parser.getContext(), name));
        return success();
      });
}

void sdy::printAxisNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  printer << '{';
  llvm::interleaveComma(names, printer, [&](StringAttr name) {
    printer.printString(name.getValue());
  });
  printer << '}';
}

ParseResult sdy::parseShardings(AsmParser &parser,
                                TensorShardingPerValueAttr &shardings) {
  SmallVector<TensorShardingAttr> values;
  if (parseBracketedAttrs(parser, values))
    return failure();
  shardings = TensorShardingPerValueAttr::get(parser.getContext(), values);
  return success();
}

void sdy::printShardings(AsmPrinter &printer,
                         TensorShardingPerValueAttr shardings) {
  printBracketedAttrs(printer, shardings.getShardings());
}

OptionalParseResult sdy::parseOptionalReductionKind(AsmParser &parser,
                                                    ReductionKindAttr &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return std::nullopt;
  std::optional<ReductionKind> parsed = symbolizeReductionKind(word);
  if (!parsed)
    return parser.emitError(loc) << "unknown reduction kind '" << word
                                 << "', expected sum, max or min";
  kind = *parsed == ReductionKind::Sum
             ? ReductionKindAttr()
             : ReductionKindAttr::get(parser.getContext(), *parsed);
  return success();
}

void sdy::printOptionalReductionKind(AsmPrinter &printer, Operation *,
                                     ReductionKindAttr kind) {
  printer << stringifyReductionKind(kind.getValue());
}
