//===- PropagateUnreducedShardings.cpp - Partial sums between fragments ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A body may be written for partial sums: each device holds a part of the sum,
// and an addition of such values communicates nothing. Its fragment has to get
// them as they are. If it got the sum on every device, the addition would count
// it once for each of them.
//
//   %g = fragment {out [{}], unreduced={"x"}}
//   %s = fragment {in [{}]} (%g) (%a) { %b = add %a, %a; constraint %b unreduced }
//   // becomes
//   %s = fragment {in [{}], unreduced={"x"}} (%g) ...
//
// What a program says is unreduced is so wherever it goes: to other fragments,
// through them, and by transfers to meshes with the same axes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Sharding/OperandMarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#define GEN_PASS_DEF_PROPAGATEUNREDUCEDSHARDINGSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::TensorShardingAttr;

static bool isUnreduced(TensorShardingAttr sharding) {
  return sharding && !sharding.getUnreducedAxes().empty();
}

/// An op that takes sums and partial sums alike, and knows which of them it gets
/// by the type.
static bool takesBoth(Operation *op) {
  return isa<sdy::ShardingConstraintOp, sdy::ReshardOp, ReturnOp>(op);
}

namespace {
/// Propagates the unreduced axes of values over one function.
class Propagation {
public:
  Propagation(func::FuncOp func, SymbolTableCollection &symbols)
      : func(func), topology(getTopology(func)), symbols(symbols) {}

  LogicalResult run();
  unsigned getNumValues() const { return numValues; }

private:
  LogicalResult visit(FragmentOp fragment);
  void visit(TransferOp transfer);
  /// The constraint that a value of a body comes from, also one in the body that
  /// it shares with others.
  sdy::ShardingConstraintOp getConstraint(Value value);
  sdy::ShardingConstraintOp traceConstraint(Value value);
  void setInputSharding(FragmentOp fragment, unsigned index,
                        TensorShardingAttr sharding);

  func::FuncOp func;
  TopologyAttr topology;
  SymbolTableCollection &symbols;
  DenseMap<Value, TensorShardingAttr> unreduced;
  /// Sums of values that are unreduced elsewhere, with the transfer that adds
  /// them up.
  DenseMap<Value, std::pair<TransferOp, TensorShardingAttr>> sums;
  /// By a shared body and the number of its result: calls are many, bodies are few.
  DenseMap<std::pair<Attribute, unsigned>, sdy::ShardingConstraintOp> known;
  unsigned numValues = 0;
};
} // namespace

sdy::ShardingConstraintOp Propagation::getConstraint(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || !sdy::isSharedBodyCall(result.getOwner()))
    return traceConstraint(value);
  auto call = cast<stablehlo::CustomCallOp>(result.getOwner());
  auto [entry, isNew] = known.try_emplace(
      {sdy::getSharedBodyName(call), result.getResultNumber()});
  if (isNew)
    entry->second = traceConstraint(value);
  return entry->second;
}

sdy::ShardingConstraintOp Propagation::traceConstraint(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (!sdy::isSharedBodyCall(op))
      return dyn_cast<sdy::ShardingConstraintOp>(op);
    auto body = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        op, sdy::getSharedBodyName(cast<stablehlo::CustomCallOp>(op)));
    value = body.front().getTerminator()->getOperand(result.getResultNumber());
  }
  return {};
}

void Propagation::setInputSharding(FragmentOp fragment, unsigned index,
                                   TensorShardingAttr sharding) {
  if (fragment.getInputSharding(index) == sharding)
    return;
  ++numValues;
  SmallVector<int64_t> unknown;
  if (!fragment.getInShardingsAttr())
    llvm::append_range(unknown, llvm::seq<int64_t>(fragment->getNumOperands()));
  else if (auto marks = fragment->getAttrOfType<DenseI64ArrayAttr>(
               kOperandsWithoutShardingAttr))
    llvm::append_range(unknown, marks.asArrayRef());
  fragment.setInputSharding(index, sharding);
  // What is open for want of a sharding says nothing about other operands.
  llvm::erase(unknown, index);
  if (unknown.empty())
    fragment->removeAttr(kOperandsWithoutShardingAttr);
  else
    fragment->setAttr(kOperandsWithoutShardingAttr,
                      DenseI64ArrayAttr::get(func.getContext(), unknown));
}

