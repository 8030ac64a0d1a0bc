//===- Passes.h - Passes that keep values local -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_LOCALITY_PASSES_H
#define MESHWRIGHT_IMPORT_LOCALITY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Import/Locality/Passes.h.inc"
} // namespace mlir::mpmd

#endif
