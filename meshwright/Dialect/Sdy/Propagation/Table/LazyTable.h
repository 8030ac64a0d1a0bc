//===- LazyTable.h - Lists of which little is used --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_LAZYTABLE_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_LAZYTABLE_H

#include <memory>
#include <vector>

namespace mlir::sdy {

/// A list of entries `T()`, of which only those near an entry that was written
/// take memory: most ops of a large program have no sharding.
template <typename T> class LazyTable {
public:
  explicit LazyTable(size_t size = 0) { resize(size); }
  void resize(size_t size) {
    numEntries = size;
    pages.resize((size + kPage - 1) / kPage);
  }
  size_t size() const { return numEntries; }

  T get(size_t index) const {
    const std::unique_ptr<T[]> &page = pages[index / kPage];
    return page ? page[index % kPage] : T();
  }
  /// An entry to be written.
  T &at(size_t index) {
    std::unique_ptr<T[]> &page = pages[index / kPage];
    if (!page)
      page = std::make_unique<T[]>(kPage);
    return page[index % kPage];
  }

  /// Goes in order through all entries that are not `T()`.
  template <typename Visit> void forEachSet(Visit visit) const {
    for (size_t start = 0; start < numEntries; start += kPage) {
      const std::unique_ptr<T[]> &page = pages[start / kPage];
      for (size_t i = 0; page && i < kPage; ++i)
        if (page[i] != T())
          visit(start + i, page[i]);
    }
  }

private:
  static constexpr size_t kPage = 512;

  std::vector<std::unique_ptr<T[]>> pages;
  size_t numEntries = 0;
};

} // namespace mlir::sdy

#endif
