//===- HoistCandidates.cpp - What is worth computing once -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/HoistCandidates.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

RankedTensorType mpmd::getLocalType(RankedTensorType type,
                                    TensorShardingAttr sharding,
                                    func::FuncOp func) {
  sdy::MeshAttr mesh = sharding ? sharding.getMesh(func) : sdy::MeshAttr();
  return mesh ? sharding.getLocalTensorType(type, mesh) : type;
}

static bool hasAxis(ArrayRef<DimensionShardingAttr> dims, AxisRefAttr axis) {
  return llvm::any_of(dims, [&](DimensionShardingAttr dim) {
    return llvm::any_of(dim.getAxes(), [&](AxisRefAttr other) {
      return other.getName() == axis.getName();
    });
  });
}

/// The sharding in which an op needs an operand: without the axes that split its
/// result in another dimension, as rows of the batch are. XLA gathers along
/// them.
static TensorShardingAttr getSplitByReader(OpOperand &use) {
  TensorShardingAttr own = sdy::getSharding(use.get());
  Operation *op = use.getOwner();
  if (!own || op->getNumResults() != 1)
    return own;
  TensorShardingAttr result = sdy::getSharding(op->getResult(0));
  sdy::OpShardingRuleAttr rule =
      result ? sdy::getShardingRule(op) : sdy::OpShardingRuleAttr();
  if (!rule)
    return own;
  ArrayRef<sdy::DimMappingAttr> factorsOfResult =
      rule.getResultMappings()[0].getDimMappings();
  ArrayRef<sdy::DimMappingAttr> factors =
      rule.getOperandMappings()[use.getOperandNumber()].getDimMappings();
  SmallVector<DimensionShardingAttr> dims;
  for (auto [sharding, factor] : llvm::zip(own.getDimShardings(), factors)) {
    const auto *same = llvm::find(factorsOfResult, factor);
    SmallVector<AxisRefAttr> kept;
    for (AxisRefAttr axis : sharding.getAxes()) {
      bool isElsewhere =
          hasAxis(result.getDimShardings(), axis) &&
          (same == factorsOfResult.end() ||
           !hasAxis(result.getDimShardings()[same - factorsOfResult.begin()],
                    axis));
      if (!isElsewhere)
        kept.push_back(axis);
    }
    dims.push_back(DimensionShardingAttr::get(own.getContext(), kept,
                                              /*isClosed=*/true));
  }
  return own.replaceDimShardings(dims);
}

/// A sharding without axes of these names.
static TensorShardingAttr dropAxes(TensorShardingAttr sharding,
                                   DimensionShardingAttr dropped) {
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
        auto kept =
            llvm::filter_to_vector(dim.getAxes(), [&](AxisRefAttr axis) {
              return !hasAxis(dropped, axis);
            });
        return kept.size() == dim.getAxes().size()
                   ? dim
                   : DimensionShardingAttr::get(dim.getContext(), kept,
                                                /*isClosed=*/true);
      });
  return sharding.replaceDimShardings(dims);
}

/// The sharding in which an op needs an operand. Where it scales the parts of a sum over
/// devices, each of these needs what is scaled by whole.
TensorShardingAttr HoistCandidates::getNeededSharding(OpOperand &use) const {
  TensorShardingAttr needed = getSplitByReader(use);
  DimensionShardingAttr parts =
      sums && needed ? sums->getAxesScaledBy(use) : DimensionShardingAttr();
  return parts ? dropAxes(needed, parts) : needed;
}

bool mpmd::isNarrowing(Operation *op) {
  return isa<stablehlo::ConvertOp>(op) &&
         meshwright::countBits(getTensorType(op->getOperand(0))) >
             meshwright::countBits(getTensorType(op->getResult(0)));
}

static bool isCheap(Operation *op) {
  if (isa<stablehlo::ConvertOp>(op))
    return !isNarrowing(op);
  return isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
             stablehlo::TransposeOp, stablehlo::SliceOp>(op) ||
         getReadValues(op).empty();
}

/// Whether a constraint leaves more of a value on each device than there is.
static bool asksForMore(Operation *constraint, func::FuncOp func) {
  auto count = [&](Value value) {
    return meshwright::countBytes(
        getLocalType(getTensorType(value), sdy::getSharding(value), func));
  };
  return count(constraint->getResult(0)) > count(constraint->getOperand(0));
}

HoistCandidates::HoistCandidates(func::FuncOp func, bool withDeferral)
    : func(func), numbers(func) {
  if (withDeferral)
    sums.emplace(func, [this](Value value) { return isKnown(value); });
  for (FragmentOp fragment : func.getOps<FragmentOp>()) {
    for (BlockArgument arg : fragment.getBody()->getArguments())
      collect(fragment, arg);
    for (Operation &op : fragment.getBody()->without_terminator())
      for (Value result : op.getResults())
        collect(fragment, result);
  }
}

