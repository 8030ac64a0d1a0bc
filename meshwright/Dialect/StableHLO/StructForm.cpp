//===- StructForm.cpp - Attributes written as named fields ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StructForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::stablehlo;

ParseResult stablehlo::parseSize(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &sizes) {
  if (succeeded(parser.parseOptionalQuestion())) {
    sizes.push_back(ShapedType::kDynamic);
    return success();
  }
  return parser.parseInteger(sizes.emplace_back());
}

static ParseResult parseFieldValue(AsmParser &parser,
                                   const StructField &field) {
  if (!field.list)
    return parser.parseInteger(*field.number);
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseSize(parser, *field.list);
  });
}

/// Reports a name that is none of the fields, listing those.
static ParseResult reportUnknownField(AsmParser &parser, SMLoc loc,
                                      ArrayRef<StructField> fields) {
  InFlightDiagnostic diag = parser.emitError(loc) << "expected one of: ";
  llvm::interleaveComma(fields, diag, [&](const StructField &field) {
    diag << '`' << field.name << '`';
  });
  return diag;
}

ParseResult stablehlo::parseStructFields(AsmParser &parser,
                                         ArrayRef<StructField> fields) {
  llvm::SmallBitVector seen(fields.size());
  while (failed(parser.parseOptionalGreater())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)))
      return reportUnknownField(parser, loc, fields);
    const auto *field = llvm::find_if(
        fields, [&](const StructField &field) { return field.name == name; });
    if (field == fields.end())
      return reportUnknownField(parser, loc, fields);
    unsigned index = field - fields.begin();
    if (seen.test(index))
      return parser.emitError(loc)
             << "duplicate `" << name << "` entry; give it once";
    seen.set(index);
    if (parser.parseEqual() || parseFieldValue(parser, *field))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return parser.parseGreater();
  }
  return success();
}

void StructFormPrinter::printName(StringRef name) {
  if (!isFirst)
    printer << ", ";
  isFirst = false;
  printer << name << " = ";
}

StructFormPrinter &StructFormPrinter::field(StringRef name,
                                            ArrayRef<int64_t> list) {
  if (list.empty())
    return *this;
  printName(name);
  printer << '[';
  llvm::interleaveComma(list, printer);
  printer << ']';
  return *this;
}

StructFormPrinter &StructFormPrinter::field(StringRef name, int64_t number) {
  if (number == 0)
    return *this;
  printName(name);
  printer << number;
  return *this;
}
