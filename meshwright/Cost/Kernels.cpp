//===- Kernels.cpp - What a backend fuses ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each op has a level: the most ops on a way to it that end a kernel. Fused are
// ops of one level that are connected. No way leaves a kernel and comes back,
// since it would pass an op that ends one, and be a level higher. Ops that their
// readers compute connect none.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Kernels.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace meshwright;

namespace {
enum class Fusion {
  Free,  ///< With what it reads and with its readers.
  Ends,  ///< With what it reads.
  Heads, ///< With its readers: what a matrix product is followed by.
  Alone,
};
} // namespace

bool meshwright::isProduct(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::DotOp,
             stablehlo::ConvolutionOp>(op);
}

static Fusion classify(Operation *op) {
  if (isProduct(op))
    return Fusion::Heads;
  if (isa<stablehlo::ReduceOp>(op))
    return Fusion::Ends;
  if (isa<stablehlo::GatherOp, stablehlo::DynamicGatherOp,
          stablehlo::AllGatherOp, stablehlo::AllToAllOp,
          stablehlo::CollectivePermuteOp, stablehlo::CollectiveBroadcastOp,
          stablehlo::FftOp, stablehlo::CholeskyOp, stablehlo::TriangularSolveOp,
          stablehlo::CustomCallOp, stablehlo::RngBitGeneratorOp,
          stablehlo::RngOp, stablehlo::CompositeOp, CallOpInterface>(op) ||
      op->getNumRegions())
    return Fusion::Alone;
  return Fusion::Free;
}

static bool isJoining(Fusion fusion) {
  return fusion == Fusion::Free || fusion == Fusion::Ends;
}

bool meshwright::isConstant(Value value) {
  return matchPattern(value, m_Constant()) ||
         value.getDefiningOp<sdy::ConstantOp>();
}

static bool hasOneElement(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

Kernels::Kernels(Block &block, const Device &device) {
  build(block, {});
  if (!device.tiling)
    return;
  if (Operations ends = findSharedTranscendentals(block); !ends.empty())
    build(block, ends);
}

Kernels::Operations Kernels::findSharedTranscendentals(Block &block) const {
  auto isInKernel = [&](Operation *op, unsigned kernel) {
    return kernels.contains(op) && get(op) == kernel;
  };
  // Stored results of each kernel that nothing in it reads.
  llvm::DenseMap<unsigned, unsigned> numResults;
  for (Operation &op : block.without_terminator())
    numResults[get(&op)] +=
        llvm::any_of(op.getResults(),
                     [&](OpResult result) { return isStored(result); }) &&
        llvm::none_of(op.getUsers(), [&](Operation *user) {
          return isInKernel(user, get(&op));
        });
  Operations shared;
  for (Operation &op : block.without_terminator()) {
    if (!isTranscendental(&op) || numResults.lookup(get(&op)) < 2)
      continue;
    llvm::SmallPtrSet<Operation *, 4> readers;
    for (Operation *user : op.getUsers())
      if (isInKernel(user, get(&op)))
        readers.insert(user);
    if (readers.size() > 1)
      shared.insert(&op);
  }
  return shared;
}

void Kernels::build(Block &block, const Operations &ends) {
  kernels.clear();
  repeated.clear();
  count = 0;
  auto classifyHere = [&](Operation *op) {
    return ends.contains(op) ? Fusion::Ends : classify(op);
  };
  llvm::DenseMap<Operation *, unsigned> levels;
  llvm::EquivalenceClasses<Operation *> fused;
  // A kernel has one op at its head.
  llvm::DenseMap<Operation *, bool> hasHead;
  auto findSource = [&](Value operand) -> Operation * {
    Value needed = skipRepeated(operand);
    Operation *source = needed ? needed.getDefiningOp() : nullptr;
    return source && source->getBlock() == &block ? source : nullptr;
  };
  auto join = [&](Operation *op, Operation *other) {
    Operation *a = fused.getLeaderValue(op);
    Operation *b = fused.getLeaderValue(other);
    bool both = hasHead[a] && hasHead[b], any = hasHead[a] || hasHead[b];
    if (a == b || both)
      return;
    fused.unionSets(a, b);
    hasHead[fused.getLeaderValue(op)] = any;
  };
  // The first reader of each of `ends`, by it and the level of the reader.
  llvm::DenseMap<std::pair<Operation *, unsigned>, Operation *> readers;
  for (Operation &op : block.without_terminator()) {
    Fusion fusion = classifyHere(&op);
    unsigned level = 0;
    for (Value operand : op.getOperands()) {
      Operation *source = findSource(operand);
      if (!source)
        continue;
      Fusion before = classifyHere(source);
      bool isBorder = !isJoining(fusion) || before == Fusion::Ends ||
                      before == Fusion::Alone;
      level = std::max(level, levels.lookup(source) + isBorder);
    }
    levels[&op] = level;
    fused.insert(&op);
    hasHead[&op] = fusion == Fusion::Heads;
    if (isRepeated(&op)) {
      repeated.insert(&op);
      continue;
    }
    if (!isJoining(fusion))
      continue;
    for (Value operand : op.getOperands()) {
      Operation *source = findSource(operand);
      if (source && ends.contains(source))
        join(&op, readers.try_emplace({source, level}, &op).first->second);
      if (!source || levels.lookup(source) != level)
        continue;
      Fusion before = classifyHere(source);
      if (before != Fusion::Ends && before != Fusion::Alone)
        join(&op, source);
    }
  }
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block.without_terminator()) {
    auto [number, isNew] =
        numbers.try_emplace(fused.getLeaderValue(&op), count);
    count += isNew;
    kernels[&op] = number->second;
  }
}

bool Kernels::isRepeated(Operation *op) const {
  if (op->getNumOperands() == 0)
    return op->getNumResults() == 1 && isJoining(classify(op));
  if (!isa<stablehlo::BroadcastInDimOp, stablehlo::BroadcastOp,
           stablehlo::ReshapeOp, stablehlo::ConvertOp>(op))
    return false;
  Value operand = op->getOperand(0);
  if (Operation *source = operand.getDefiningOp();
      source && repeated.contains(source))
    return true;
  return isa<stablehlo::BroadcastInDimOp, stablehlo::BroadcastOp>(op) &&
         hasOneElement(operand);
}

Value Kernels::skipRepeated(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!repeated.contains(op))
      break;
    if (op->getNumOperands() == 0)
      return {};
    value = op->getOperand(0);
  }
  return value;
}

bool Kernels::isReadOutside(Value value, unsigned kernel) const {
  Block *block = value.getParentBlock();
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    auto found = kernels.find(inBlock);
    if (found == kernels.end())
      return true;
    if (!repeated.contains(inBlock))
      return found->second != kernel;
    OpResult result = inBlock->getResult(0);
    return isStored(result) || isReadOutside(result, kernel);
  });
}

bool Kernels::isStored(OpResult result) const {
  Operation *op = result.getOwner();
  if (!repeated.contains(op))
    return isReadOutside(result, get(op));
  // Others compute it.
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return !kernels.contains(inBlock) || !isJoining(classify(inBlock));
  });
}

bool Kernels::isInReaders(Operation *op) const {
  return repeated.contains(op) && !isStored(op->getResult(0));
}

Value Kernels::getRead(OpOperand &operand) const {
  if (isConstant(operand.get()))
    return {};
  return isJoining(classify(operand.getOwner())) ? skipRepeated(operand.get())
                                                 : operand.get();
}
