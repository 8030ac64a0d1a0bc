//===- UnusedResults.h - Ops that lose results ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_UNUSEDRESULTS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_UNUSEDRESULTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::stablehlo {

/// Gives `smaller`, which has none, the discardable attributes of `op`, of which
/// it lacks the results in `dropped`. What they say of these is dropped, too.
void keepDiscardableAttrs(Operation *op, Operation *smaller,
                          const BitVector &dropped);

} // namespace mlir::stablehlo

#endif // MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_UNUSEDRESULTS_H
