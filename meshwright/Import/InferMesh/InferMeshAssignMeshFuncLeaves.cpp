//===- InferMeshAssignMeshFuncLeaves.cpp ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Uses say where to place an op, so every value needs one. This pass gives a
// mesh to the values without an assignment: outputs, unused results and inputs,
// operands of barriers. They prefer the meshes that they are used on already:
//
//   %0 = stablehlo.sine %p                  %0 = stablehlo.sine %p
//   return %0                 becomes       %1 = mpmd.assign %0 : m1
//                                           return %1
//
// The use sets on ops and arguments were only made for these choices. They are
// dropped, and the next pass finds the new ones.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/Place/InferredFragment.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_INFERMESHASSIGNMESHFUNCLEAVESPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// A set of nothing is no choice; no set is any choice, the preferred one or
/// else the first mesh.
static std::optional<StringRef> pick(MeshSet sources, MeshSet preferred,
                                     StringRef firstMesh) {
  if (sources.isSpecified())
    return prioritize(sources, preferred);
  return prioritize(preferred).value_or(firstMesh);
}

namespace {
class LeafAssignment {
public:
  LeafAssignment(func::FuncOp func, const MeshDataFlow &flow,
                 const CallGraph &calls, CalleeEffects &effects,
                 bool inferTransfers, ErrorLimit &errors)
      : func(func), flow(flow), calls(calls), effects(effects),
        inferTransfers(inferTransfers), errors(errors),
        rewriter(func.getContext()),
        firstMesh(getFirstMesh(getTopology(func))) {}

  LogicalResult run();
  unsigned getNumAssigned() const { return numAssigned; }

private:
  // Leaves of entry points.
  void assignUnusedInputs();
  LogicalResult assignOutputs();
  // Leaves of callees.
  LogicalResult assignUnusedArguments();
  LogicalResult assignUnusedResults();
  // Leaves in bodies.
  void visitBlock(Block &block);
  void visitComputation(Operation *op);
  void wrapResultless(Operation *op);
  void assignUnused(Operation *op);
  void visitBarrier(Operation *barrier);

  LogicalResult countError();
  void fail(Operation *op, StringRef what, StringRef remedy);
  AssignOp createAssign(Location loc, Value value, StringRef mesh,
                        StringRef origin) {
    hasFailed |= failed(verifyMeshOfSet(value, mesh));
    ++numAssigned;
    return AssignOp::create(rewriter, loc, value, mesh,
                            rewriter.getStringAttr(origin));
  }

  func::FuncOp func;
  const MeshDataFlow &flow;
  const CallGraph &calls;
  CalleeEffects &effects;
  bool inferTransfers;
  ErrorLimit &errors;
  IRRewriter rewriter;
  StringRef firstMesh;
  bool hasFailed = false;
  unsigned numAssigned = 0;
};
} // namespace

static constexpr StringLiteral kPlaceOnOneMeshHint =
    "place what it depends on on one mesh, or set the partitioning option "
    "`mpmd_infer_transfers`";

