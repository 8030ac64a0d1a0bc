//===- ForgetInnerShardings.cpp - What only fragments decide --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation sees the whole program, and begins where the user annotated it: a
// weight may have split a product before the rows of the batch got there. Of all
// that a fragment takes along just what its inputs and results are. Its compiler
// propagates again from these, and may come to other conclusions:
//
//   f(%x [{"d"}, {}], %w [{"d"}, {}]) {
//     %y = dot(%x, transpose(%w))  [{}, {"d"}]   // the weight came first
//     %z = multiply(%x, %y)        [{"d"}, {}]
//   }
//
// A query of what is gathered or summed there has to see what that compiler
// sees, which propagation finds after this.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

#define GEN_PASS_DEF_FORGETINNERSHARDINGSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct ForgetInnerShardingsPass
    : mpmd::impl::ForgetInnerShardingsPassBase<ForgetInnerShardingsPass> {
  void runOnFunction(func::FuncOp func) override {
    for (FragmentOp fragment : func.getOps<FragmentOp>())
      fragment.getBody()->walk([&](Operation *op) {
        // The devices that these send to and receive from remain on them.
        if (isa<stablehlo::SendOp, stablehlo::RecvOp>(op))
          return;
        numForgotten +=
            op->removeDiscardableAttr(sdy::kShardingAttr) != nullptr;
      });
  }
};
} // namespace
