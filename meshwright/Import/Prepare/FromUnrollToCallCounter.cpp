//===- FromUnrollToCallCounter.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Unrolling marks every op of an iteration with the number of the iteration.
// For a call that number is the microbatch:
//
//   call @f(%x) {unroll_counter = 4 : ui32}
//   // becomes
//   call @f(%x) {call_counter = 4 : ui32}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"

#define GEN_PASS_DEF_FROMUNROLLTOCALLCOUNTERPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct FromUnrollToCallCounterPass
    : mpmd::impl::FromUnrollToCallCounterPassBase<FromUnrollToCallCounterPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    func.walk([&](Operation *op) {
      auto counter = op->getAttrOfType<IntegerAttr>(kUnrollCounterAttr);
      if (!counter)
        return;
      bool isCall = isa<CallOp>(op);
      if (!isCall && !eraseOthers)
        return;
      if (isCall && !counter.getType().isUnsignedInteger(32)) {
        op->emitError() << kUnrollCounterAttr << " is " << counter
                        << "; expected a number of type ui32";
        return signalPassFailure();
      }
      if (isCall)
        op->setAttr(kCallCounterAttr, counter);
      op->removeAttr(kUnrollCounterAttr);
      ++(isCall ? numCalls : numErased);
    });
  }
};
} // namespace
