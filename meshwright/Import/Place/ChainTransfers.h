//===- ChainTransfers.h - Send a value from mesh to mesh --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACE_CHAINTRANSFERS_H
#define MESHWRIGHT_IMPORT_PLACE_CHAINTRANSFERS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Order/BlockOrder.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Returns the assigns that read `unassign` and whose mesh is not the one the
/// value comes from, in use-list order.
SmallVector<AssignOp> getCrossMeshAssigns(UnassignOp unassign);

/// Replaces `assigns`, which all read `source` by way of an unassign, by one
/// chain of transfers through their meshes in mesh order:
///
///   %u = mpmd.unassign %v : m1      %1 = mpmd.transfer %v : m1 -> m2
///   %1 = mpmd.assign %u : m3        %2 = mpmd.transfer %1 : m2 -> m3
///   %2 = mpmd.assign %u : m2
///
/// Each hop is sent once: an assign to the type that the chain has reached
/// becomes that link. One to the type of `source` becomes `source`, from where
/// the chain then goes on. The chain is where the first of the assigns
/// was; all of them are in one block.
void chainTransfers(Value source, SmallVector<AssignOp> assigns,
                    BlockOrder &order, RewriterBase &rewriter);

/// To be called when transfers were made: reports those that do not verify, since
/// their values are where none starts or ends, such as in host memory by an
/// attribute.
LogicalResult verifyTransfers(Operation *root);

} // namespace mlir::mpmd

#endif
