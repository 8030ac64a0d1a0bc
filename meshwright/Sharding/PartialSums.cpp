//===- PartialSums.cpp - Which values may stay unreduced ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/PartialSums.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::DimensionShardingAttr;

bool mpmd::isUniformValue(Value value) {
  RankedTensorType type = getTensorType(value);
  if (type && type.getRank() == 0)
    return true;
  if (getSplatNumber(value))
    return true;
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  return broadcast && isUniformValue(broadcast.getOperand());
}

bool mpmd::isLinearIn(Operation *op, unsigned index) {
  if (isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::NegateOp,
          stablehlo::BroadcastInDimOp, stablehlo::SliceOp>(op))
    return true;
  if (isa<stablehlo::DynamicSliceOp>(op))
    return index == 0;
  if (isa<stablehlo::PadOp>(op))
    return index == 0 && isConstantZero(op->getOperand(1));
  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op)) {
    // A narrower type would round each partial sum.
    auto from = dyn_cast<FloatType>(
        getTensorType(convert->getOperand(0)).getElementType());
    auto to = dyn_cast<FloatType>(
        getTensorType(convert->getResult(0)).getElementType());
    return from && to &&
           llvm::APFloat::isRepresentableBy(from.getFloatSemantics(),
                                            to.getFloatSemantics());
  }
  return isSum(op) && index == 0;
}

PartialSums::PartialSums(func::FuncOp func,
                         std::function<bool(Value)> isGathered)
    : isGathered(std::move(isGathered)) {
  do
    visit(func);
  while (addNeededSums());
  dropUnprofitable(func);
}

void PartialSums::visit(func::FuncOp func) {
  splits.clear();
  zeros.clear();
  together = {};
  for (FragmentOp fragment : func.getOps<FragmentOp>())
    visit(fragment);
  for (FragmentOp fragment : func.getOps<FragmentOp>())
    stackZeros(fragment);
}

/// Finds partial values whose sums are needed anyway; whether there are new
/// ones.
bool PartialSums::addNeededSums() {
  bool isNew = false;
  for (auto &[value, unused] : splits)
    if (llvm::any_of(value.getUses(),
                     [&](OpOperand &use) { return !takesPartial(use); }))
      isNew |= neededSums.insert(value).second;
  return isNew;
}

void PartialSums::mark(Value value, Value like) {
  Split split = splits.lookup(like);
  splits[value] = split;
  together.unionSets(value.getAsOpaquePointer(), like.getAsOpaquePointer());
}

void PartialSums::start(Value value, const SplitDimension &dim) {
  splits[value] = {DimensionShardingAttr::get(value.getContext(), dim.axes,
                                              /*isClosed=*/true),
                   dim.mesh, dim.pieces};
  together.insert(value.getAsOpaquePointer());
}

/// Whether nothing but fragments of the same block reads a value.
static bool isReadByFragments(OpResult result) {
  return llvm::all_of(result.getUsers(), [&](Operation *user) {
    return isa<FragmentOp>(user) &&
           user->getBlock() == result.getOwner()->getBlock();
  });
}

void PartialSums::visit(FragmentOp fragment) {
  Block *body = fragment.getBody();
  for (auto [operand, arg] :
       llvm::zip(fragment.getInputs(), body->getArguments())) {
    if (isPartial(operand))
      mark(arg, operand);
    else if (isZero(operand))
      zeros.insert(arg);
  }
  for (Operation &op : body->without_terminator())
    visit(&op);
  for (auto [result, returned] : llvm::zip(
           fragment->getOpResults(), body->getTerminator()->getOperands())) {
    auto type = dyn_cast<MeshTensorType>(result.getType());
    if (!type || type.getMemoryKind() || !isReadByFragments(result))
      continue;
    if (isPartial(returned))
      mark(result, returned);
    else if (isZero(returned))
      zeros.insert(result);
  }
}

