//===- UserPriorities.cpp - What the user wants settled first -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/UserPriorities.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"

using namespace mlir;
using namespace mlir::sdy;

static bool hasPriorities(TensorShardingAttr sharding) {
  return sharding && llvm::any_of(sharding.getDimShardings(),
                                  [](DimensionShardingAttr dim) {
                                    return dim.getPriority().has_value();
                                  });
}

static TensorShardingAttr hideAboveZero(TensorShardingAttr sharding,
                                        MeshAttr mesh) {
  SmallVector<DimensionShardingAttr> dims;
  auto replicated = llvm::to_vector(sharding.getReplicatedAxes());
  for (DimensionShardingAttr dim : sharding.getDimShardings()) {
    if (dim.getPriorityOrDefault() == 0) {
      dims.push_back(dim.dropPriority());
      continue;
    }
    dims.push_back(DimensionShardingAttr::getClosed(dim.getContext()));
    llvm::append_range(replicated, dim.getAxes());
  }
  if (mesh)
    sortInMeshOrder(replicated, mesh);
  return sharding.replaceDimShardings(dims).replaceReplicatedAxes(replicated);
}

static TensorShardingAttr uncoverDims(TensorShardingAttr sharding,
                                      TensorShardingAttr original,
                                      int64_t priority) {
  auto dims = llvm::to_vector(sharding.getDimShardings());
  auto replicated = llvm::to_vector(sharding.getReplicatedAxes());
  for (auto [dim, before] : llvm::zip(dims, original.getDimShardings())) {
    if (before.getPriorityOrDefault() != priority)
      continue;
    dim = before.dropPriority();
    ArrayRef<AxisRefAttr> uncovered = dim.getAxes();
    llvm::erase_if(replicated, [&](AxisRefAttr axis) {
      return llvm::is_contained(uncovered, axis);
    });
  }
  return sharding.replaceDimShardings(dims).replaceReplicatedAxes(replicated);
}

UserPriorities::UserPriorities(ShardingTable &table, const SymbolTable &symbols)
    : table(table) {
  for (unsigned slot = 0; slot < table.getNumSlots(); ++slot) {
    TensorShardingAttr sharding = table.get(slot);
    if (!hasPriorities(sharding))
      continue;
    for (DimensionShardingAttr dim : sharding.getDimShardings())
      if (int64_t priority = dim.getPriorityOrDefault(); priority != 0) {
        auto &slots = originals[priority];
        if (slots.empty() || slots.back().slot != slot)
          slots.push_back({slot, sharding});
      }
    table.set(slot, hideAboveZero(sharding, sharding.getMesh(symbols)));
  }
}

SmallVector<int64_t> UserPriorities::getPriorities() const {
  return llvm::map_to_vector(originals,
                             [](const auto &entry) { return entry.first; });
}

void UserPriorities::uncover(int64_t priority,
                             llvm::function_ref<void(unsigned)> callback) {
  for (const Original &original : originals[priority]) {
    // Ops without uses go while others propagate.
    if (!table.getOp(table.getOwner(original.slot)))
      continue;
    table.set(original.slot, uncoverDims(table.get(original.slot),
                                         original.sharding, priority));
    callback(original.slot);
  }
}
