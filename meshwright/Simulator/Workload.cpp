//===- Workload.cpp - What meshes have to do ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Workload.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

using namespace meshwright;

llvm::StringRef meshwright::getName(ItemKind kind) {
  switch (kind) {
  case ItemKind::Forward:
    return "forward";
  case ItemKind::Backward:
    return "backward";
  case ItemKind::Weight:
    return "weight";
  case ItemKind::Overlapped:
    return "overlapped";
  case ItemKind::Optimizer:
    return "optimizer";
  case ItemKind::Transfer:
    return "transfer";
  case ItemKind::Collective:
    return "collective";
  case ItemKind::Other:
    return "other";
  }
  llvm_unreachable("unknown kind of item");
}

uint32_t Workload::addItem(uint32_t activity, int32_t microbatch,
                           llvm::ArrayRef<uint32_t> reads) {
  uint32_t item = items.size();
  items.push_back({activity, microbatch});
  operands.insert(operands.end(), reads.begin(), reads.end());
  firstOperand.push_back(operands.size());
  const Activity &what = activities[activity];
  if (!what.isTransfer())
    queues[what.mesh].push_back(item);
  return item;
}

uint32_t Workload::addValue(uint32_t mesh, uint32_t producer, int64_t bytes,
                            bool isKept) {
  values.push_back({bytes, producer, mesh, isKept});
  return values.size() - 1;
}
