//===- StablehloDataFlow.h - Data flow of StableHLO ops ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_STABLEHLODATAFLOW_H
#define MESHWRIGHT_DIALECT_SDY_STABLEHLODATAFLOW_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace mlir::sdy {

/// Gives while, case and optimization_barrier the data-flow interface. The
/// StableHLO dialect must be loaded.
void attachStablehloDataFlow(MLIRContext *context);

} // namespace mlir::sdy

#endif
