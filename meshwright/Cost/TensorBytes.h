//===- TensorBytes.h - Bytes a tensor takes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TENSORBYTES_H
#define MESHWRIGHT_COST_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"

namespace meshwright {

/// The bytes of a tensor's elements. A boolean takes a byte, narrower numbers
/// are packed, a dynamic dimension counts as one.
double countBytes(mlir::RankedTensorType type);

} // namespace meshwright

#endif
