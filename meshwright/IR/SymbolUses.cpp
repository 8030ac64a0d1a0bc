//===- SymbolUses.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/SymbolUses.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace {
class SymbolUses {
public:
  /// Whether all ops are known.
  bool addAllIn(Region &region) {
    return !region
                .walk<WalkOrder::PreOrder>([&](Operation *op) {
                  // An op of an unknown dialect may be a symbol table.
                  if (op->getNumRegions() == 1 && !op->getDialect())
                    return WalkResult::interrupt();
                  addOp(op);
                  return op->hasTrait<OpTrait::SymbolTable>()
                             ? WalkResult::skip()
                             : WalkResult::advance();
                })
                .wasInterrupted();
  }

  std::vector<SymbolTable::SymbolUse> take() { return std::move(uses); }

private:
  void addOp(Operation *op) {
    std::optional<RegisteredOperationName> info = op->getRegisteredInfo();
    if (!info)
      return addAttribute(op, op->getAttrDictionary());
    DictionaryAttr others = op->getRawDictionaryAttrs();
    if (!others.empty())
      addAttribute(op, others);
    if (op->getPropertiesStorageSize() == 0)
      return;
    for (StringAttr name : info->getAttributeNames())
      // Numbers of operands would be made an attribute first.
      if (!name.getValue().ends_with("SegmentSizes"))
        if (std::optional<Attribute> attribute =
                info->getInherentAttr(op, name.getValue());
            attribute && *attribute)
          addAttribute(op, *attribute);
  }

  void addAttribute(Operation *op, Attribute attribute) {
    auto known = references.find(attribute);
    if (known == references.end()) {
      SmallVector<SymbolRefAttr, 0> found;
      attribute.walk<WalkOrder::PreOrder>([&](SymbolRefAttr reference) {
        found.push_back(reference);
        return WalkResult::skip(); // Its parts are no symbols of their own.
      });
      known = references.try_emplace(attribute, std::move(found)).first;
    }
    for (SymbolRefAttr reference : known->second)
      if (!isOfLastOp(op, reference))
        uses.emplace_back(op, reference);
  }

  /// Whether another attribute of the op, which is the last one so far, has it.
  bool isOfLastOp(Operation *op, SymbolRefAttr reference) const {
    for (const SymbolTable::SymbolUse &use : llvm::reverse(uses)) {
      if (use.getUser() != op)
        return false;
      if (use.getSymbolRef() == reference)
        return true;
    }
    return false;
  }

  DenseMap<Attribute, SmallVector<SymbolRefAttr, 0>> references;
  std::vector<SymbolTable::SymbolUse> uses;
};
} // namespace

std::optional<SymbolTable::UseRange>
meshwright::findSymbolUses(Region &region) {
  SymbolUses uses;
  if (!uses.addAllIn(region))
    return std::nullopt;
  return SymbolTable::UseRange(uses.take());
}