void PartialSums::visit(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  bool isZeroAlike = isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
                         stablehlo::TransposeOp, stablehlo::ConvertOp>(op) &&
                     isZero(op->getOperand(0));
  if (isZeroAlike || isConstantZero(result)) {
    zeros.insert(result);
    return;
  }
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::ConcatenateOp>(
          op)) {
    visitSum(op);
    return;
  }
  // A linear op of a partial sum, which may also make partial sums itself: the
  // axes of both differ, and those of the operand are the outer ones.
  unsigned numPartial = llvm::count_if(
      op->getOperands(), [&](Value value) { return isPartial(value); });
  if (numPartial == 0) {
    if (auto split = findContraction(op))
      start(result, *split);
    return;
  }
  if (numPartial != 1)
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isPartial(operand.get()) && !neededSums.contains(operand.get()) &&
        takesParts(operand))
      mark(result, operand.get());
}

/// Whether the partial sums of two values are on the same devices.
bool PartialSums::areSplitAlike(Value first, Value second) const {
  return getAxes(first) == getAxes(second) && getMesh(first) == getMesh(second);
}

/// What adds up or joins partial sums of the same axes, and zeros.
void PartialSums::visitSum(Operation *op) {
  Value like;
  for (Value operand : op->getOperands()) {
    if (isPartial(operand) ? like && !areSplitAlike(operand, like)
                           : !isZero(operand))
      return;
    // Joining would not add parts to parts.
    if (isa<stablehlo::ConcatenateOp>(op) && neededSums.contains(operand))
      return;
    if (isPartial(operand))
      like = operand;
  }
  if (like)
    for (Value operand : op->getOperands())
      if (isPartial(operand))
        mark(op->getResult(0), operand);
}

/// Whether a sharding names none of the axes that hold parts.
static bool namesNone(sdy::TensorShardingAttr sharding,
                      DimensionShardingAttr axes) {
  return !sharding || !sharding.anyOfAxisRef([&](sdy::AxisRefAttr named) {
    return llvm::any_of(axes.getAxes(), [&](sdy::AxisRefAttr axis) {
      return axis.getName() == named.getName();
    });
  });
}

/// Whether each device that holds a part of `partial` has what it needs of another
/// value.
bool PartialSums::isWholeOnEach(Value value, Value partial) const {
  auto arg = dyn_cast<BlockArgument>(value);
  auto fragment =
      arg ? dyn_cast<FragmentOp>(arg.getOwner()->getParentOp()) : FragmentOp();
  return isUniformValue(value) || (isGathered && isGathered(value)) ||
         namesNone(fragment ? fragment.getInputSharding(arg.getArgNumber())
                            : sdy::getSharding(value),
                   getAxes(partial));
}

/// Whether an op scales or masks each element of the parts by the same.
bool PartialSums::scalesParts(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  unsigned index = operand.getOperandNumber();
  if (isa<stablehlo::MultiplyOp>(op))
    return isWholeOnEach(op->getOperand(1 - index), operand.get());
  if (isa<stablehlo::DivideOp>(op))
    return index == 0 &&
           isa<FloatType, ComplexType>(
               getElementTypeOrSelf(op->getResult(0).getType())) &&
           isWholeOnEach(op->getOperand(1), operand.get());
  return isa<stablehlo::SelectOp>(op) && index != 0 &&
         isZero(op->getOperand(3 - index)) &&
         isWholeOnEach(op->getOperand(0), operand.get());
}

DimensionShardingAttr PartialSums::getAxesScaledBy(OpOperand &use) const {
  Operation *op = use.getOwner();
  bool mayScale =
      isa<stablehlo::MultiplyOp>(op) ||
      (isa<stablehlo::DivideOp>(op) && use.getOperandNumber() == 1) ||
      (isa<stablehlo::SelectOp>(op) && use.getOperandNumber() == 0);
  if (!mayScale || isPartial(use.get()))
    return {};
  return getAxes(op->getResult(0));
}

