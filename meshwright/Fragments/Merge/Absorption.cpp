//===- Absorption.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A root that absorbs one fragment after the other is rebuilt each time, and
// all its operands and users are looked at again. This works out instead whom
// it would absorb, in the same order, and leaves off where other ops would move
// or have a say.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/Absorption.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether `root` may take in `fragment`. Tokens can connect two meshes.
static bool isAbsorbable(FragmentOp root, FragmentOp fragment) {
  return isInferredFragment(fragment) &&
         fragment->getBlock() == root->getBlock() &&
         fragment.getMeshNameAttr() == root.getMeshNameAttr();
}

/// The inferred fragments that `root` could absorb, in the order of its
/// operands or users.
SmallVector<FragmentOp> mpmd::getInferredProducers(FragmentOp root) {
  llvm::SmallSetVector<FragmentOp, 8> producers;
  for (Value operand : root->getOperands())
    if (auto producer = operand.getDefiningOp<FragmentOp>();
        producer && isAbsorbable(root, producer))
      producers.insert(producer);
  return producers.takeVector();
}

SmallVector<FragmentOp> mpmd::getInferredConsumers(FragmentOp root,
                                                   ValueRange values) {
  llvm::SmallSetVector<FragmentOp, 8> consumers;
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (auto consumer = dyn_cast<FragmentOp>(user);
          consumer && isAbsorbable(root, consumer))
        consumers.insert(consumer);
  return consumers.takeVector();
}

bool Absorption::isSimpleToAbsorb(FragmentOp fragment) const {
  return !fragment.getStageIdAttr() && !effects.contains(fragment) &&
         llvm::none_of(fragment->getUsers(), llvm::IsaPred<TransferOp>) &&
         llvm::none_of(fragment->getOperands(), [](Value operand) {
           return operand.getDefiningOp<TransferOp>();
         });
}

Absorption::Absorption(FragmentOp root, BlockOrder &order,
                       const EffectOrder &effects)
    : root(root), order(order), effects(effects), group(root),
      rootIsRead(isReadByOthers(root)) {}

void Absorption::prepend(FragmentOp producer) {
  FragmentGroup producers(producer);
  producers.append(group);
  group = std::move(producers);
  absorbed.push_back(producer);
}

bool Absorption::isReadByOthers(FragmentOp fragment) {
  return llvm::any_of(fragment->getUsers(), [&](Operation *user) {
    return isa<FragmentOp>(user) && !group.contains(user);
  });
}

bool Absorption::staysRoot(FragmentOp producer) {
  return isUserFragment(root) || (!rootIsRead && !isReadByOthers(producer));
}

/// Whether no other user is before the root.
bool Absorption::isFirstUser(FragmentOp producer) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user);
    return !ancestor || group.contains(ancestor) ||
           order.isBefore(root, ancestor);
  });
}

/// After a merge, the operands of the producer come first. Those in front of it
/// that were refused have another user before the root, which is not the
/// producer or they are among its operands; so they stay refused.
void Absorption::absorbProducers(FragmentOp producer,
                                 function_ref<bool(FragmentOp)> isFresh) {
  SmallVector<std::pair<FragmentOp, unsigned>> stack;
  unsigned index = 0;
  while (root->getOperand(index++).getDefiningOp() != producer)
    ;
  stack.push_back({root, index});
  while (true) {
    prepend(producer);
    stack.push_back({producer, 0});
    producer = nullptr;
    while (!producer && !stack.empty()) {
      auto &[fragment, next] = stack.back();
      if (next == fragment->getNumOperands()) {
        stack.pop_back();
        continue;
      }
      auto found = fragment->getOperand(next++).getDefiningOp<FragmentOp>();
      if (!found || group.contains(found) || !isAbsorbable(root, found))
        continue;
      if (!isSimpleToAbsorb(found) || !isFresh(found))
        return;
      if (!isFirstUser(found))
        continue;
      if (!staysRoot(found))
        return;
      producer = found;
    }
    if (!producer)
      return;
  }
}

/// Whether all that the consumer reads is there where the root is.
bool Absorption::isLastProducer(FragmentOp consumer) {
  return llvm::all_of(consumer->getOperands(), [&](Value operand) {
    Operation *def = operand.getDefiningOp();
    return !def || def->getBlock() != root->getBlock() || group.contains(def) ||
           order.isBefore(def, root);
  });
}

bool Absorption::hasNoOtherPartner(FragmentOp consumer) {
  return isSimpleToAbsorb(consumer) &&
         llvm::none_of(consumer->getUsers(), llvm::IsaPred<FragmentOp>) &&
         llvm::all_of(getInferredProducers(consumer),
                      [&](FragmentOp producer) { return producer == root; });
}

/// COMPAT(use-order): Goes through the users of each result. With every merge
/// results are replaced, which turns the order of their users around.
bool Absorption::absorbConsumers() {
  if (!llvm::all_of(
          getInferredConsumers(root, root->getResults()),
          [&](FragmentOp consumer) { return hasNoOtherPartner(consumer); }))
    return false;
  unsigned numMerges = 0;
  for (Value result : root->getResults()) {
    SmallVector<FragmentOp> consumers = getInferredConsumers(root, result);
    llvm::erase_if(consumers, [&](FragmentOp consumer) {
      return group.contains(consumer) || !isLastProducer(consumer);
    });
    size_t begin = 0, end = consumers.size();
    while (begin < end) {
      FragmentGroup added(numMerges % 2 ? consumers[--end]
                                        : consumers[begin++]);
      absorbed.push_back(added.getMembers().front());
      group.append(added);
      ++numMerges;
    }
  }
  return numMerges > 0;
}
