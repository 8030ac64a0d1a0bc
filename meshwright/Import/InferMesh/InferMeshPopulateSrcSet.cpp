//===- InferMeshPopulateSrcSet.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Computes the candidate meshes of values. An unassign gives its value on its mesh
// and wherever a transfer takes it; an op can be where all its operands are
// available. No set means anywhere, the empty set nowhere:
//
//   %1 = mpmd.unassign %f : m1     {m1, m2}      if %f is transferred to m2
//   %2 = stablehlo.sine %1         {m1, m2}
//   %3 = stablehlo.power %2, %q    {}            if %q is on m3
//
// A sum of values that have no mesh in common need not fail: it is marked as a
// reduction, which may later be done across meshes, and so are the sums of the
// same kind that it feeds.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshDataFlow.h"
#include "meshwright/Import/MeshSets/MeshSetPropagation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_INFERMESHPOPULATESRCSETPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class SrcSetPropagation {
public:
  explicit SrcSetPropagation(ModuleOp module) : flow(module) {}

  void visitEntryPoint(func::FuncOp func);
  unsigned getNumChanges() const { return numChanges; }

private:
  /// Whether ops in regions of meshless ops are visited, before these ops.
  enum class Nested { Skip, Visit };

  void visitRegions(Operation *op, Nested nested);
  void visitOp(Operation *op, Nested nested);
  void visitUnassign(UnassignOp unassign);
  void visitComputation(Operation *op);
  void inferReduction(Operation *op, MeshSet sources);
  void visitCall(CallOp call);
  void visitLoop(ForOp loop, Nested nested);

  MeshDataFlow flow;
  DenseSet<Operation *> walkedCallees; // Membership only.
  unsigned numChanges = 0;
};
} // namespace

/// Arguments are available wherever they are used: their transfers are free.
void SrcSetPropagation::visitEntryPoint(func::FuncOp func) {
  auto sets = llvm::map_to_vector(func.getArguments(), [](BlockArgument arg) {
    MeshSet uses = getArgMeshSet(arg, kUseSetAttr);
    return uses.isSpecifiedAndNotEmpty() ? relabel(uses, "inferred_in")
                                         : getArgMeshSet(arg, kSrcSetAttr);
  });
  numChanges += setArgMeshSets(func, kSrcSetAttr, sets);
  visitRegions(func, Nested::Skip);
}

void SrcSetPropagation::visitRegions(Operation *op, Nested nested) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &child : block)
        visitOp(&child, nested);
}

void SrcSetPropagation::visitOp(Operation *op, Nested nested) {
  if (auto unassign = dyn_cast<UnassignOp>(op))
    return visitUnassign(unassign);
  if (auto call = dyn_cast<CallOp>(op))
    return visitCall(call);
  if (auto loop = dyn_cast<ForOp>(op))
    return visitLoop(loop, nested);
  if (!isMeshlessOp(op) && !isa<AssignOp>(op))
    return;
  if (nested == Nested::Visit)
    visitRegions(op, nested);
  visitComputation(op);
}

void SrcSetPropagation::visitUnassign(UnassignOp unassign) {
  Value source = unassign.getTensor();
  auto addMesh = [context = unassign.getContext()](MeshSet set, Type type,
                                                   StringRef label) {
    StringRef mesh = cast<MeshTensorType>(type).getMeshName();
    return unite(set, MeshSet::get(context, mesh, label));
  };
  MeshSet set =
      addMesh({}, source.getType(), unassign.getOrigin().value_or(""));
  for (Operation *user : source.getUsers())
    if (auto transfer = dyn_cast<TransferOp>(user))
      set = addMesh(set, transfer.getType(), "transfer");
  auto func = unassign->getParentOfType<func::FuncOp>();
  if (isa<BlockArgument>(source) && func && isEntryPointFunction(func))
    set =
        unite(set, relabel(flow.getUses(unassign.getResult()), "inferred_in"));
  numChanges += setMeshSet(unassign, kSrcSetAttr, set);
}

void SrcSetPropagation::visitComputation(Operation *op) {
  MeshSet sources = getMeshSet(op, kSrcSetAttr);
  for (Value operand : op->getOperands())
    sources = intersect(sources, flow.getSources(operand));
  if (!sources.isSpecified())
    return;
  numChanges += setMeshSet(op, kSrcSetAttr, sources);
  inferReduction(op, sources);
}

void SrcSetPropagation::inferReduction(Operation *op, MeshSet sources) {
  std::optional<ReductionType> kind = getKindAcrossMeshes(op);
  if (!kind)
    return;
  MeshSet all;
  for (Value operand : op->getOperands()) {
    MeshSet set = flow.getSources(operand);
    if (set.isSpecifiedAndEmpty())
      return;
    all = unite(all, set);
  }
  bool continuesReduction = llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return producer && getMarkedReduction(producer) == kind;
  });
  if (!all.isSpecified() ||
      (!sources.isSpecifiedAndEmpty() && !continuesReduction))
    return;
  auto mark = ReductionAttr::get(op->getContext(), *kind);
  op->setDiscardableAttr(kReduceAttr, mark);
  if (auto concat = dyn_cast<stablehlo::ConcatenateOp>(op))
    getReduceOfPieces(concat)->setDiscardableAttr(kReduceAttr, mark);
  numChanges += setMeshSet(op, kSrcSetAttr, all);
}

void SrcSetPropagation::visitCall(CallOp call) {
  func::FuncOp callee = flow.getCallee(call);
  if (!callee)
    return;
  SmallVector<MeshSet> sets;
  for (BlockArgument arg : callee.getArguments()) {
    MeshSet known = getArgMeshSet(arg, kSrcSetAttr);
    sets.push_back(known);
    if (arg.getArgNumber() >= call.getNumOperands())
      continue;
    Value operand = call->getOperand(arg.getArgNumber());
    sets.back() = intersect(flow.getSources(operand), known);
  }
  // A walk that starts from the same arguments finds nothing new.
  unsigned numChanged = setArgMeshSets(callee, kSrcSetAttr, sets);
  numChanges += numChanged;
  if (walkedCallees.insert(callee).second || numChanged)
    visitRegions(callee, Nested::Visit);
}

void SrcSetPropagation::visitLoop(ForOp loop, Nested nested) {
  auto sets = llvm::map_to_vector(
      loop.getRegion().getArguments(), [&](BlockArgument arg) {
        MeshSet given;
        if (arg.getArgNumber() < loop->getNumOperands())
          given = flow.getSources(loop->getOperand(arg.getArgNumber()));
        return given.isSpecified() ? given : getArgMeshSet(arg, kSrcSetAttr);
      });
  numChanges += setArgMeshSets(loop, kSrcSetAttr, sets);
  visitRegions(loop, nested);
}

unsigned mpmd::populateSrcSets(ModuleOp module) {
  SrcSetPropagation propagation(module);
  for (func::FuncOp entryPoint : getEntryPoints(module))
    propagation.visitEntryPoint(entryPoint);
  return propagation.getNumChanges();
}

namespace {
struct InferMeshPopulateSrcSetPass
    : mpmd::impl::InferMeshPopulateSrcSetPassBase<InferMeshPopulateSrcSetPass> {
  void runOnOperation() override { numSets += populateSrcSets(getOperation()); }
};
} // namespace
