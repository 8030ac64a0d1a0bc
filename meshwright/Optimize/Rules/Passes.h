//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_RULES_PASSES_H
#define MESHWRIGHT_OPTIMIZE_RULES_PASSES_H

#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Optimize/Rules/Passes.h.inc"
} // namespace mlir::mpmd

#endif
