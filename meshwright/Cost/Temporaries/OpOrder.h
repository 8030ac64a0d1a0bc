//===- OpOrder.h - The order in which ops of a body run ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TEMPORARIES_OPORDER_H
#define MESHWRIGHT_COST_TEMPORARIES_OPORDER_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright {

struct Device;

/// Numbers the ops of a block but its terminator in the order in which a compiler
/// has them run: that of the program, but on a GPU what leads to another product
/// first, and then what else each result needs, one result after the other.
///
///   %dx = dot %dy, %w ; %dw = dot %x, %dy ; %g = add %acc, %dw ; %du = dot %dx, %v
///   return %g, %du   // runs as %dx, %dw, %g, %du: gradients of weights last
llvm::DenseMap<mlir::Operation *, unsigned> numberOps(mlir::Block &block,
                                                      const Device &device);

} // namespace meshwright

#endif
