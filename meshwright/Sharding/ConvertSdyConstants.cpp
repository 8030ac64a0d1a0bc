//===- ConvertSdyConstants.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation gives each use of a constant one of its own, which nothing may
// fold or merge; that is what sdy.constant is for. Afterwards constants are to
// be optimized again, so they become those of StableHLO.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"

#define GEN_PASS_DEF_CONVERTSDYCONSTANTSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static void convert(sdy::ConstantOp op) {
  OpBuilder builder(op);
  auto constant = stablehlo::ConstantOp::create(builder, op.getLoc(),
                                                op.getType(), op.getValue());
  constant->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(constant->getResult(0));
  op.erase();
}

namespace {
struct ConvertSdyConstantsPass
    : mpmd::impl::ConvertSdyConstantsPassBase<ConvertSdyConstantsPass> {
  void runOnOperation() override {
    getOperation().walk([&](sdy::ConstantOp op) {
      convert(op);
      ++numConstants;
    });
  }
};
} // namespace
