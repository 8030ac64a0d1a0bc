//===- MapNamedOpsToMpmdOps.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Turns names into places. A named computation becomes a fragment on the mesh
// its name is assigned to, fenced by assigns and unassigns, so that everything
// around it still sees plain tensors:
//
//   %0 = named_computation<"f"> (%x, %x)
//   // becomes
//   %a = mpmd.assign {origin = "f"} %x
//   %f = fragment<mesh="m", origin=["f"]> (%a, %a)
//   %0 = mpmd.unassign {origin = "f"} %f
//
// A named tensor becomes an assign and an unassign. What several of these in a
// row mean for transfers is up to mpmd-introduce-transfers.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Place/MeshAssignment.h"
#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#define GEN_PASS_DEF_MAPNAMEDOPSTOMPMDOPSPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Reports an op that cannot be put on `meshName`: an unknown mesh, a place
/// where no fragment may be, or values that no mesh holds.
static LogicalResult verifyCanBePlaced(Operation *op, StringRef opName,
                                       StringRef meshName) {
  auto func = op->getParentOfType<func::FuncOp>();
  TopologyAttr topology = getTopology(func);
  if (!topology)
    return op->emitError() << "Topology missing: '" << opName
                           << "' is assigned to mesh \"" << meshName
                           << "\", but function @" << func.getName()
                           << " has no topology attribute";
  if (!getMeshByName(topology, meshName)) {
    InFlightDiagnostic diag =
        op->emitError() << "Topology of function @" << func.getName()
                        << " has no mesh \"" << meshName << "\", to which '"
                        << opName << "' is assigned; known are ";
    llvm::interleaveComma(topology.getMeshes(), diag, [&](NamedMeshAttr mesh) {
      diag << "\"" << mesh.getName() << "\"";
    });
    return diag;
  }
  if (!isa<func::FuncOp, ForOp>(op->getParentOp()))
    return meshwright::identify(
        op->emitError() << "'" << opName
                        << "' must be at the top level of a function to be "
                           "assigned to a mesh, but is nested in '"
                        << op->getParentOp()->getName() << "'",
        "nested",
        {{"name", opName.str()},
         {"operation", op->getParentOp()->getName().getStringRef().str()}});
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (!isTensor(type))
      return op->emitError()
             << "'" << opName << "' cannot be assigned to mesh \"" << meshName
             << "\": expected ranked tensors only, "
             << "but it takes or returns " << type;
  return success();
}

static MeshTensorType getTypeOnMesh(Type type, StringRef meshName) {
  return MeshTensorType::getFullyReplicated(type.getContext(), meshName,
                                            cast<RankedTensorType>(type));
}

static void mapToFragment(NamedComputationOp computation, StringRef meshName,
                          std::optional<int64_t> stage,
                          RewriterBase &rewriter) {
  Location loc = computation.getLoc();
  StringAttr label = computation.getOrigin().getUserName();
  rewriter.setInsertionPoint(computation);

  llvm::SmallDenseMap<Value, Value> assigned;
  auto inputs = llvm::map_to_vector(computation.getTensors(), [&](Value value) {
    Value &onMesh = assigned[value];
    if (!onMesh)
      onMesh = AssignOp::create(rewriter, loc,
                                getTypeOnMesh(value.getType(), meshName), value,
                                label);
    return onMesh;
  });
  SmallVector<Type> resultTypes =
      llvm::map_to_vector(computation.getResultTypes(), [&](Type type) -> Type {
        return getTypeOnMesh(type, meshName);
      });
  auto fragment = FragmentOp::create(
      rewriter, loc, resultTypes, inputs,
      rewriter.getArrayAttr({computation.getOrigin()}),
      rewriter.getStringAttr(meshName),
      stage ? rewriter.getI64IntegerAttr(*stage) : IntegerAttr());
  rewriter.inlineRegionBefore(computation.getRegion(), fragment.getRegion(),
                              fragment.getRegion().end());

  auto results =
      llvm::map_to_vector(fragment.getResults(), [&](Value onMesh) -> Value {
        Type type =
            cast<MeshTensorType>(onMesh.getType()).getRankedTensorType();
        return UnassignOp::create(rewriter, loc, type, onMesh, label);
      });
  rewriter.replaceOp(computation, results);
}

static void mapToAssign(NamedTensorOp tensor, MeshAndKind target,
                        RewriterBase &rewriter) {
  auto type = cast<RankedTensorType>(tensor.getTensor().getType());
  rewriter.setInsertionPoint(tensor);
  auto meshType = MeshTensorType::get(
      type.getContext(), target.mesh, type, /*sharding=*/{},
      target.kind ? rewriter.getStringAttr(*target.kind) : StringAttr());
  auto assign = AssignOp::create(rewriter, tensor.getLoc(), meshType,
                                 tensor.getTensor(), tensor.getNameAttr());
  rewriter.replaceOpWithNewOp<UnassignOp>(tensor, type, assign.getResult(),
                                          tensor.getNameAttr());
}

namespace {
struct MapNamedOpsToMpmdOpsPass
    : mpmd::impl::MapNamedOpsToMpmdOpsPassBase<MapNamedOpsToMpmdOpsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    func.walk([&](Operation *op) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case<NamedComputationOp, NamedTensorOp>(
                  [&](auto named) { return map(named, rewriter); })
              .Default(success());
      if (failed(result))
        signalPassFailure();
    });
  }

private:
  LogicalResult map(NamedComputationOp computation, RewriterBase &rewriter) {
    const MeshAndStage *entry =
        assignment.getValue().find(computation.getName());
    if (!entry)
      return meshwright::identify(
          computation.emitError()
              << "Top-level NamedComputation '" << computation.getName()
              << "' is not assigned to a mesh; add '" << computation.getName()
              << "@MESH' to the assignment",
          "unassigned", {{"name", computation.getName().str()}});
    auto [meshName, kind] = splitMemoryKind(entry->target);
    if (kind && *kind != "device")
      computation.emitWarning()
          << "memory kind \"" << *kind << "\" of named computation '"
          << computation.getName()
          << "' has no effect: it computes in device memory; name a result of "
             "it, and assign that";
    if (failed(verifyCanBePlaced(computation, computation.getName(), meshName)))
      return failure();
    mapToFragment(computation, meshName, entry->stage, rewriter);
    ++numFragments;
    return success();
  }

  LogicalResult map(NamedTensorOp tensor, RewriterBase &rewriter) {
    const MeshAndStage *entry = assignment.getValue().find(tensor.getName());
    if (!entry) {
      rewriter.replaceOp(tensor, tensor.getTensor());
      return success();
    }
    MeshAndKind target = splitMemoryKind(entry->target);
    if (failed(verifyCanBePlaced(tensor, tensor.getName(), target.mesh)))
      return failure();
    mapToAssign(tensor, target, rewriter);
    ++numTensors;
    return success();
  }
};
} // namespace
