//===- ConditionalPlan.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Conditionals/ConditionalPlan.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace mlir::mpmd;

/// Whether a product has no more terms than its operands have elements.
static bool isScalarProduct(Operation *op) {
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  if (!dot)
    return false;
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  auto isWhole = [](Value operand, ArrayRef<int64_t> batching,
                    ArrayRef<int64_t> contracting) {
    return cast<ShapedType>(operand.getType()).getRank() ==
           int64_t(batching.size() + contracting.size());
  };
  return isWhole(dot.getLhs(), numbers.getLhsBatchingDimensions(),
                 numbers.getLhsContractingDimensions()) &&
         isWhole(dot.getRhs(), numbers.getRhsBatchingDimensions(),
                 numbers.getRhsContractingDimensions());
}

/// Whether an op costs so little that it may run although no branch asked for
/// it.
static bool isCheap(Operation *op) {
  return isPure(op) &&
         (op->hasTrait<OpTrait::Elementwise>() || isScalarProduct(op) ||
          isa<stablehlo::BitcastConvertOp, stablehlo::BroadcastInDimOp,
              stablehlo::ClampOp, stablehlo::ConcatenateOp,
              stablehlo::ConvertOp, stablehlo::DynamicSliceOp,
              stablehlo::DynamicUpdateSliceOp, stablehlo::PadOp,
              stablehlo::ReduceOp, stablehlo::ReshapeOp, stablehlo::ReverseOp,
              stablehlo::SelectOp, stablehlo::SliceOp, stablehlo::TransposeOp>(
              op));
}

bool mpmd::isFreeToRepeat(Operation *op) {
  return isNegligibleOp(op) && op->getNumRegions() == 0 && isPure(op);
}

/// Whether parts had better compute an op each than be sent its result, such as a
/// number that is broadcast.
static bool isLargerThanInputs(Operation *op) {
  if (!isCheapToRepeat(op))
    return false;
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += getTensorBytes(operand);
  return bytes < getTensorBytes(op->getResult(0));
}

/// Whether the results can be made up where no branch computes them.
static bool hasZeros(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           tensor.getElementType().isIntOrFloat();
  });
}

static uint64_t countElements(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? tensor.getNumElements() : 1;
}

void mpmd::forEachProducer(Operation *op, Block &block,
                           function_ref<void(Operation *)> visit) {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block)
        visit(producer);
  });
}

ConditionalPlan::ConditionalPlan(Operation *conditional,
                                 const ConditionalHomes &homes)
    : conditional(conditional) {
  groupResults(homes);
  joined.grow(groups.size());
  for (Region &branch : conditional->getRegions())
    followBranch(branch.front());
  joinGroups();
  for (Region &branch : conditional->getRegions())
    divideShared(branch.front(), homes);
  mergeJoined();
}

/// Results that may be anywhere go with the first that may not.
void ConditionalPlan::groupResults(const ConditionalHomes &homes) {
  std::map<MeshNames, unsigned> indexOfHome;
  SmallVector<MeshNames> all =
      llvm::map_to_vector(conditional->getResults(), [&](OpResult result) {
        return homes.getHome(result);
      });
  const auto *firstHome =
      llvm::find_if(all, [](const MeshNames &home) { return !home.empty(); });
  for (auto [result, home] : llvm::zip_equal(conditional->getResults(), all)) {
    if (home.empty() && firstHome != all.end())
      home = *firstHome;
    auto [entry, isNew] = indexOfHome.try_emplace(home, groups.size());
    if (isNew)
      groups.emplace_back().home = home;
    uint64_t &numElements = groups[entry->second].numElements;
    numElements =
        llvm::SaturatingAdd(numElements, countElements(result.getType()));
    groupOfResult.push_back(entry->second);
  }
}

/// From the results of a branch back to what they are computed from.
void ConditionalPlan::followBranch(Block &branch) {
  for (auto [group, value] :
       llvm::zip_equal(groupOfResult, branch.getTerminator()->getOperands()))
    if (Operation *producer = value.getDefiningOp();
        producer && producer->getBlock() == &branch) {
      llvm::SmallBitVector &bits = readers[producer];
      bits.resize(groups.size());
      bits.set(group);
    }
  for (Operation &op : llvm::reverse(branch.without_terminator())) {
    llvm::SmallBitVector bits = readers.lookup(&op);
    bits.resize(groups.size());
    // It has no reader, but it has to happen, if only as an annotation.
    if (bits.none() && !isMemoryEffectFree(&op))
      bits.set(0);
    readers[&op] = bits;
    forEachProducer(&op, branch, [&](Operation *producer) {
      llvm::SmallBitVector &known = readers[producer];
      known.resize(groups.size());
      known |= bits;
    });
  }
}

