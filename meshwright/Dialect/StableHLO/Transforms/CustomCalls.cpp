//===- CustomCalls.cpp - One form of custom calls -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"

using namespace mlir;
using namespace mlir::stablehlo;

static constexpr StringLiteral kOldBackendConfig = "mhlo.backend_config";

// Pattern: custom_call {mhlo.backend_config = {..}}
//   -> custom_call {api_version = 4 : i32, backend_config = {..}}
static LogicalResult switchToTypedFfi(CustomCallOp op,
                                      PatternRewriter &rewriter) {
  auto config = op->getAttrOfType<DictionaryAttr>(kOldBackendConfig);
  auto text = dyn_cast_if_present<StringAttr>(op.getBackendConfigAttr());
  if (!config ||
      op.getApiVersion() != CustomCallApiVersion::API_VERSION_ORIGINAL ||
      (op.getBackendConfigAttr() && (!text || !text.empty())))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op->removeDiscardableAttr(kOldBackendConfig);
    op.setBackendConfigAttr(config);
    op.setApiVersion(CustomCallApiVersion::API_VERSION_TYPED_FFI);
  });
  return success();
}

void mlir::stablehlo::populateCustomCalls(RewritePatternSet &patterns) {
  patterns.add(switchToTypedFfi);
}