/// Fails once the limit is reached; before, compilation goes on.
LogicalResult LeafAssignment::countError() {
  errors.count();
  return failure(errors.isReached());
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

void LeafAssignment::assignUnusedInputs() {
  for (BlockArgument arg : func.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(arg.getType());
        type && arg.use_empty())
      arg.setType(MeshTensorType::getFullyReplicated(func.getContext(),
                                                     firstMesh, type));
}

LogicalResult LeafAssignment::assignOutputs() {
  func::ReturnOp ret = getReturnOp(func);
  rewriter.setInsertionPoint(ret);
  for (OpOperand &output : ret->getOpOperands()) {
    Value value = output.get();
    if (!isTensor(value))
      continue;
    unsigned index = output.getOperandNumber();
    Operation *producer = value.getDefiningOp();
    MeshSet uses = producer && !isa<CallOp>(producer)
                       ? getMeshSet(producer, kUseSetAttr)
                       : MeshSet();
    std::optional<StringRef> mesh =
        pick(flow.getSources(value), uses, firstMesh);
    if (!mesh && !inferTransfers) {
      ret.emitError() << "Func output " << index
                      << " has no mesh: no mesh can hold its value without "
                         "transfers; "
                      << kPlaceOnOneMeshHint;
      if (failed(countError()))
        return failure();
    }
    auto loc = getResultInfoLoc(func, index, value.getLoc());
    output.set(
        createAssign(loc, value, mesh.value_or(firstMesh), "inferred_out"));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Callees
//===----------------------------------------------------------------------===//

LogicalResult LeafAssignment::assignUnusedArguments() {
  auto sets = llvm::map_to_vector(func.getArguments(), [](BlockArgument arg) {
    return getArgMeshSet(arg, kUseSetAttr);
  });
  LogicalResult result = success();
  for (BlockArgument arg : func.getArguments()) {
    if (!arg.use_empty() || !isTensor(arg))
      continue;
    std::optional<StringRef> mesh =
        pick(getArgMeshSet(arg, kSrcSetAttr), {}, firstMesh);
    if (!mesh && !inferTransfers) {
      emitError(arg.getLoc())
          << "Callee @" << func.getSymName() << ": unused input "
          << arg.getArgNumber()
          << " has no mesh: its calls pass values of different meshes; "
          << kPlaceOnOneMeshHint;
      result = countError();
      break;
    }
    sets[arg.getArgNumber()] =
        MeshSet::get(func.getContext(), mesh.value_or(firstMesh),
                     "inferred_unused_callee_in");
  }
  setArgMeshSets(func, kUseSetAttr, sets);
  return result;
}

LogicalResult LeafAssignment::assignUnusedResults() {
  ArrayRef<CallOp> callOps = calls.getCalls(func);
  if (callOps.empty())
    return success();
  SmallVector<MeshSet> sets;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    sets.push_back(getResultUseSet(func, i));
  LogicalResult result = success();
  func::ReturnOp ret = getReturnOp(func);
  for (OpOperand &returned : ret->getOpOperands()) {
    unsigned index = returned.getOperandNumber();
    bool isUsed = llvm::any_of(callOps, [&](CallOp call) {
      return index < call->getNumResults() &&
             !call->getResult(index).use_empty();
    });
    if (isUsed || isa<MeshTensorType>(returned.get().getType()))
      continue;
    std::optional<StringRef> mesh =
        pick(flow.getSources(returned.get()), {}, firstMesh);
    if (!mesh && !inferTransfers) {
      ret.emitError() << "Callee @" << func.getSymName() << ": unused output "
                      << index
                      << " has no mesh: no mesh can hold its value without "
                         "transfers; "
                      << kPlaceOnOneMeshHint;
      result = countError();
      break;
    }
    sets[index] = MeshSet::get(func.getContext(), mesh.value_or(firstMesh),
                               "inferred_unused_callee_out");
  }
  setResultUseSets(func, sets);
  return result;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void LeafAssignment::fail(Operation *op, StringRef what, StringRef remedy) {
  op->emitError() << "src_set must not be empty for " << what
                  << ", which depends on values of different meshes; "
                  << remedy;
  hasFailed = true;
}

/// The op is run on every mesh it can be on. Once if that makes no difference,
/// and also if it does: what has effects happens once.
void LeafAssignment::wrapResultless(Operation *op) {
  MeshSet sources = getMeshSet(op, kSrcSetAttr);
  if (sources.isSpecifiedAndEmpty())
    return fail(op, "a resultless op",
                "place these on one mesh, transfers cannot be inferred for it");
  SmallVector<StringRef> meshes{firstMesh};
  if (!sources.getMeshes().empty())
    meshes =
        llvm::map_to_vector(sources.getMeshes(), [](MeshWithOriginsAttr mesh) {
          return mesh.getMeshName();
        });
  llvm::stable_sort(meshes, meshBefore);
  // DEPARTURE(effects-once): The reference repeats effects on each of the
  // meshes.
  if (isPure(op) || effects.hasEffects(op))
    meshes.truncate(1);
  for (StringRef mesh : meshes)
    if (failed(getMeshOrError(op, mesh))) {
      hasFailed = true;
      return;
    }
  setMeshSet(op, kUseSetAttr, {});
  setMeshSet(op, kSrcSetAttr, {});
  for (StringRef mesh : meshes)
    wrapInInferredFragment(op, mesh, "infer_mesh_wrap_resultless_ops",
                           rewriter);
  rewriter.eraseOp(op);
}

void LeafAssignment::assignUnused(Operation *op) {
  std::optional<StringRef> mesh =
      pick(getMeshSet(op, kSrcSetAttr), {}, firstMesh);
  if (!mesh && !inferTransfers)
    return fail(op, "an op whose results are unused",
                "place these on one mesh, or set the partitioning option "
                "`mpmd_infer_transfers`");
  setMeshSet(op, kUseSetAttr, {});
  rewriter.setInsertionPointAfter(op);
  for (Value result : op->getResults())
    if (isTensor(result))
      createAssign(op->getLoc(), result, mesh.value_or(firstMesh),
                   "inferred_unused");
}

void LeafAssignment::visitComputation(Operation *op) {
  if (llvm::none_of(op->getResults(), isTensor))
    return wrapResultless(op);
  if (op->use_empty())
    return assignUnused(op);
  setMeshSet(op, kUseSetAttr, {});
}

/// Each operand is pinned to one mesh, from which the barrier distributes it.
void LeafAssignment::visitBarrier(Operation *barrier) {
  MeshSet preferred = getMeshSet(barrier, kUseSetAttr);
  StringRef origin = isa<BroadcastOp>(barrier) ? "broadcast" : "reduce";
  rewriter.setInsertionPoint(barrier);
  for (OpOperand &operand : barrier->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    std::optional<StringRef> mesh =
        pick(flow.getSources(operand.get()), preferred, firstMesh);
    if (!mesh && !inferTransfers)
      return fail(
          barrier,
          ("operand " + Twine(operand.getOperandNumber()) + " of a " + origin)
              .str(),
          kPlaceOnOneMeshHint);
    if (!mesh)
      mesh = prioritize(preferred).value_or(firstMesh);
    auto assign = createAssign(barrier->getLoc(), operand.get(), *mesh, origin);
    operand.set(UnassignOp::create(rewriter, barrier->getLoc(), assign,
                                   /*origin=*/StringAttr()));
  }
  setMeshSet(barrier, kUseSetAttr, {});
}

void LeafAssignment::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isMeshlessOp(&op))
      visitComputation(&op);
    else if (isBarrierOp(&op))
      visitBarrier(&op);
    else if (auto loop = dyn_cast<ForOp>(op))
      visitBlock(loop.getRegion().front());
  }
}

LogicalResult LeafAssignment::run() {
  bool isEntryPoint = isEntryPointFunction(func);
  if (isEntryPoint) {
    assignUnusedInputs();
    // Needs the use sets that the next step drops.
    if (failed(assignOutputs()))
      return failure();
  }
  visitBlock(func.front());
  setArgMeshSets(func, kUseSetAttr,
                 SmallVector<MeshSet>(func.getNumArguments()));
  if (isEntryPoint)
    updateFunctionType(func);
  else if (failed(assignUnusedArguments()) || failed(assignUnusedResults()))
    return failure();
  return failure(hasFailed);
}

namespace {
struct InferMeshAssignMeshFuncLeavesPass
    : mpmd::impl::InferMeshAssignMeshFuncLeavesPassBase<
          InferMeshAssignMeshFuncLeavesPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyErrorLimit(module, errorLimit)) ||
        failed(verifyNamedByCalls(module)))
      return signalPassFailure();
    MeshDataFlow flow(module);
    CallGraph calls(module);
    CalleeEffects effects;
    ErrorLimit errors(errorLimit);
    for (func::FuncOp func : getMpmdFunctions(module)) {
      LeafAssignment assignment(func, flow, calls, effects, inferTransfers,
                                errors);
      if (failed(assignment.run()))
        signalPassFailure();
      numAssigned += assignment.getNumAssigned();
    }
  }
};
} // namespace
