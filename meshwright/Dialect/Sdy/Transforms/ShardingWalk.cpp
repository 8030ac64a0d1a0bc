//===- ShardingWalk.cpp - Change all shardings of a module ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"

#include "meshwright/Dialect/Sdy/Shardings.h"

using namespace mlir;
using namespace mlir::sdy;

void sdy::transformSignature(func::FuncOp func, ShardingFn transform) {
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    if (TensorShardingAttr sharding = getArgSharding(func, index))
      setArgSharding(func, index, transform(sharding));
  for (unsigned index = 0; index < func.getNumResults(); ++index)
    if (TensorShardingAttr sharding = getResultSharding(func, index))
      setResultSharding(func, index, transform(sharding));
}

/// Null for attributes that are no shardings.
static Attribute transformAttr(Attribute attr, ShardingFn transform) {
  if (auto sharding = dyn_cast<TensorShardingAttr>(attr))
    return transform(sharding);
  if (auto list = dyn_cast<TensorShardingPerValueAttr>(attr))
    return TensorShardingPerValueAttr::get(
        attr.getContext(), llvm::map_to_vector(list.getShardings(), transform));
  return {};
}

void sdy::transformShardings(Operation *root, ShardingFn transform) {
  auto name = StringAttr::get(root->getContext(), kShardingAttr);
  // Few different ones occur, very often.
  llvm::DenseMap<Attribute, Attribute> transformed;
  auto get = [&](Attribute attr) {
    auto [known, isNew] = transformed.try_emplace(attr);
    if (isNew)
      known->second = transformAttr(attr, transform);
    return known->second;
  };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto func = dyn_cast<func::FuncOp>(op))
      transformSignature(func, transform);
    if (Attribute attr = op->getDiscardableAttr(name))
      if (Attribute changed = get(attr); changed && changed != attr)
        op->setDiscardableAttr(name, changed);
    // Only these keep shardings under other names than sdy.sharding.
    if (isa<ConstantOp>(op) ||
        (!isa_and_nonnull<SdyDialect>(op->getDialect()) &&
         !isa<DataFlowOpInterface>(op)))
      return;
    for (NamedAttribute attr : llvm::to_vector(op->getAttrs()))
      if (attr.getName() != name)
        if (Attribute changed = transformAttr(attr.getValue(), transform);
            changed && changed != attr.getValue())
          op->setAttr(attr.getName(), changed);
  });
}
