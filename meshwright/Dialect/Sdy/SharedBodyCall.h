//===- SharedBodyCall.h - Ops that are in another function ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A custom call can represent the ops of a private function, which several of
// them share (meshwright/Fragments/SharedBodies.h):
//
//   %r = custom_call @mpmd.shared_body(%a) {called_computations = [@shared_body]}
//   func private @shared_body(%a) attributes {mpmd.shared_body} {…}
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SHAREDBODYCALL_H
#define MESHWRIGHT_DIALECT_SDY_SHAREDBODYCALL_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::sdy {

/// The target of the calls, and the mark of the functions, which have no
/// effects.
inline constexpr llvm::StringLiteral kSharedBody = "mpmd.shared_body";

inline bool isSharedBodyCall(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == kSharedBody;
}

inline FlatSymbolRefAttr getSharedBodyName(stablehlo::CustomCallOp call) {
  return cast<FlatSymbolRefAttr>(call.getCalledComputations()[0]);
}

inline bool isSharedBody(func::FuncOp func) {
  return func->hasAttr(kSharedBody);
}

} // namespace mlir::sdy

#endif