HoistOrigin HoistCandidates::findOrigin(Value value) const {
  HoistOrigin origin;
  SmallVector<Value> pending = {numbers.getFirst(value)};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (InvariantNumbers::isInput(next)) {
      origin.inputs.insert(next);
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
      origin.gathers |= asksForMore(op, func);
    else
      origin.computes |= !isCheap(op);
    for (Value read : getReadValues(op))
      pending.push_back(numbers.getFirst(read));
  }
  return origin;
}

/// Whether a sharding uses the axes of the mesh of a fragment, as those of what
/// fragments pass on must. Within a body others have a meaning, too.
bool HoistCandidates::isOnMesh(TensorShardingAttr sharding,
                               FragmentOp fragment) const {
  sdy::MeshAttr mesh = sharding.getMesh(func);
  return mesh && mesh.equalsIgnoringDeviceOrder(
                     getMeshByName(getTopology(func), fragment.getMeshName()));
}

/// Whether a value comes from the inputs alone, and is one of these or computed by
/// several fragments.
bool HoistCandidates::isKnown(Value value) const {
  return numbers.getNumber(value) &&
         (InvariantNumbers::isInput(numbers.getFirst(value)) ||
          numbers.countFragments(value) > 1);
}

void HoistCandidates::collect(FragmentOp fragment, Value value) {
  std::optional<unsigned> number = numbers.getNumber(value);
  if (!number || !getTensorType(value)) // A loop may also return a token.
    return;
  for (OpOperand &use : value.getUses()) {
    // A value moves with its reader if that is computed several times as well,
    // and does not just make many copies of it; what is returned is read by
    // other fragments, which know its number. What one microbatch's rows of the
    // inputs give is computed once.
    Operation *owner =
        fragment.getBody()->findAncestorOpInBlock(*use.getOwner());
    bool moves = owner->getNumResults() > 0 &&
                 !isa<stablehlo::BroadcastInDimOp>(owner) &&
                 numbers.getNumber(owner->getResult(0)) &&
                 numbers.countFragments(owner->getResult(0)) > 1;
    if (isa<ReturnOp>(owner) || moves)
      continue;
    TensorShardingAttr own = sdy::getSharding(value);
    TensorShardingAttr needed = getNeededSharding(use);
    bool isGathered = own && own != needed && !own.isEquivalent(needed);
    if (needed && !isOnMesh(needed, fragment))
      continue;
    Value first = numbers.getFirst(value);
    if (!isKnown(value) || (InvariantNumbers::isInput(first) && !isGathered))
      continue;
    int64_t stage = fragment.getStageId().value_or(-1);
    HoistCandidate &candidate =
        candidates[{fragment.getMeshName(), stage, *number, needed}];
    candidate.value = first;
    candidate.type = getTensorType(value);
    candidate.sharding = needed;
    candidate.isGathered = isGathered;
    candidate.uses.push_back(&use);
    if (candidate.readers.empty() || candidate.readers.back() != fragment)
      candidate.readers.push_back(fragment);
  }
}

bool HoistCandidates::isWorthIt(HoistCandidate &candidate,
                                const meshwright::Device &device) const {
  if (candidate.readers.size() < 2 || !candidate.type.hasStaticShape())
    return false;
  RankedTensorType local =
      getLocalType(candidate.type, candidate.sharding, func);
  candidate.keptBytes = meshwright::countBytes(local, device);
  HoistOrigin origin = findOrigin(candidate.value);
  int64_t inputBytes = 0;
  for (Value input : origin.inputs) {
    if (!isa<MeshTensorType>(input.getType()) ||
        cast<MeshTensorType>(input.getType()).getMeshName() !=
            candidate.readers.front().getMeshName())
      return false;
    meshwright::addCount(inputBytes,
                         meshwright::countBytes(getTensorType(input)));
  }
  int64_t again = candidate.readers.size() - 1;
  int64_t once = candidate.isGathered || origin.gathers
                     ? meshwright::countBytes(local)
                     : inputBytes;
  if (llvm::MulOverflow(again, once, candidate.savedBytes))
    candidate.savedBytes = std::numeric_limits<int64_t>::max();
  // What only copies is fused into its reader; what is large and cheap, such as
  // a mask of small inputs, is not worth its place.
  return candidate.isGathered ||
         ((origin.computes || origin.gathers) &&
          meshwright::countBytes(candidate.type) <= inputBytes);
}

SmallVector<HoistCandidate *>
HoistCandidates::findWorthwhile(const meshwright::Device &device) {
  SmallVector<HoistCandidate *> worth;
  for (auto &[key, candidate] : candidates)
    if (isWorthIt(candidate, device))
      worth.push_back(&candidate);
  llvm::stable_sort(worth, [](HoistCandidate *a, HoistCandidate *b) {
    return a->savedBytes > b->savedBytes;
  });
  return worth;
}
