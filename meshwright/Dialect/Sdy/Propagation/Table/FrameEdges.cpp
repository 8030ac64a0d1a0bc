//===- FrameEdges.cpp - Edges of frames -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The edges of a frame (Sdy/Transforms/Frames.h) have numbers where edge ops would be:
//
//   %r = mpmd.fragment (%x) (%a) {   // 0; %a has the edge 1
//     %0 = custom_call @mpmd.shared_body(%a)   // from 2 on the ops of the body
//     return %0                      // after it, with the edge of %r
//   }
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "meshwright/Dialect/Sdy/Transforms/Frames.h"

using namespace mlir;
using namespace mlir::sdy;

/// Ops outside of shared bodies may be frames of them.
OpKind ShardingTable::classifyOwn(Operation *op) {
  OpKind kind = classify(op);
  return kind == OpKind::DataFlow && isFrame(cast<DataFlowOpInterface>(op))
             ? OpKind::Frame
             : kind;
}

/// Gives slots of a frame their edges, which are where their ops would.
void ShardingTable::addFrameEdges(unsigned first, unsigned count) {
  for (unsigned i = first, end = first + count; i < end; ++i) {
    owners[currentFrame.firstOwnSlot + i] = numOps;
    add(currentFrame.op, OpKind::FrameEdge, currentFrame.firstSlot + i);
  }
}

/// Whether a value has an edge without an op.
bool ShardingTable::isFrameValue(PlacedValue placed) const {
  if (instances.size() == 1 || placed.instance)
    return false;
  Operation *op = placed.value.getDefiningOp();
  if (!op)
    op = cast<BlockArgument>(placed.value).getOwner()->getParentOp();
  return isa<DataFlowOpInterface>(op) && getKind(getIndex(op)) == OpKind::Frame;
}

std::optional<unsigned> ShardingTable::getEdgeIndex(PlacedValue owner) const {
  if (!isFrameValue(owner)) {
    DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner.value);
    return edge ? std::optional(getIndex(edge, owner.instance)) : std::nullopt;
  }
  return getOwner(getOwnSlot(owner));
}

std::optional<unsigned> ShardingTable::getDefiningIndex(Value value) const {
  if (isFrameValue(value))
    return getEdgeIndex(value);
  Operation *op = value.getDefiningOp();
  return op ? std::optional(getIndex(op)) : std::nullopt;
}

/// As sdy-sink-data-flow-edges stores what edge ops have: all shardings of a family
/// or none.
void ShardingTable::storeFrame(DataFlowOpInterface frame, unsigned firstSlot) {
  auto store = [&](ValueRange owners, unsigned slot,
                   ArrayRef<TensorShardingAttr> known, auto set) {
    SmallVector<TensorShardingAttr> list;
    TensorShardingAttr any;
    for (unsigned end = slot + owners.size(); slot < end; ++slot) {
      list.push_back(get(slot));
      any = any ? any : list.back();
    }
    if (!any)
      return;
    for (auto [owner, sharding] : llvm::zip(owners, list))
      if (!sharding)
        sharding = TensorShardingAttr::getFullyOpenLike(owner.getType(), any);
    if (ArrayRef(list) != known)
      set(list);
  };
  store(frame.getOpResultEdgeOwners(), firstSlot,
        frame.getOpResultEdgeOwnerShardings(),
        [&](ArrayRef<TensorShardingAttr> list) {
          frame.setOpResultEdgeOwnerShardings(list);
        });
  store(llvm::to_vector_of<Value>(frame.getBlockArgumentEdgeOwners()),
        firstSlot + frame->getNumResults(),
        frame.getBlockArgumentEdgeOwnerShardings(),
        [&](ArrayRef<TensorShardingAttr> list) {
          frame.setBlockArgumentEdgeOwnerShardings(list);
        });
}