/// Joins the groups that cannot do without each other: those with effects,
/// whose order stays, and those that share what cannot be passed on.
void ConditionalPlan::joinGroups() {
  std::optional<unsigned> withEffects;
  for (Region &branch : conditional->getRegions())
    for (Operation &op : branch.front().without_terminator()) {
      const llvm::SmallBitVector &bits = readers.find(&op)->second;
      bool isOrdered = hasEffects(&op);
      if (bits.none() || (!isOrdered && hasZeros(&op)))
        continue;
      unsigned first = bits.find_first();
      if (isOrdered)
        first = *(withEffects = withEffects.value_or(first));
      for (unsigned group : bits.set_bits())
        joined.join(first, group);
    }
}

/// How many groups need an op, those that are joined counted once.
unsigned ConditionalPlan::countGroups(Operation *op) const {
  llvm::SmallBitVector leaders(groups.size());
  auto it = readers.find(op);
  if (it != readers.end())
    for (unsigned group : it->second.set_bits())
      leaders.set(joined.findLeader(group));
  return leaders.count();
}

/// Hoists what is cheap with all that it is computed from in the branch, if
/// several groups share it or if it is a sum across meshes. What several meshes have
/// to give values for is hoisted whatever it costs, as all of these would be sent to a
/// part of its own. What else is shared is common.
void ConditionalPlan::divideShared(Block &branch,
                                   const ConditionalHomes &homes) {
  DenseSet<Operation *> cheap, pure; // Membership only.
  for (Operation &op : branch.without_terminator()) {
    bool isAllCheap = isFreeToRepeat(&op) || isCheap(&op);
    bool isAllPure = isPure(&op);
    forEachProducer(&op, branch, [&](Operation *producer) {
      isAllCheap &= cheap.contains(producer);
      isAllPure &= pure.contains(producer);
    });
    if (isAllCheap)
      cheap.insert(&op);
    if (isAllPure)
      pure.insert(&op);
  }
  for (Operation &op : llvm::reverse(branch.without_terminator())) {
    bool isShared = countGroups(&op) > 1;
    bool isSum = homes.isAcrossMeshes(&op);
    if (isFreeToRepeat(&op))
      continue;
    bool mayHoist = cheap.contains(&op) ||
                    (pure.contains(&op) &&
                     (hoisted.contains(&op) || homes.readsSeveralMeshes(&op)));
    if (!mayHoist) {
      if (!isShared)
        continue;
      if (isLargerThanInputs(&op)) {
        repeated.insert(&op);
        continue;
      }
      common.insert(&op);
      if (StringRef mesh = homes.getSource(&op); commonHome.empty())
        commonHome = mesh;
      continue;
    }
    if (!isShared && !isSum && !hoisted.contains(&op))
      continue;
    hoisted.insert(&op);
    forEachProducer(&op, branch, [&](Operation *producer) {
      if (!isFreeToRepeat(producer))
        hoisted.insert(producer);
    });
  }
}

SmallVector<Value> ConditionalPlan::getCommonValues(Block &branch) const {
  SmallVector<Value> values;
  for (Operation &op : branch.without_terminator())
    if (isCommon(&op))
      for (Value result : op.getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !isCommon(branch.findAncestorOpInBlock(*user));
            }))
          values.push_back(result);
  return values;
}

/// Numbers what is left of the groups. The larger one has the say.
void ConditionalPlan::mergeJoined() {
  SmallVector<ConditionalGroup> merged;
  SmallVector<uint64_t> largest;
  llvm::SmallDenseMap<unsigned, unsigned> indexOfLeader;
  SmallVector<unsigned> newIndex;
  for (unsigned index = 0, e = groups.size(); index != e; ++index) {
    const ConditionalGroup &group = groups[index];
    auto [entry, isNew] =
        indexOfLeader.try_emplace(joined.findLeader(index), merged.size());
    newIndex.push_back(entry->second);
    if (isNew) {
      merged.push_back(group);
      largest.push_back(group.numElements);
    } else if (group.numElements > largest[entry->second]) {
      merged[entry->second].home = group.home;
      largest[entry->second] = group.numElements;
    }
  }
  for (auto &[op, bits] : readers) {
    llvm::SmallBitVector renumbered(merged.size());
    for (unsigned group : bits.set_bits())
      renumbered.set(newIndex[group]);
    bits = renumbered;
  }
  groups = std::move(merged);
  for (auto [result, group] : llvm::enumerate(groupOfResult))
    groups[newIndex[group]].results.push_back(result);
}

bool ConditionalPlan::isIn(Operation *op, unsigned group) const {
  auto it = readers.find(op);
  return it != readers.end() && it->second.test(group) && !isCommon(op);
}
