//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_PASSES_H
#define MESHWRIGHT_SHARDING_PASSES_H

#include "meshwright/Text/QuotedText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Sharding/Passes.h.inc"
} // namespace mlir::mpmd

#endif
