//===- MergeDriver.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Block order is asked for at every step while fragments come and go. All ops
// are therefore numbered once; a merged fragment takes over the number of the
// place where it is put, so numbers always order the block as it is.
//
// The sweep goes from the last fragment to the first. Of the fragments behind
// the current one, each mesh keeps a stack with the nearest on top: the next
// fragment of a mesh is known without a search.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/MergeDriver.h"
#include "meshwright/Common/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class MergeDriver {
public:
  MergeDriver(func::FuncOp func, MergePartner partner,
              function_ref<bool(FragmentOp, FragmentOp)> mayMerge);

  LogicalResult run();

private:
  using Position = int64_t;

  /// What a fragment could be merged with, and the first op that uses it.
  struct Candidate {
    FragmentOp partner;
    Position firstUse;
  };

  Candidate findCandidate(FragmentOp fragment);
  bool accepts(FragmentOp fragment, FragmentOp partner);
  bool isAvailableAt(FragmentOp fragment, FragmentOp partner);
  FragmentOp merge(FragmentOp fragment, FragmentOp partner);
  FailureOr<FragmentOp> mergeWithPartners(FragmentOp fragment);

  func::FuncOp func;
  Block &block;
  MergePartner partnerKind;
  function_ref<bool(FragmentOp, FragmentOp)> mayMerge;
  IRRewriter rewriter;
  FragmentMerger merger;
  DenseMap<Operation *, Position> positions;
  DenseMap<StringAttr, SmallVector<FragmentOp>> nextOnMesh;
};
} // namespace

MergeDriver::MergeDriver(func::FuncOp func, MergePartner partner,
                         function_ref<bool(FragmentOp, FragmentOp)> mayMerge)
    : func(func), block(func.front()), partnerKind(partner), mayMerge(mayMerge),
      rewriter(func.getContext()) {
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
}

bool MergeDriver::accepts(FragmentOp fragment, FragmentOp partner) {
  return fragment.getMeshNameAttr() == partner.getMeshNameAttr() &&
         mayMerge(fragment, partner);
}

MergeDriver::Candidate MergeDriver::findCandidate(FragmentOp fragment) {
  Position firstUse = std::numeric_limits<Position>::max();
  SmallVector<std::pair<Position, FragmentOp>> consumers;
  Operation *lastUser = nullptr;
  for (Operation *user : fragment->getUsers()) {
    if (user == lastUser) // Many results often go to one op, the return.
      continue;
    lastUser = user;
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    if (!ancestor) // In a later block.
      continue;
    Position position = positions.at(ancestor);
    firstUse = std::min(firstUse, position);
    if (auto consumer = dyn_cast<FragmentOp>(user);
        consumer && consumer->getBlock() == &block)
      consumers.emplace_back(position, consumer);
  }

  FragmentOp partner;
  if (partnerKind == MergePartner::NextOnMesh) {
    ArrayRef<FragmentOp> next = nextOnMesh[fragment.getMeshNameAttr()];
    if (!next.empty() && accepts(fragment, next.back()))
      partner = next.back();
  } else if (partnerKind == MergePartner::ClosestConsumer) {
    auto closest = llvm::min_element(consumers, llvm::less_first());
    if (closest != consumers.end() && accepts(fragment, closest->second))
      partner = closest->second;
  } else {
    llvm::sort(consumers, llvm::less_first());
    auto accepted = llvm::find_if(
        consumers, [&](auto entry) { return accepts(fragment, entry.second); });
    if (accepted != consumers.end())
      partner = accepted->second;
  }
  return {partner, firstUse};
}

/// Whether `partner` could stand directly behind `fragment`.
bool MergeDriver::isAvailableAt(FragmentOp fragment, FragmentOp partner) {
  return llvm::all_of(partner->getOperands(), [&](Value operand) {
    Operation *def = operand.getDefiningOp();
    return !def || positions.at(def) <= positions.at(fragment);
  });
}

FragmentOp MergeDriver::merge(FragmentOp fragment, FragmentOp partner) {
  Attribute callCounter = mergedCallCounter(fragment, partner);
  ArrayAttr inferredBy;
  if (isInferredFragment(fragment) && isInferredFragment(partner))
    inferredBy = uniteInferredBy(fragment, partner);

  FragmentOp merged = merger.merge(fragment, partner, rewriter);
  if (callCounter)
    merged->setAttr(kCallCounterAttr, callCounter);
  if (inferredBy)
    merged->setAttr(kInferredByAttr, inferredBy);
  return merged;
}

/// Merges `fragment` until it finds no partner and returns what it has become.
FailureOr<FragmentOp> MergeDriver::mergeWithPartners(FragmentOp fragment) {
  while (true) {
    auto [partner, firstUse] = findCandidate(fragment);
    if (!partner)
      return fragment;
    Position position = positions.at(partner);
    if (firstUse < position) {
      if (!isAvailableAt(fragment, partner))
        return fragment;
      position = positions.at(fragment);
    }
    if (failed(verifySameStage(fragment, partner)))
      return failure();
    if (position != positions.at(partner))
      rewriter.moveOpAfter(partner, fragment);
    positions.erase(fragment);
    positions.erase(partner);
    if (partnerKind == MergePartner::NextOnMesh)
      nextOnMesh[fragment.getMeshNameAttr()].pop_back();
    fragment = merge(fragment, partner);
    positions[fragment] = position;
  }
}

LogicalResult MergeDriver::run() {
  auto fragments = llvm::to_vector(block.getOps<FragmentOp>());
  for (FragmentOp fragment : llvm::reverse(fragments)) {
    if (fragment->use_empty() && isPure(fragment)) {
      rewriter.eraseOp(fragment);
      continue;
    }
    FailureOr<FragmentOp> merged = mergeWithPartners(fragment);
    if (failed(merged))
      return failure();
    if (partnerKind == MergePartner::NextOnMesh)
      nextOnMesh[merged->getMeshNameAttr()].push_back(*merged);
  }
  merger.setLocations(func);
  return success();
}

LogicalResult
mpmd::mergeFragmentsIn(func::FuncOp func, MergePartner partner,
                       function_ref<bool(FragmentOp, FragmentOp)> mayMerge) {
  if (func.isDeclaration())
    return success();
  return MergeDriver(func, partner, mayMerge).run();
}
