//===- ShardingRuleAttrs.cpp - Factors of dimensions, sharding rules ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Factors 0 to 17 are written i to z, from 18 on z_1, z_2 and so on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sdy;

static constexpr int64_t kLastPlainFactor = 'z' - 'i';

static std::string factorSymbol(int64_t factor) {
  if (factor <= kLastPlainFactor)
    return std::string(1, 'i' + factor);
  return "z_" + std::to_string(factor - kLastPlainFactor);
}

/// Splits a word such as `ijz_1` into its factors.
static ParseResult parseFactors(AsmParser &parser,
                                SmallVectorImpl<int64_t> &factors) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  StringRef rest = word;
  while (!rest.empty()) {
    char symbol = rest.front();
    if (symbol < 'i' || symbol > 'z')
      return parser.emitError(loc)
             << "expecting factor symbols from 'i' to 'z', received '" << symbol
             << "' in '" << word << "'";
    rest = rest.drop_front();
    int64_t factor = symbol - 'i';
    if (symbol == 'z' && rest.consume_front("_")) {
      StringRef digits =
          rest.take_while([](char c) { return llvm::isDigit(c); });
      rest = rest.drop_front(digits.size());
      int64_t offset;
      if (digits.empty() || digits.front() == '0' ||
          digits.getAsInteger(10, offset) ||
          llvm::AddOverflow(factor, offset, factor))
        return parser.emitError(loc)
               << "expecting positive integer without leading zeros after "
                  "'z_' in '"
               << word << "'";
    }
    factors.push_back(factor);
  }
  return success();
}

static ParseResult parseOneFactor(AsmParser &parser, int64_t &factor) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> factors;
  if (parseFactors(parser, factors))
    return failure();
  if (factors.size() != 1)
    return parser.emitError(loc) << "expecting a single factor symbol";
  factor = factors.front();
  return success();
}

Attribute DimMappingAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> factors;
  if (parseFactors(parser, factors))
    return {};
  return get(parser.getContext(), factors);
}

void DimMappingAttr::print(AsmPrinter &printer) const {
  for (int64_t factor : getFactorIndices())
    printer << factorSymbol(factor);
}

bool TensorMappingAttr::containsFactor(int64_t factorIndex) const {
  return llvm::any_of(getDimMappings(), [&](DimMappingAttr dim) {
    return llvm::is_contained(dim.getFactorIndices(), factorIndex);
  });
}

//===----------------------------------------------------------------------===//
// OpShardingRuleAttr
//===----------------------------------------------------------------------===//

/// `([i, k], [k, j])`
static ParseResult parseMappings(AsmParser &parser,
                                 SmallVectorImpl<TensorMappingAttr> &mappings) {
  if (parser.parseLParen())
    return failure();
  do {
    if (parser.parseCustomAttributeWithFallback(mappings.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRParen();
}

static void printMappings(AsmPrinter &printer,
                          ArrayRef<TensorMappingAttr> mappings) {
  printer << '(';
  llvm::interleaveComma(mappings, printer, [&](TensorMappingAttr mapping) {
    printer.printStrippedAttrOrType(mapping);
  });
  printer << ')';
}

/// `{i=12, j=4}`, or nothing. The factors must come in the order of their
/// numbers.
static ParseResult parseFactorSizes(AsmParser &parser,
                                    SmallVectorImpl<int64_t> &sizes) {
  if (failed(parser.parseOptionalLBrace()))
    return success();
  if (succeeded(parser.parseOptionalRBrace()))
    return success();
  do {
    SMLoc loc = parser.getCurrentLocation();
    int64_t expected = static_cast<int64_t>(sizes.size());
    int64_t factor;
    if (parseOneFactor(parser, factor))
      return failure();
    if (factor != expected)
      return parser.emitError(loc)
             << "expecting factor sizes in the order i, j, k, …: expected '"
             << factorSymbol(expected) << "', received '"
             << factorSymbol(factor) << "'";
    if (parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRBrace();
}

/// `reduction={i, j}`, or nothing.
static ParseResult parseSpecialFactors(AsmParser &parser, StringRef keyword,
                                       SmallVectorImpl<int64_t> &factors) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  if (parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
    return parseOneFactor(parser, factors.emplace_back());
  });
}

static void printSpecialFactors(AsmPrinter &printer, StringRef keyword,
                                ArrayRef<int64_t> factors) {
  if (factors.empty())
    return;
  printer << ' ' << keyword << "={";
  llvm::interleaveComma(factors, printer, [&](int64_t factor) {
    printer << factorSymbol(factor);
  });
  printer << '}';
}

Attribute OpShardingRuleAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorMappingAttr> operands, results;
  SmallVector<int64_t> sizes, reduction, replication, permutation, blocked;
  if (parser.parseLess() || parseMappings(parser, operands) ||
      parser.parseArrow() || parseMappings(parser, results) ||
      parseFactorSizes(parser, sizes) ||
      parseSpecialFactors(parser, "reduction", reduction) ||
      parseSpecialFactors(parser, "need_replication", replication) ||
      parseSpecialFactors(parser, "permutation", permutation) ||
      parseSpecialFactors(parser, "blocked_propagation", blocked))
    return {};
  bool isCustom = succeeded(parser.parseOptionalComma());
  if ((isCustom && parser.parseKeyword("custom")) || parser.parseGreater())
    return {};
  return get(parser.getContext(), sizes, operands, results, reduction,
             replication, permutation, blocked, isCustom);
}

void OpShardingRuleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printMappings(printer, getOperandMappings());
  printer << "->";
  printMappings(printer, getResultMappings());
  if (!getFactorSizes().empty()) {
    printer << " {";
    llvm::interleaveComma(
        llvm::enumerate(getFactorSizes()), printer, [&](auto entry) {
          printer << factorSymbol(entry.index()) << '=' << entry.value();
        });
    printer << '}';
  }
  printSpecialFactors(printer, "reduction", getReductionFactors());
  printSpecialFactors(printer, "need_replication", getNeedReplicationFactors());
  printSpecialFactors(printer, "permutation", getPermutationFactors());
  printSpecialFactors(printer, "blocked_propagation",
                      getBlockedPropagationFactors());
  if (isCustom())
    printer << ", custom";
  printer << '>';
}
