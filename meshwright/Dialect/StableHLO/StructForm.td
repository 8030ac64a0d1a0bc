//===- StructForm.td - Attributes written as named fields --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_STRUCTFORM_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_STRUCTFORM_TD

include "mlir/IR/AttrTypeBase.td"

/// Lists of dimensions, then numbers, in the notation of StructForm.h.
class StructFormAttr<Dialect dialect, string name, string attrMnemonic,
                     list<string> lists, list<string> numbers = []>
    : AttrDef<dialect, name> {
  let mnemonic = attrMnemonic;
  let parameters = !con(
    !dag(ins, !foreach(each, lists, ArrayRefParameter<"int64_t">), lists),
    !dag(ins, !foreach(each, numbers, AttrParameter<"int64_t", "">), numbers));
  let hasCustomAssemblyFormat = 1;
  defvar fields = !listconcat(lists, numbers);
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      ::llvm::SmallVector<int64_t> }] # !interleave(lists, ", ") # ";"
      # !interleave(!foreach(each, numbers, "int64_t " # each # " = 0;"), " ")
      # [{
      if (parser.parseLess() || ::mlir::stablehlo::parseStructFields(parser, {}]
      # !interleave(!foreach(each, fields, "{\"" # each # "\", " # each # "}"),
                    ", ") # [{}))
        return {};
      return get(parser.getContext(), }] # !interleave(fields, ", ") # [{);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      ::mlir::stablehlo::StructFormPrinter(printer)}]
      # !interleave(!foreach(each, fields, ".field(\"" # each
                                           # "\", getImpl()->" # each # ")"),
                    "") # [{;
    }
  }];
}

#endif