LogicalResult Propagation::visit(FragmentOp fragment) {
  Block &body = *fragment.getBody();
  for (OpOperand &operand : fragment->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    BlockArgument arg = body.getArgument(index);
    if (TensorShardingAttr sharding = unreduced.lookup(operand.get())) {
      setInputSharding(fragment, index, sharding);
      continue;
    }
    auto [transfer, sharding] = sums.lookup(operand.get());
    if (transfer && !llvm::all_of(arg.getUsers(), takesBoth))
      return transfer.emitError()
             << "partial sums over axis "
             << sharding.getUnreducedAxes().front().toString()
             << " go to mesh \"" << transfer.getType().getMeshName()
             << "\", whose axes are not those of mesh \""
             << transfer.getTensor().getType().getMeshName()
             << "\"; add them up before they go there, with jax.reshard";
  }
  for (OpOperand &returned : body.getTerminator()->getOpOperands()) {
    unsigned index = returned.getOperandNumber();
    TensorShardingAttr sharding = fragment.getOutputSharding(index);
    if (auto arg = dyn_cast<BlockArgument>(returned.get())) {
      if (TensorShardingAttr same =
              unreduced.lookup(fragment->getOperand(arg.getArgNumber())))
        sharding = same;
    } else if (auto constraint = getConstraint(returned.get());
               constraint && isUnreduced(constraint.getSharding()) &&
               !isUnreduced(sharding)) {
      sharding = sharding ? sharding.replaceUnreducedAxes(
                                constraint.getSharding().getUnreducedAxes())
                          : constraint.getSharding();
    }
    if (!isUnreduced(sharding))
      continue;
    unreduced[fragment->getResult(index)] = sharding;
    if (fragment.getOutputSharding(index) == sharding)
      continue;
    ++numValues;
    fragment.setOutputSharding(index, sharding);
  }
  return success();
}

void Propagation::visit(TransferOp transfer) {
  TensorShardingAttr sharding = unreduced.lookup(transfer.getTensor());
  if (!sharding) {
    if (auto sum = sums.find(transfer.getTensor()); sum != sums.end())
      sums[transfer.getResult()] = sum->second;
    return;
  }
  auto from =
      getMeshByName(topology, transfer.getTensor().getType().getMeshName());
  auto to = getMeshByName(topology, transfer.getType().getMeshName());
  if (!from || !to || !from.equalsIgnoringDeviceOrder(to)) {
    sums[transfer.getResult()] = {transfer, sharding};
    return;
  }
  unreduced[transfer.getResult()] = sharding;
  if (sdy::getSharding(transfer.getResult()) == sharding)
    return;
  ++numValues;
  sdy::setSharding(transfer.getResult(), sharding);
}

LogicalResult Propagation::run() {
  for (BlockArgument arg : func.getArguments())
    if (auto sharding = sdy::getArgSharding(func, arg.getArgNumber());
        isUnreduced(sharding))
      unreduced[arg] = sharding;
  for (Operation &op : func.front()) {
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      if (failed(visit(fragment)))
        return failure();
    } else if (auto transfer = dyn_cast<TransferOp>(op)) {
      visit(transfer);
    }
  }
  return success();
}

namespace {
struct PropagateUnreducedShardingsPass
    : mpmd::impl::PropagateUnreducedShardingsPassBase<
          PropagateUnreducedShardingsPass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration() || !isMpmdProgram(func))
        continue;
      Propagation propagation(func, symbols);
      if (failed(propagation.run()))
        return signalPassFailure();
      numValues += propagation.getNumValues();
    }
  }
};
} // namespace
