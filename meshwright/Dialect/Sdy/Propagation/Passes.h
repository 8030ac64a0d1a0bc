//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::sdy {

/// How far axes propagate where tensors of an op disagree.
enum class PropagationStrategy {
  /// As far as all tensors agree.
  Basic,
  /// As far as each tensor allows.
  Aggressive,
  /// Everything that all agree on first.
  BasicThenAggressive,
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Dialect/Sdy/Propagation/Passes.h.inc"
} // namespace mlir::sdy

#endif
