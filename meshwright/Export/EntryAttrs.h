//===- EntryAttrs.h - Attributes of operands, many at a time ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_ENTRYATTRS_H
#define MESHWRIGHT_EXPORT_ENTRYATTRS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <tuple>
#include <vector>

namespace mlir::mpmd {

/// The `arg_attrs` or `res_attrs` of an op, taken apart to be changed. Becomes
/// an attribute again only once, in `write`.
class EntryAttrs {
public:
  EntryAttrs() = default;
  /// Reads the list, if it is there; at least `size` entries.
  EntryAttrs(Operation *op, StringRef list, unsigned size);

  Attribute get(unsigned index, StringRef name) const {
    return entries[index] ? entries[index].get(name) : Attribute();
  }
  /// `name` is one of those in BufferAttributes.h.
  void set(unsigned index, StringRef name, Attribute value);
  void remove(unsigned index, StringRef name);

  /// Sets the list on `op`, whether or not an entry has an attribute.
  void write(Operation *op, StringRef list) const;

private:
  /// Null where there is no attribute. A program has millions of operands.
  std::vector<DictionaryAttr> entries;
  /// What was set last on what, and what came of it.
  std::tuple<DictionaryAttr, StringRef, Attribute> lastChange;
  DictionaryAttr lastEntry;
};

} // namespace mlir::mpmd

#endif
