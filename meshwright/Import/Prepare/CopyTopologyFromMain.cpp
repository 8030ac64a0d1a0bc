//===- CopyTopologyFromMain.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Only the entry function knows the topology. Everything it calls with
// mpmd.call is part of the same MPMD program:
//
//   func @main attributes {topology = #t}
//     mpmd.call @layer
//   func @layer
//   // becomes
//   func @main attributes {topology = #t}
//     mpmd.call @layer
//   func private @layer attributes {topology = #t}
//
// A callee with an mpmd.call of its own is an error: it would be an MPMD function, and
// these may not call.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Calls/CallOrder.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/SymbolTable.h"

#define GEN_PASS_DEF_COPYTOPOLOGYFROMMAINPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct CopyTopologyFromMainPass
    : mpmd::impl::CopyTopologyFromMainPassBase<CopyTopologyFromMainPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto caller : module.getOps<func::FuncOp>()) {
      TopologyAttr topology = getTopology(caller);
      if (!topology)
        continue;
      WalkResult result = caller.walk([&](CallOp call) -> WalkResult {
        func::FuncOp callee = meshwright::getCallee(call, symbols);
        if (!callee)
          return WalkResult::advance();
        ++numCalls;
        callee.setPrivate();
        if (failed(verifyWithTopologyOfCaller(call, callee)))
          return WalkResult::interrupt();
        setTopology(callee, topology);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    if (failed(verifyCallees(module)))
      signalPassFailure();
  }

private:
  LogicalResult verifyCallees(ModuleOp module) {
    WalkResult result = module.walk([](CallOp call) -> WalkResult {
      auto func = call->getParentOfType<func::FuncOp>();
      if (!func || !isMpmdFunction(func) || isEntryPointFunction(func))
        return WalkResult::advance();
      return call.emitError() << "is in @" << func.getSymName()
                              << ", which is itself called by mpmd.call; run "
                                 "mpmd-inline-nested-calls first";
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
