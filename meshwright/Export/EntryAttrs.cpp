//===- EntryAttrs.cpp - Attributes of operands, many at a time ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/EntryAttrs.h"

using namespace mlir;
using namespace mlir::mpmd;

EntryAttrs::EntryAttrs(Operation *op, StringRef list, unsigned size) {
  auto known = op->getAttrOfType<ArrayAttr>(list);
  entries.reserve(std::max<size_t>(size, known ? known.size() : 0));
  if (known)
    for (Attribute entry : known)
      entries.push_back(dyn_cast<DictionaryAttr>(entry));
  if (entries.size() < size)
    entries.resize(size);
}

void EntryAttrs::set(unsigned index, StringRef name, Attribute value) {
  // Neighbours are mostly changed in the same way.
  std::tuple<DictionaryAttr, StringRef, Attribute> change = {entries[index],
                                                             name, value};
  if (change != lastChange) {
    NamedAttrList entry(entries[index]);
    entry.set(name, value);
    lastEntry = entry.getDictionary(value.getContext());
    lastChange = change;
  }
  entries[index] = lastEntry;
}

void EntryAttrs::remove(unsigned index, StringRef name) {
  if (!get(index, name))
    return;
  NamedAttrList entry(entries[index]);
  entry.erase(name);
  entries[index] = entry.getDictionary(entries[index].getContext());
}

void EntryAttrs::write(Operation *op, StringRef list) const {
  auto none = DictionaryAttr::get(op->getContext());
  SmallVector<Attribute> attrs;
  attrs.reserve(entries.size());
  for (DictionaryAttr entry : entries)
    attrs.push_back(entry ? entry : none);
  op->setAttr(list, ArrayAttr::get(op->getContext(), attrs));
}
