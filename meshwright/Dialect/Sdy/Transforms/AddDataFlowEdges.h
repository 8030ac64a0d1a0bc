//===- AddDataFlowEdges.h - Ops that hold shardings of edges ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_ADDDATAFLOWEDGES_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_ADDDATAFLOWEDGES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::sdy {

/// Inserts an edge op after every owner of an edge of the op that has a static
/// shape and no edge op yet, but none for frames of shared bodies. Returns how
/// many.
unsigned addDataFlowEdges(DataFlowOpInterface op, OpBuilder &builder);

} // namespace mlir::sdy

#endif
