//===- ValidateNoBackwardDeps.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In a pipeline that only goes forward, values travel to later meshes: those
// that come later in the topology, whatever they are called. One that travels
// back makes an earlier mesh wait for a later one, and the bubbles that the
// schedule avoids are there again.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#define GEN_PASS_DEF_VALIDATENOBACKWARDDEPSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isTransposed(FragmentCallOp call) {
  return llvm::any_of(
      call.getOrigin().getAsRange<UserOriginAttr>(),
      [](UserOriginAttr origin) { return origin.getTransposeCount() != 0; });
}

/// The call that computes a value, looking through transfers.
static FragmentCallOp findProducer(Value value) {
  while (auto transfer = value.getDefiningOp<TransferOp>())
    value = transfer.getTensor();
  return value.getDefiningOp<FragmentCallOp>();
}

/// `"p0_f.main" mesh="m1"`.
static void print(FragmentCallOp call, InFlightDiagnostic &diag) {
  diag << '"' << call.getCallee() << "\" mesh=\"" << call.getMeshName() << '"';
}

/// Where each mesh is in the pipeline.
using MeshPositions = llvm::StringMap<size_t>;

static MeshPositions getPositions(func::FuncOp func) {
  MeshPositions positions;
  for (NamedMeshAttr mesh : getTopology(func).getMeshes())
    positions.try_emplace(mesh.getName(), positions.size());
  return positions;
}

/// Whether a call only gives back what it gets.
static bool computesNothing(FragmentCallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return callee && !callee.isExternal() &&
         llvm::hasSingleElement(callee.front());
}

static void addOrigins(StringRef role, FragmentCallOp call,
                       meshwright::DiagnosticArguments &arguments) {
  for (auto origin : call.getOrigin().getAsRange<UserOriginAttr>())
    arguments.emplace_back(role, origin.getUserName().str());
}

static void report(InFlightDiagnostic diag, FragmentCallOp producer,
                   FragmentCallOp consumer) {
  diag << "Detected backward dependency in a forward-only pipeline: ";
  print(producer, diag);
  diag << " is read by ";
  print(consumer, diag);
  // These names tell a front end whether the mesh has an earlier stage, too.
  meshwright::DiagnosticArguments arguments;
  if (computesNothing(consumer))
    arguments.emplace_back("copies", "");
  addOrigins("producer", producer, arguments);
  addOrigins("consumer", consumer, arguments);
  meshwright::identify(*diag.getUnderlyingDiagnostic(), "backward_dep",
                       arguments);
}

namespace {
struct ValidateNoBackwardDepsPass
    : mpmd::impl::ValidateNoBackwardDepsPassBase<ValidateNoBackwardDepsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    auto calls = llvm::to_vector(func.front().getOps<FragmentCallOp>());
    if (auto transposed = llvm::find_if(calls, isTransposed);
        transposed != calls.end()) {
      if (!failOnBackwardDeps)
        return;
      func.emitError() << "Expected forward-only program, as "
                          "fail-on-backward-deps demands, but the call of @"
                       << transposed->getCallee() << " has a transposed origin";
      return signalPassFailure();
    }
    MeshPositions positions = getPositions(func);
    for (FragmentCallOp call : calls)
      validate(call, positions);
  }

private:
  void validate(FragmentCallOp consumer, const MeshPositions &positions) {
    for (Value operand : consumer->getOperands()) {
      FragmentCallOp producer = findProducer(operand);
      if (!producer || positions.lookup(producer.getMeshName()) <=
                           positions.lookup(consumer.getMeshName()))
        continue;
      report(failOnBackwardDeps ? consumer.emitError() : consumer.emitWarning(),
             producer, consumer);
      if (failOnBackwardDeps)
        signalPassFailure();
    }
  }
};
} // namespace
