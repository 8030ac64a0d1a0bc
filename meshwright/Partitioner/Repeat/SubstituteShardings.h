//===- SubstituteShardings.h - Shardings of substitutes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The loss of a microbatch is a scalar, which propagation gives no sharding. Where it is
// summed over devices, what computes it says that each of them has all of it:
//
//   tensor<f32, sharding=[]> of the microbatches that are computed
//   tensor<f32>              of those that a substitute gives (ShortenLoop.h)
//
// The type of the second is that of the first in the program of all microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_SUBSTITUTESHARDINGS_H
#define MESHWRIGHT_PARTITIONER_REPEAT_SUBSTITUTESHARDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright {

/// Gives scalars of substitutes the types of those that the same fragments read of
/// microbatches that are computed, if these have one type. Shardings must be in types.
void adoptScalarTypes(mlir::func::FuncOp function);

} // namespace meshwright

#endif
