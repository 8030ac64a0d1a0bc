//===- BytecodeTypes.cpp - Types that only bytecode can have --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BytecodeTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

/// Most types: what they are made of is known to be right without their text.
static bool isPlain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() &&
         tensor.getElementType().isIntOrIndexOrFloat() &&
         llvm::all_of(tensor.getShape(), [](int64_t size) {
           return size >= 0 || ShapedType::isDynamic(size);
         });
}

/// Their text is read by what says which sizes, elements and numbers there can be.
static bool isUnreadable(Type type) {
  if (!isa<ShapedType, ComplexType, quant::QuantizedType>(type) ||
      isPlain(type))
    return false;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  ScopedDiagnosticHandler quiet(type.getContext(),
                                [](Diagnostic &) { return success(); });
  return !parseType(text, type.getContext());
}

Type meshwright::findTypeWithoutText(Block &block) {
  Type found;
  AttrTypeWalker types; // Meets each one once.
  types.addWalk([&](Type type) {
    if (!isUnreadable(type))
      return WalkResult::advance();
    found = type;
    return WalkResult::interrupt();
  });
  auto has = [&](auto value) { return types.walk(value).wasInterrupted(); };
  auto hasUnreadable = [&](Operation *op) {
    if (has(op->getAttrDictionary()) || llvm::any_of(op->getResultTypes(), has))
      return true;
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        if (llvm::any_of(inner.getArgumentTypes(), has))
          return true;
    return false;
  };
  block.walk([&](Operation *op) {
    return hasUnreadable(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}
