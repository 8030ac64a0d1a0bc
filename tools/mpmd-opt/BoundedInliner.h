//===- BoundedInliner.h - Upstream's inliner, if it ends --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMD_OPT_BOUNDEDINLINER_H
#define MESHWRIGHT_TOOLS_MPMD_OPT_BOUNDEDINLINER_H

/// Registers `inline`: MLIR's pass, with its options, that reports an error
/// instead of inlining for hours, beyond `max-inlined-ops`. Call it before MLIR's passes are registered.
void registerBoundedInliner();

#endif
