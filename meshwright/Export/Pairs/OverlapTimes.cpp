//===- OverlapTimes.cpp - What pairs take and hide ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/OverlapTimes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::FragmentCost;

/// Whether there are collectives is the same on any.
static meshwright::Device getAnyDevice() {
  return meshwright::getDevices().front();
}

OverlapTimes::OverlapTimes(ModuleOp module,
                           std::optional<meshwright::Device> device,
                           const meshwright::CustomCosts &customs)
    : module(module), hasDevice(device.has_value()), symbols(module),
      works(module, customs),
      costs(module, device ? *device : getAnyDevice(), customs) {}

OverlapTimes::~OverlapTimes() {
  for (func::FuncOp function : measured)
    symbols.erase(function);
}

OverlapTimes::Known &OverlapTimes::find(FragmentOp fragment) {
  auto [entry, isNew] = classOf.try_emplace(fragment, 0);
  if (isNew) {
    size_t hash = llvm::hash_combine(
        fragment.getMeshNameAttr(),
        llvm::hash_combine_range(fragment->getOperandTypes()),
        hashBody(fragment.getRegion()));
    entry->second =
        classes.add(fragment, hash, [](FragmentOp first, FragmentOp other) {
          return first.getMeshNameAttr() == other.getMeshNameAttr() &&
                 first->getOperandTypes() == other->getOperandTypes() &&
                 first->getResultTypes() == other->getResultTypes() &&
                 areEqualBodies(first.getRegion(), other.getRegion());
        });
    known.resize(classes.get().size());
  }
  return known[entry->second];
}

FailureOr<const FragmentCost *> OverlapTimes::getCost(FragmentOp fragment) {
  Known &found = find(fragment);
  if (found.cost)
    return &*found.cost;
  FailureOr<sdy::MeshAttr> mesh =
      getMeshOrError(fragment, fragment.getMeshName());
  if (failed(mesh))
    return failure();
  // The function takes the body, and needs the ops of shared ones.
  OpBuilder builder(fragment);
  auto copy = cast<FragmentOp>(builder.clone(*fragment));
  IRRewriter rewriter(fragment.getContext());
  inlineSharedBodies(copy, rewriter);
  func::FuncOp function =
      meshwright::makeFragmentFunction(copy, "measured", *mesh);
  copy->erase();
  // Has another name if something of the program has this one.
  symbols.insert(function);
  measured.push_back(function);
  FailureOr<FragmentCost> cost = costs.estimate(function);
  if (failed(cost))
    return failure();
  found.cost = std::move(*cost);
  return &*found.cost;
}

FailureOr<double> OverlapTimes::measure(FragmentOp fragment) {
  Known &found = find(fragment);
  if (found.work)
    return *found.work;
  double work = 0;
  if (hasDevice) {
    FailureOr<const FragmentCost *> cost = getCost(fragment);
    if (failed(cost))
      return failure();
    work = (*cost)->getSeconds() -
           meshwright::getHiddenSeconds(**cost, costs.getDevice());
  } else {
    work = works.estimate(fragment.getRegion()).flops;
    for (stablehlo::CustomCallOp call : getSharedBodyCalls(fragment))
      work += works.estimate(getSharedBody(call).getBody()).flops;
  }
  found.work = work;
  return work;
}

FailureOr<double> OverlapTimes::getTemporaryBytes(FragmentOp fragment) {
  FailureOr<const FragmentCost *> cost = getCost(fragment);
  if (failed(cost))
    return failure();
  return (*cost)->temporaryBytes;
}

/// Whether a region has collectives of the user's.
static bool exchangesExplicitly(Region &region) {
  return region
      .walk([](Operation *op) {
        return isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
                   stablehlo::AllToAllOp, stablehlo::CollectiveBroadcastOp,
                   stablehlo::CollectivePermuteOp, stablehlo::ReduceScatterOp>(
                   op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<bool> OverlapTimes::hasCollectives(FragmentOp fragment) {
  Known &found = find(fragment);
  if (found.exchanges)
    return *found.exchanges;
  bool exchanges =
      exchangesExplicitly(fragment.getRegion()) ||
      llvm::any_of(getSharedBodyCalls(fragment),
                   [](stablehlo::CustomCallOp call) {
                     return exchangesExplicitly(getSharedBody(call).getBody());
                   });
  // Others come from how values are split.
  FailureOr<sdy::MeshAttr> mesh =
      getMeshOrError(fragment, fragment.getMeshName());
  if (failed(mesh))
    return failure();
  if (!exchanges && mesh->getTotalSize() > 1) {
    FailureOr<const FragmentCost *> cost = getCost(fragment);
    if (failed(cost))
      return failure();
    exchanges = !(*cost)->collectives.empty();
  }
  find(fragment).exchanges = exchanges;
  return exchanges;
}

FailureOr<double> OverlapTimes::getHidden(FragmentOp first,
                                          ArrayRef<FragmentOp> second) {
  find(first);
  std::vector<unsigned> key{classOf.at(first)};
  for (FragmentOp fragment : second) {
    find(fragment);
    key.push_back(classOf.at(fragment));
  }
  if (auto it = hidden.find(key); it != hidden.end())
    return it->second;
  FailureOr<double> seconds = measureHidden(first, second);
  if (succeeded(seconds))
    hidden.emplace(std::move(key), *seconds);
  return seconds;
}

FailureOr<double> OverlapTimes::measureHidden(FragmentOp first,
                                              ArrayRef<FragmentOp> second) {
  double shorter = 0;
  FragmentCost chain, other;
  for (auto [index, fragment] : llvm::enumerate(second)) {
    FailureOr<double> time = measure(fragment);
    if (failed(time))
      return failure();
    shorter += *time;
  }
  FailureOr<double> time = measure(first);
  if (failed(time))
    return failure();
  shorter = std::min(shorter, *time);
  if (!hasDevice)
    return shorter;
  double sum = *time;
  chain.addTimes(*find(first).cost);
  for (FragmentOp fragment : second) {
    sum += *measure(fragment);
    other.addTimes(*find(fragment).cost);
  }
  return std::clamp(
      sum - meshwright::getOverlappedSeconds(chain, other, costs.getDevice()),
      0.0, shorter);
}
