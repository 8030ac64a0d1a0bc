//===- UserPriorities.h - What the user wants settled first -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_USERPRIORITIES_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_USERPRIORITIES_H

#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "mlir/IR/SymbolTable.h"
#include <map>

namespace mlir::sdy {

/// Hides dimensions with a priority above 0 and uncovers them again, lower
/// numbers first, so that these have propagated before higher ones come.
class UserPriorities {
public:
  /// Dimensions of priority 0 lose the marker. Others close, without axes: the
  /// axes are replicated until their turn, so that nothing else takes them.
  UserPriorities(ShardingTable &table, const SymbolTable &symbols);

  /// The priorities there are, in the order of their turn.
  SmallVector<int64_t> getPriorities() const;

  /// Uncovers the dimensions of a priority; calls back with each slot that has
  /// one.
  void uncover(int64_t priority, llvm::function_ref<void(unsigned)> callback);

private:
  struct Original {
    unsigned slot;
    TensorShardingAttr sharding;
  };

  ShardingTable &table;
  /// What dimensions of each priority were like, in the order of slots.
  std::map<int64_t, SmallVector<Original>> originals;
};

} // namespace mlir::sdy

#endif
