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
// One sweep in module order, so that a callee passes the topology on to its own
// callees if it stands behind its caller.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Prepare/Passes.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_COPYTOPOLOGYFROMMAINPASS
#include "meshwright/Import/Prepare/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct CopyTopologyFromMainPass
    : mpmd::impl::CopyTopologyFromMainPassBase<CopyTopologyFromMainPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto caller : module.getOps<func::FuncOp>()) {
      TopologyAttr topology = getTopology(caller);
      if (!topology)
        continue;
      caller.walk([&](CallOp call) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (!callee)
          return;
        setTopology(callee, topology);
        callee.setPrivate();
        ++numCalls;
      });
    }
  }
};
} // namespace
