//===- ShareableBodies.h - Which bodies can be shared -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_SHARE_SHAREABLEBODIES_H
#define MESHWRIGHT_FRAGMENTS_SHARE_SHAREABLEBODIES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// Whether a fragment has at least `minOps` ops, on tensors and without effects, and returns
/// some of what they compute.
bool isShareable(FragmentOp fragment, unsigned minOps);

/// Whether all shardings are on the axes that all meshes have.
bool hasOneMesh(func::FuncOp func);

/// Whether shardings only pass from operands to results, and what constrains
/// them is there for every fragment: what carries some is not found after a call.
bool isForPropagation(FragmentOp fragment);

} // namespace mlir::mpmd

#endif