/// Whether an op may be applied to each part. A constraint says how each device
/// holds a value, but nothing of axes that it does not name.
bool PartialSums::takesParts(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
    return namesNone(sdy::getSharding(op->getResult(0)),
                     getAxes(operand.get()));
  return isLinearIn(op, operand.getOperandNumber()) || scalesParts(operand);
}

/// A sum over microbatches starts at zeros, which another fragment may make.
/// They are stacked like what is added to them, so that the first microbatch
/// runs the code of the others.
void PartialSums::stackZeros(FragmentOp fragment) {
  for (OpResult result : fragment->getOpResults()) {
    if (!isZero(result))
      continue;
    // What takes the zeros, and what is added to them there.
    SmallVector<Value> args, sums;
    for (OpOperand &use : result.getUses()) {
      Block *body = cast<FragmentOp>(use.getOwner()).getBody();
      args.push_back(body->getArgument(use.getOperandNumber()));
      for (Operation *user : args.back().getUsers())
        sums.push_back(user->getNumResults() ? user->getResult(0) : Value());
    }
    auto fits = [&](Value sum) {
      return sum && isPartial(sum) && areSplitAlike(sum, sums[0]) &&
             isa<stablehlo::AddOp>(sum.getDefiningOp());
    };
    if (sums.empty() || !llvm::all_of(sums, fits))
      continue;
    for (Value sum : sums)
      mark(result, sum);
    for (Value arg : args)
      mark(arg, result);
  }
}

bool PartialSums::takesPartial(OpOperand &use) const {
  Operation *owner = use.getOwner();
  if (isa<FragmentOp>(owner))
    return true;
  if (isa<ReturnOp>(owner))
    return isPartial(owner->getParentOp()->getResult(use.getOperandNumber()));
  return owner->getNumResults() == 1 && isPartial(owner->getResult(0)) &&
         areSplitAlike(owner->getResult(0), use.get());
}

/// Keeps those that need fewer bytes reduced than before, or none at all.
void PartialSums::dropUnprofitable(func::FuncOp func) {
  struct Group {
    int64_t savedBytes = 0;
    OpOperand *read = nullptr;
  };
  DenseMap<void *, Group> groups;
  SmallVector<std::pair<Operation *, void *>> reductions;
  auto getLeader = [&](Value value) {
    return *together.findLeader(value.getAsOpaquePointer());
  };
  auto getGroup = [&](Value value) -> Group & {
    return groups[getLeader(value)];
  };
  auto count = [&](Value value) {
    if (!isPartial(value))
      return;
    Group &group = getGroup(value);
    int64_t bytes = meshwright::countBytes(getTensorType(value));
    Operation *op = value.getDefiningOp();
    if (op && llvm::none_of(op->getOperands(),
                            [&](Value v) { return isPartial(v); })) {
      meshwright::addCount(group.savedBytes, bytes);
      reductions.push_back({op, getLeader(value)});
    }
    for (OpOperand &use : value.getUses()) {
      if (takesPartial(use))
        continue;
      meshwright::addCount(group.savedBytes, -bytes);
      if (!group.read)
        group.read = &use;
      break;
    }
  };
  for (FragmentOp fragment : func.getOps<FragmentOp>()) {
    llvm::for_each(fragment.getBody()->getArguments(), count);
    for (Operation &op : fragment.getBody()->without_terminator())
      llvm::for_each(op.getResults(), count);
  }
  // By program order, which a map of pointers does not have.
  for (auto &[reduction, group] : reductions)
    if (groups[group].savedBytes <= 0)
      refusals.push_back({reduction, groups[group].read, ""});
  func.walk([&](Operation *op) {
    Refusal refusal{op, /*read=*/nullptr, /*why=*/""};
    findSplitContraction(
        op, [this](Value v) { return isZero(v); }, &refusal.why);
    if (!refusal.why.empty())
      refusals.push_back(std::move(refusal));
  });
  SmallVector<Value> dropped;
  for (auto &[value, unused] : splits)
    if (getGroup(value).savedBytes <= 0)
      dropped.push_back(value);
  for (Value value : dropped)
    splits.erase(value);
}
