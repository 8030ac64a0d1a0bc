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
    !dag(ins, !foreach(name, lists, ArrayRefParameter<"int64_t">), lists),
    !dag(ins, !foreach(name, numbers, AttrParameter<"int64_t", "">), numbers));
  let hasCustomAssemblyFormat = 1;
  defvar fields = !listconcat(lists, numbers);
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      ::llvm::SmallVector<int64_t> }] # !interleave(lists, ", ") # ";"
      # !interleave(!foreach(name, numbers, "int64_t " # name # " = 0;"), " ")
      # [{
      if (parser.parseLess() || ::mlir::stablehlo::parseStructFields(parser, {}]
      # !interleave(!foreach(name, fields, "{\"" # name # "\", " # name # "}"),
                    ", ") # [{}))
        return {};
      return get(parser.getContext(), }] # !interleave(fields, ", ") # [{);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      ::mlir::stablehlo::StructFormPrinter(printer)}]
      # !interleave(!foreach(name, fields, ".field(\"" # name
                                           # "\", getImpl()->" # name # ")"),
                    "") # [{;
    }
  }];
}

#endif
