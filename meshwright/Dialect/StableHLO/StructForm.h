//===- StructForm.h - Attributes written as named fields --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Dimension-number attributes share one notation:
//
//   <lhs_contracting_dimensions = [1], index_vector_dim = 2>
//
// Every field is a list of integers or one integer. Fields come in any order
// and any of them may be missing; printing leaves out empty lists and zeros.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_STRUCTFORM_H
#define MESHWRIGHT_DIALECT_STABLEHLO_STRUCTFORM_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::stablehlo {

/// Where one field of a struct form is stored; exactly one pointer is set.
struct StructField {
  StructField(StringRef name, SmallVector<int64_t> &list)
      : name(name), list(&list) {}
  StructField(StringRef name, int64_t &number) : name(name), number(&number) {}

  StringRef name;
  SmallVector<int64_t> *list = nullptr;
  int64_t *number = nullptr;
};

/// Parses an integer, or `?` for a dynamic size, and appends it.
ParseResult parseSize(AsmParser &parser, SmallVectorImpl<int64_t> &sizes);

/// Parses `name = value, ...` up to and including the closing `>`. The fields
/// that are not written keep their value.
ParseResult parseStructFields(AsmParser &parser, ArrayRef<StructField> fields);

/// Prints the fields of a struct form between `<` and `>`.
class StructFormPrinter {
public:
  explicit StructFormPrinter(AsmPrinter &printer) : printer(printer) {
    printer << '<';
  }
  ~StructFormPrinter() { printer << '>'; }

  StructFormPrinter &field(StringRef name, ArrayRef<int64_t> list);
  StructFormPrinter &field(StringRef name, int64_t number);

private:
  void printName(StringRef name);

  AsmPrinter &printer;
  bool isFirst = true;
};

} // namespace mlir::stablehlo

#endif
