//===- RemovePropagationDebugInfo.cpp -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/DebugAttributes.h"

#define GEN_PASS_DEF_REMOVEPROPAGATIONDEBUGINFOPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static constexpr StringLiteral kNames[] = {
    kShardingOriginsAttr,          kShardingOriginNameAttr,
    "sdy.result_sharding_origins", "sdy.block_arg_sharding_origins",
    kPropagationEdgesAttr,         kResultPropagationEdgesAttr,
    kBlockArgPropagationEdgesAttr};

namespace {
struct RemovePropagationDebugInfoPass
    : sdy::impl::RemovePropagationDebugInfoPassBase<
          RemovePropagationDebugInfoPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      for (StringRef name : kNames)
        numRemoved += !!op->removeDiscardableAttr(name);
      auto func = dyn_cast<func::FuncOp>(op);
      if (!func)
        return;
      for (StringRef name : kNames) {
        for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
          numRemoved += !!func.removeArgAttr(arg, name);
        for (unsigned result = 0; result < func.getNumResults(); ++result)
          numRemoved += !!func.removeResultAttr(
              result, StringAttr::get(&getContext(), name));
      }
    });
  }
};
} // namespace
