//===- EntryAttrs.cpp - Attributes of operands, many at a time ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/EntryAttrs.h"

using namespace mlir;
using namespace mlir::mpmd;

EntryAttrs::EntryAttrs(Operation *op, StringRef list, unsigned size) {
  if (auto known = op->getAttrOfType<ArrayAttr>(list))
    for (Attribute entry : known)
      entries.emplace_back(dyn_cast<DictionaryAttr>(entry));
  if (entries.size() < size)
    entries.resize(size);
}

void EntryAttrs::write(Operation *op, StringRef list) const {
  MLIRContext *context = op->getContext();
  SmallVector<Attribute> attrs;
  for (const NamedAttrList &entry : entries)
    attrs.push_back(entry.getDictionary(context));
  op->setAttr(list, ArrayAttr::get(context, attrs));
}
