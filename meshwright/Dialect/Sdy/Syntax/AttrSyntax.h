//===- AttrSyntax.h - Lists as sdy attributes and ops write -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lists as attributes and ops write them: parse and print functions named after
// the `custom` directives that use them, also in other dialects.
// An element of a list may be written in full (`#sdy.sharding<…>`)
// or as an alias; it is always printed stripped.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SYNTAX_ATTRSYNTAX_H
#define MESHWRIGHT_DIALECT_SDY_SYNTAX_ATTRSYNTAX_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/DialectImplementation.h"

namespace mlir::sdy {

/// `{"x", "y":(1)2}`
ParseResult parseAxisRefs(AsmParser &parser,
                          SmallVectorImpl<AxisRefAttr> &axes);
void printAxisRefs(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes);

/// `{"x", "y"}`
ParseResult parseAxisNames(AsmParser &parser,
                           SmallVectorImpl<StringAttr> &names);
void printAxisNames(AsmPrinter &printer, ArrayRef<StringAttr> names);

/// `[<@mesh, [{"x"}]>, <@mesh, []>]`, as after `in_shardings=`.
ParseResult parseShardings(AsmParser &parser,
                           TensorShardingPerValueAttr &shardings);
void printShardings(AsmPrinter &printer, TensorShardingPerValueAttr shardings);
inline void printShardings(AsmPrinter &printer, Operation *,
                           TensorShardingPerValueAttr shardings) {
  printShardings(printer, shardings);
}

/// `max`, `min` or nothing; `sum`, the default, is read but not stored.
OptionalParseResult parseOptionalReductionKind(AsmParser &parser,
                                               ReductionKindAttr &kind);
void printOptionalReductionKind(AsmPrinter &printer, Operation *op,
                                ReductionKindAttr kind);

/// `[a, b]`
template <typename AttrT>
ParseResult parseBracketedAttrs(AsmParser &parser, SmallVector<AttrT> &attrs) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseCustomAttributeWithFallback(attrs.emplace_back());
      });
}

template <typename AttrT>
void printBracketedAttrs(AsmPrinter &printer, ArrayRef<AttrT> attrs) {
  printer << '[';
  llvm::interleaveComma(attrs, printer, [&](AttrT attr) {
    if (attr)
      printer.printStrippedAttrOrType(attr);
    else // Only between passes; it cannot be parsed.
      printer << "null";
  });
  printer << ']';
}

/// `[{a}, {b}]`
template <typename AttrT>
ParseResult parseBracedAttrs(AsmParser &parser, SmallVector<AttrT> &attrs) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return failure(
            parser.parseLBrace() ||
            parser.parseCustomAttributeWithFallback(attrs.emplace_back()) ||
            parser.parseRBrace());
      });
}

template <typename AttrT>
void printBracedAttrs(AsmPrinter &printer, ArrayRef<AttrT> attrs) {
  printer << '[';
  llvm::interleaveComma(attrs, printer, [&](AttrT attr) {
    printer << '{';
    printer.printStrippedAttrOrType(attr);
    printer << '}';
  });
  printer << ']';
}

} // namespace mlir::sdy

#endif
