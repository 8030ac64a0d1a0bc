//===- InferMeshPopulateUseSet.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds out where values are needed. An assign needs its operand on its mesh;
// an op needs its operands wherever its results are needed. One walk backwards
// sees every user before its producer, so that each set is computed once:
//
//   %0 = stablehlo.sine %p     {m2, m1}    newest use first
//   %1 = mpmd.assign %0        {m1}
//   %2 = mpmd.assign %0        {m2}
//
// A call hands the uses of its results to the callee and takes those of the
// callee's arguments. The callee is walked again only when its results are
// needed on a mesh that was not known before.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/MeshDataFlow.h"
#include "meshwright/Import/MeshSets/MeshSetPropagation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_INFERMESHPOPULATEUSESETPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// How often a call may be repeated whose results go to the same function.
static constexpr int kMaxCallRepetitions = 10;

namespace {
class UseSetPropagation {
public:
  explicit UseSetPropagation(ModuleOp module) : flow(module) {}

  void visitFunction(func::FuncOp func);
  unsigned getNumChanges() const { return numChanges; }

private:
  void visitRegions(Operation *op);
  void visitOp(Operation *op);
  void visitCall(CallOp call);
  bool growResults(CallOp call, func::FuncOp callee);
  void visitLoopReturn(ForOp loop, ReturnOp terminator);
  void extend(Operation *op, MeshSet uses);
  void extendArgs(Operation *funcOrLoop, Block::BlockArgListType args);

  MeshDataFlow flow;
  DenseSet<Operation *> walkedCallees; // Membership only.
  unsigned numChanges = 0;
};
} // namespace

/// Adds to the set of `op`; an empty set is never written.
void UseSetPropagation::extend(Operation *op, MeshSet uses) {
  MeshSet all = unite(getMeshSet(op, kUseSetAttr), uses);
  numChanges += setMeshSet(op, kUseSetAttr, all);
}

void UseSetPropagation::extendArgs(Operation *funcOrLoop,
                                   Block::BlockArgListType args) {
  auto sets = llvm::map_to_vector(args, [&](BlockArgument arg) {
    return unite(getArgMeshSet(arg, kUseSetAttr), flow.getUses(arg));
  });
  numChanges += setArgMeshSets(funcOrLoop, kUseSetAttr, sets);
}

void UseSetPropagation::visitFunction(func::FuncOp func) {
  visitRegions(func);
  extendArgs(func, func.getArguments());
}

void UseSetPropagation::visitRegions(Operation *op) {
  for (Region &region : llvm::reverse(op->getRegions()))
    for (Block &block : llvm::reverse(region))
      for (Operation &nested : llvm::reverse(block)) {
        if (isa<FragmentOp>(nested))
          continue; // Placed already.
        visitRegions(&nested);
        visitOp(&nested);
      }
}

void UseSetPropagation::visitOp(Operation *op) {
  if (auto assign = dyn_cast<AssignOp>(op)) {
    MeshSet set =
        MeshSet::get(assign.getContext(), assign.getType().getMeshName(),
                     assign.getOrigin().value_or(""));
    numChanges += setMeshSet(assign, kUseSetAttr, set);
    return;
  }
  if (isMeshlessOp(op) || isBarrierOp(op) || isa<UnassignOp>(op))
    return extend(op, flow.getUses(op));
  if (auto call = dyn_cast<CallOp>(op))
    return visitCall(call);
  if (auto loop = dyn_cast<ForOp>(op))
    return extendArgs(loop, loop.getRegion().getArguments());
  if (auto terminator = dyn_cast<ReturnOp>(op))
    if (auto loop = dyn_cast<ForOp>(op->getParentOp()))
      visitLoopReturn(loop, terminator);
}

/// Hands the uses of the results of `call` on to the callee. Returns whether
/// the callee has learned of a mesh; labels alone are not worth a walk and are
/// not kept.
bool UseSetPropagation::growResults(CallOp call, func::FuncOp callee) {
  SmallVector<MeshSet> sets;
  bool hasGrown = false;
  for (unsigned i = 0, e = callee.getNumResults(); i != e; ++i) {
    MeshSet known = getResultUseSet(callee, i), all = known;
    if (i < call.getNumResults())
      all = unite(known, flow.getUses(call.getResult(i)));
    bool grows = all.getMeshes().size() > known.getMeshes().size();
    sets.push_back(grows ? all : known);
    hasGrown |= grows;
  }
  if (hasGrown)
    numChanges += setResultUseSets(callee, sets);
  return hasGrown;
}

void UseSetPropagation::visitCall(CallOp call) {
  func::FuncOp callee = flow.getCallee(call);
  if (!callee)
    return;
  bool feedsSameCallee = llvm::any_of(call->getUsers(), [&](Operation *user) {
    auto next = dyn_cast<CallOp>(user);
    return next && next.getCallee() == call.getCallee();
  });
  int repetitions = feedsSameCallee ? kMaxCallRepetitions : 0;
  for (int i = 0; i <= repetitions; ++i) {
    bool hasGrown = growResults(call, callee);
    // A walk that starts from the same results finds nothing new, so only the
    // first walk, which finds the callee's own assigns, needs no growth.
    bool isReached = llvm::any_of(callee.getArguments(), [](BlockArgument arg) {
      return getArgMeshSet(arg, kUseSetAttr).isSpecified();
    });
    bool isFirstWalk = !isReached && walkedCallees.insert(callee).second;
    if (hasGrown || isFirstWalk)
      visitFunction(callee);
    if (!hasGrown)
      return;
  }
}

/// What needs a result of a loop needs what its body yields.
void UseSetPropagation::visitLoopReturn(ForOp loop, ReturnOp terminator) {
  for (auto [index, yielded] : llvm::enumerate(terminator.getOperands())) {
    Operation *producer = yielded.getDefiningOp();
    if (!producer)
      continue;
    MeshSet uses = flow.getUses(loop.getResult(index));
    auto call = dyn_cast<CallOp>(producer);
    if (!call) {
      extend(producer, uses);
      continue;
    }
    func::FuncOp callee = flow.getCallee(call);
    if (!callee)
      continue;
    SmallVector<MeshSet> sets;
    for (unsigned i = 0, e = callee.getNumResults(); i != e; ++i) {
      sets.push_back(getResultUseSet(callee, i));
      if (i == cast<OpResult>(yielded).getResultNumber())
        sets.back() = unite(sets.back(), uses);
    }
    numChanges += setResultUseSets(callee, sets);
  }
}

unsigned mpmd::populateUseSets(ModuleOp module) {
  UseSetPropagation propagation(module);
  for (func::FuncOp entryPoint : getEntryPoints(module))
    propagation.visitFunction(entryPoint);
  return propagation.getNumChanges();
}

namespace {
struct InferMeshPopulateUseSetPass
    : mpmd::impl::InferMeshPopulateUseSetPassBase<InferMeshPopulateUseSetPass> {
  void runOnOperation() override { numSets += populateUseSets(getOperation()); }
};
} // namespace
