//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_PASSES_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::stablehlo {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Dialect/StableHLO/Transforms/Passes.h.inc"
} // namespace mlir::stablehlo

#endif
