//===- LowerCrossMeshReduce.h - Compute an mpmd.reduce ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_LOWERCROSSMESHREDUCE_H
#define MESHWRIGHT_IMPORT_INFERMESH_LOWERCROSSMESHREDUCE_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Computes `reduce`, whose operands are unassigned, for the assigns that read
/// it on the meshes of its use set. Each mesh first reduces what it has, then
/// sends the partial result to the meshes that need the whole:
///
///   %1 = mpmd.reduce<add> %a, %b, %c
///   %2 = mpmd.assign %1 : m2
///   // becomes
///   %f = mpmd.fragment<m1> (a, c) { add }
///   %t = mpmd.transfer %f : m1 -> m2
///   %2 = mpmd.fragment<m2> (%t, b) { add }
///
/// Fails, without a change, if there is nothing to do, an operand has no mesh, or
/// it takes a transfer in a loop.
LogicalResult lowerCrossMeshReduce(ReduceOp reduce, RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
