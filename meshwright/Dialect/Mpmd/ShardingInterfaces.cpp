//===- ShardingInterfaces.cpp - How shardings pass through the ops --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fragment has an edge per operand, into its body, and one per returned
// value, out of it. A loop has one per result, which its initial and its
// yielded value feed and which its body argument is a target of too. A transfer
// keeps dimensions where both sides have the same axes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// fragment
//===----------------------------------------------------------------------===//

/// One entry per type. A list of another length, which nothing forbids, is cut
/// or filled with null.
static SmallVector<sdy::TensorShardingAttr>
toList(sdy::TensorShardingPerValueAttr shardings, TypeRange types) {
  if (!shardings)
    return {};
  SmallVector<sdy::TensorShardingAttr> list(shardings.getShardings());
  list.resize(types.size());
  return list;
}

/// The list as an attribute, null entries fully open on the mesh of the first
/// that is not; null if all are.
static sdy::TensorShardingPerValueAttr
toAttr(ArrayRef<sdy::TensorShardingAttr> list, TypeRange types) {
  auto first = llvm::find_if(list, [](auto sharding) { return !!sharding; });
  if (first == list.end())
    return {};
  SmallVector<sdy::TensorShardingAttr> filled(list);
  for (auto [sharding, type] : llvm::zip(filled, types))
    if (!sharding)
      sharding = sdy::TensorShardingAttr::getFullyOpenLike(type, *first);
  return sdy::TensorShardingPerValueAttr::get(first->getContext(), filled);
}

/// The list with another sharding at `index`. One that is there keeps its null
/// entries, which say that nothing is known.
static sdy::TensorShardingPerValueAttr
replaceEntry(sdy::TensorShardingPerValueAttr known, TypeRange types,
             unsigned index, sdy::TensorShardingAttr sharding) {
  auto list = toList(known, types);
  list.resize(types.size());
  list[index] = sharding;
  if (!known)
    return toAttr(list, types);
  // A list that is too short was never meant to hold null.
  for (size_t i = known.size(); i < types.size(); ++i)
    if (!list[i])
      list[i] = sdy::TensorShardingAttr::getFullyOpenLike(types[i], sharding);
  return sdy::TensorShardingPerValueAttr::get(sharding.getContext(), list);
}

bool FragmentOp::shouldKeepEdgeOwnerShardingsDivisible() { return true; }

SmallVector<sdy::TensorShardingAttr>
FragmentOp::getBlockArgumentEdgeOwnerShardings() {
  return toList(getInShardingsAttr(), getOperandTypes());
}

void FragmentOp::setBlockArgumentEdgeOwnerShardings(
    ArrayRef<sdy::TensorShardingAttr> shardings) {
  if (auto attr = toAttr(shardings, getOperandTypes()))
    setInShardingsAttr(attr);
}

SmallVector<sdy::TensorShardingAttr>
FragmentOp::getOpResultEdgeOwnerShardings() {
  return toList(getOutShardingsAttr(), getResultTypes());
}

void FragmentOp::setOpResultEdgeOwnerShardings(
    ArrayRef<sdy::TensorShardingAttr> shardings) {
  if (auto attr = toAttr(shardings, getResultTypes()))
    setOutShardingsAttr(attr);
}

sdy::TensorShardingAttr FragmentOp::getInputSharding(unsigned index) {
  auto list = getBlockArgumentEdgeOwnerShardings();
  return list.empty() ? sdy::TensorShardingAttr() : list[index];
}

sdy::TensorShardingAttr FragmentOp::getOutputSharding(unsigned index) {
  auto list = getOpResultEdgeOwnerShardings();
  return list.empty() ? sdy::TensorShardingAttr() : list[index];
}

void FragmentOp::setInputSharding(unsigned index,
                                  sdy::TensorShardingAttr sharding) {
  if (sharding)
    setInShardingsAttr(
        replaceEntry(getInShardingsAttr(), getOperandTypes(), index, sharding));
}

void FragmentOp::setOutputSharding(unsigned index,
                                   sdy::TensorShardingAttr sharding) {
  if (sharding)
    setOutShardingsAttr(
        replaceEntry(getOutShardingsAttr(), getResultTypes(), index, sharding));
}

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

ArrayRef<BlockArgument> ForOp::getBlockArgumentEdgeOwners() { return {}; }

SmallVector<OpOperand *> ForOp::getEdgeSources(Value owner) {
  unsigned index = cast<OpResult>(owner).getResultNumber();
  return {&(*this)->getOpOperand(index),
          &getBody()->getTerminator()->getOpOperand(index)};
}

SmallVector<Value> ForOp::getNonEdgeOwnerTargets(Value owner) {
  return {getRegion().getArgument(cast<OpResult>(owner).getResultNumber())};
}

/// The index, the last body argument, is the target of no edge.
Value ForOp::getEdgeOwnerFromTarget(Value target) {
  auto arg = dyn_cast<BlockArgument>(target);
  if (!arg)
    return target;
  return arg == getIndexArg() ? Value() : getResult(arg.getArgNumber());
}

Value ForOp::getEdgeOwnerFromSource(OpOperand &source) {
  return getResult(source.getOperandNumber());
}

//===----------------------------------------------------------------------===//
// transfer
//===----------------------------------------------------------------------===//

/// A factor per dimension, of its size, or none if the meshes differ, or a size
/// is not known.
sdy::OpShardingRuleAttr TransferOp::getShardingRule() {
  MeshTensorType from = getTensor().getType(), to = getType();
  if (!to.hasStaticShape())
    return {};
  if (!isIntraMesh()) {
    auto func = (*this)->getParentOfType<func::FuncOp>();
    TopologyAttr topology = func ? getTopology(func) : TopologyAttr();
    if (!topology || getMeshByName(topology, from.getMeshName()) !=
                         getMeshByName(topology, to.getMeshName()))
      return {};
  }
  MLIRContext *context = getContext();
  auto dims = llvm::map_to_vector(
      llvm::seq<int64_t>(0, to.getRank()), [&](int64_t dim) {
        return sdy::DimMappingAttr::get(context, ArrayRef<int64_t>(dim));
      });
  auto mapping = sdy::TensorMappingAttr::get(context, dims);
  return sdy::OpShardingRuleAttr::get(
      context, to.getShape(), mapping, mapping, /*reduction_factors=*/{},
      /*need_replication_factors=*/{}, /*permutation_factors=*/{},
      /*blocked_propagation_factors=*/{}, /*is_custom_rule=*/false);
}

bool TransferOp::shouldKeepOutputShardingsDivisible() { return true; }
