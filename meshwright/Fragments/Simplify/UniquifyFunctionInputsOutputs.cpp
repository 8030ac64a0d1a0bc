//===- UniquifyFunctionInputsOutputs.cpp - One buffer per result ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The runtime hands each result to its owner as a buffer of its own, and an
// argument may be donated. So no value may be returned twice, and no argument
// as it came:
//
//   return %x, %0, %0     // %x is an argument
//   // becomes
//   %1:3 = fragment (%x, %0) (%p, %q) { return %p, %q, %q }
//   return %1#0, %1#1, %1#2
//
// The fragment has one copy per returned position and merges into a neighbour
// later. Before sharding propagation a transfer per copy does the same without
// tying the shardings of several values to one op.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#define GEN_PASS_DEF_UNIQUIFYFUNCTIONINPUTSOUTPUTSPASS
#include "meshwright/Fragments/Simplify/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The positions at which a `return` has a value, by value.
using Positions = llvm::MapVector<Value, SmallVector<unsigned>>;

static LogicalResult verifyMeshTensor(func::ReturnOp returnOp, unsigned i) {
  Type type = returnOp.getOperand(i).getType();
  if (isa<MeshTensorType>(type))
    return success();
  return returnOp.emitError()
         << "result #" << i << " has type " << type
         << " but must be a mesh tensor to be copied; assign it to a mesh";
}

/// What only the signature of a function names is verified by nothing else.
static LogicalResult verifyMesh(func::ReturnOp returnOp, Value copied) {
  return cast<MeshTensorType>(copied.getType()).verifyForTopology(returnOp);
}

/// Creates a fragment before `returnOp` that copies each value of one mesh once
/// per position, and returns the copies. Returns how many there are.
static unsigned copyWithFragment(func::ReturnOp returnOp, StringRef meshName,
                                 const Positions &positions) {
  OpBuilder builder(returnOp);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (const auto &[value, where] : positions) {
    inputs.push_back(value);
    types.append(where.size(), value.getType());
  }
  auto fragment = FragmentOp::createWithGlobalBody(
      returnOp.getLoc(), builder.getArrayAttr({}),
      builder.getStringAttr(meshName), inputs, types, builder,
      [&](ArrayRef<Value> args, OpBuilder &) {
        SmallVector<Value> returned;
        for (auto [arg, entry] : llvm::zip(args, positions))
          returned.append(entry.second.size(), arg);
        return returned;
      });
  setInferredBy(fragment, {"uniquify"});

  unsigned next = 0;
  for (const auto &entry : positions)
    for (unsigned position : entry.second)
      returnOp->setOperand(position, fragment->getResult(next++));
  return next;
}

static LogicalResult uniquifyWithFragments(func::ReturnOp returnOp,
                                           Pass::Statistic &numCopies) {
  llvm::MapVector<StringRef, Positions> byMesh;
  for (auto [i, value] : llvm::enumerate(returnOp->getOperands())) {
    if (failed(verifyMeshTensor(returnOp, i)))
      return failure();
    StringRef mesh = cast<MeshTensorType>(value.getType()).getMeshName();
    byMesh[mesh][value].push_back(i);
  }
  for (auto &[mesh, positions] : byMesh) {
    positions.remove_if([](const auto &entry) {
      return entry.second.size() == 1 && !isa<BlockArgument>(entry.first);
    });
    for (const auto &entry : positions)
      if (failed(verifyMesh(returnOp, entry.first)))
        return failure();
    if (!positions.empty())
      numCopies += copyWithFragment(returnOp, mesh, positions);
  }
  return success();
}

static LogicalResult uniquifyWithTransfers(func::ReturnOp returnOp,
                                           Pass::Statistic &numCopies) {
  OpBuilder builder(returnOp);
  DenseSet<Value> returned;
  for (OpOperand &operand : returnOp->getOpOperands()) {
    Value value = operand.get();
    if (returned.insert(value).second && !isa<BlockArgument>(value))
      continue;
    if (failed(verifyMeshTensor(returnOp, operand.getOperandNumber())) ||
        failed(verifyMesh(returnOp, value)))
      return failure();
    if (isPinnedHost(getAttributeMemoryKind(value))) {
      // From there no transfer may be.
      Positions position;
      position[value].push_back(operand.getOperandNumber());
      StringRef mesh = cast<MeshTensorType>(value.getType()).getMeshName();
      numCopies += copyWithFragment(returnOp, mesh, position);
      continue;
    }
    operand.set(
        TransferOp::create(builder, returnOp.getLoc(), value.getType(), value));
    ++numCopies;
  }
  return success();
}

namespace {
struct UniquifyFunctionInputsOutputsPass
    : mpmd::impl::UniquifyFunctionInputsOutputsPassBase<
          UniquifyFunctionInputsOutputsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    auto returnOp = dyn_cast<func::ReturnOp>(func.front().getTerminator());
    if (!returnOp)
      return;
    if (failed(useTransferInsteadOfFragment
                   ? uniquifyWithTransfers(returnOp, numCopies)
                   : uniquifyWithFragments(returnOp, numCopies)))
      signalPassFailure();
  }
};
} // namespace
