//===- ShardingWalk.cpp - Change all shardings of a module ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"

#include "meshwright/Dialect/Sdy/SignatureShardings.h"

using namespace mlir;
using namespace mlir::sdy;

void sdy::transformSignature(func::FuncOp func, ShardingFn transform) {
  updateSignatureShardings(func, [&](const SignatureEntry &entry) {
    return entry.sharding ? transform(entry.sharding) : entry.sharding;
  });
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

/// Replaces the attributes of an op that `transform` has another attribute for,
/// which is null for those that are no shardings.
static void transformAttrs(Operation *op, StringAttr name,
                           llvm::function_ref<Attribute(Attribute)> onValue,
                           llvm::function_ref<Attribute(Attribute)> onOther) {
  if (Attribute attr = op->getDiscardableAttr(name))
    if (Attribute changed = onValue(attr); changed && changed != attr)
      op->setDiscardableAttr(name, changed);
  // Only these keep shardings under other names than sdy.sharding.
  if (isa<ConstantOp>(op) || (!isa_and_nonnull<SdyDialect>(op->getDialect()) &&
                              !isa<DataFlowOpInterface>(op)))
    return;
  for (NamedAttribute attr : llvm::to_vector(op->getAttrs()))
    if (attr.getName() != name)
      if (Attribute changed = onOther(attr.getValue());
          changed && changed != attr.getValue())
        op->setAttr(attr.getName(), changed);
}

void sdy::transformShardingsOf(Operation *op, ShardingFn transform) {
  auto apply = [&](Attribute attr) { return transformAttr(attr, transform); };
  transformAttrs(op, StringAttr::get(op->getContext(), kShardingAttr), apply,
                 apply);
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
  walkOwnOps(root, [&](Operation *op) {
    if (auto func = dyn_cast<func::FuncOp>(op))
      transformSignature(func, transform);
    transformAttrs(op, name, get, [&](Attribute attr) {
      return transformAttr(attr, transform);
    });
    return WalkResult::advance();
  });
}
