//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_PASSES_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_PASSES_H

#include "meshwright/Calls/InlinedSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::sdy {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Dialect/Sdy/Transforms/Passes.h.inc"
} // namespace mlir::sdy

#endif
