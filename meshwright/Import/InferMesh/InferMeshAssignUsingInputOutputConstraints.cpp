//===- InferMeshAssignUsingInputOutputConstraints.cpp ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A constraint i:o asks for argument i and result o to be on one mesh, so that
// their buffers can be shared. Where the sets allow it, a mesh is chosen for
// both before the rest of inference may choose two:
//
//   func @f(%p: tensor {needed on m2}) -> tensor     becomes (%p: m2) -> m2
//
// Where they do not, nothing happens here; a later pass adds a transfer.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/MeshSets/MeshDataFlow.h"
#include "mlir/IR/Builders.h"

#define GEN_PASS_DEF_INFERMESHASSIGNUSINGINPUTOUTPUTCONSTRAINTSPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// What producers of a value other than calls say about its uses.
static MeshSet getUsesOfProducer(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer || isa<CallOp>(producer))
    return {};
  return getMeshSet(producer, kUseSetAttr);
}

/// The mesh for an argument and a returned value, none if no mesh suits both.
static std::optional<StringRef> chooseMesh(BlockArgument input, Value output,
                                           const MeshDataFlow &flow) {
  MeshSet needed = getArgMeshSet(input, kUseSetAttr);
  if (auto type = dyn_cast<MeshTensorType>(output.getType()))
    return type.getMeshName();
  if (auto type = dyn_cast<MeshTensorType>(input.getType()))
    needed = MeshSet::get(type.getContext(), type.getMeshName());

  MeshSet uses = getUsesOfProducer(output), sources = flow.getSources(output);
  if (!needed.isSpecifiedAndNotEmpty()) {
    if (uses.isSpecifiedAndNotEmpty())
      return prioritize(uses);
    return sources.isSpecified() ? prioritize(sources) : std::nullopt;
  }
  if (uses.isSpecified())
    if (std::optional<StringRef> mesh = prioritize(intersect(uses, needed)))
      return mesh;
  return prioritize(intersect(needed, sources));
}

static void assignOutput(func::FuncOp func, OpOperand &returned,
                         StringRef mesh) {
  OpBuilder builder(returned.getOwner());
  Value value = returned.get();
  auto loc =
      getResultInfoLoc(func, returned.getOperandNumber(), value.getLoc());
  returned.set(AssignOp::create(builder, loc, value, mesh,
                                builder.getStringAttr("io_constraint_out")));
}

static void assignInput(BlockArgument input, StringRef mesh) {
  auto builder = OpBuilder::atBlockBegin(input.getOwner());
  input.setType(MeshTensorType::getFullyReplicated(
      builder.getContext(), mesh, cast<RankedTensorType>(input.getType())));
  auto unassign = UnassignOp::create(builder, input.getLoc(), input,
                                     builder.getStringAttr("io_constraint_in"));
  input.replaceAllUsesExcept(unassign.getResult(), unassign);
}

static bool isOnMesh(Value value) {
  return isa<MeshTensorType>(value.getType());
}

namespace {
struct InferMeshAssignUsingInputOutputConstraintsPass
    : mpmd::impl::InferMeshAssignUsingInputOutputConstraintsPassBase<
          InferMeshAssignUsingInputOutputConstraintsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!constraints.empty() && failed(verifyNamedByCalls(getOperation())))
      return signalPassFailure();
    MeshDataFlow flow(getOperation());
    for (func::FuncOp func : getEntryPoints(getOperation())) {
      for (const InputOutputConstraint &constraint : constraints)
        if (failed(checkRange(func, constraint)))
          return signalPassFailure();
      for (const InputOutputConstraint &constraint : constraints)
        if (failed(apply(func, constraint, flow)))
          return signalPassFailure();
      updateFunctionType(func);
    }
  }

  static LogicalResult checkRange(func::FuncOp func,
                                  const InputOutputConstraint &constraint) {
    auto isIndex = [](int64_t index, int64_t count) {
      return 0 <= index && index < count;
    };
    if (isIndex(constraint.input, func.getNumArguments()) &&
        isIndex(constraint.output, func.getNumResults()))
      return success();
    return func.emitError()
           << "constraint " << constraint.input << ":" << constraint.output
           << " does not fit function \"" << func.getSymName()
           << "\", which has " << func.getNumArguments() << " inputs and "
           << func.getNumResults()
           << " outputs; constraints are input:output, counted from 0";
  }

  LogicalResult apply(func::FuncOp func,
                      const InputOutputConstraint &constraint,
                      const MeshDataFlow &flow) {
    BlockArgument input = func.getArgument(constraint.input);
    OpOperand &output = getReturnOp(func)->getOpOperand(constraint.output);
    auto canBePlaced = [](Value value) {
      return isa<RankedTensorType, MeshTensorType>(value.getType());
    };
    if ((isOnMesh(input) && isOnMesh(output.get())) || !canBePlaced(input) ||
        !canBePlaced(output.get()))
      return success();
    std::optional<StringRef> mesh = chooseMesh(input, output.get(), flow);
    if (verboseLogging)
      llvm::errs() << "input " << constraint.input << " and output "
                   << constraint.output << " of \"" << func.getSymName()
                   << "\": " << mesh.value_or("no common mesh") << "\n";
    if (!mesh)
      return success();
    if (failed(getMeshOrError(func, *mesh)))
      return failure();
    if (!isOnMesh(output.get()))
      assignOutput(func, output, *mesh);
    if (!isOnMesh(input))
      assignInput(input, *mesh);
    ++numConstraints;
    return success();
  }
};
} // namespace
