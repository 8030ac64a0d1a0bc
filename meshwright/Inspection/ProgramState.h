//===- ProgramState.h - Whether a pass has changed anything -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INSPECTION_PROGRAMSTATE_H
#define MESHWRIGHT_INSPECTION_PROGRAMSTATE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/Hashing.h"

namespace meshwright {

/// Equal before and after a pass if it has changed nothing in `root`. What MLIR has for that,
/// OperationFingerPrint, is a cryptographic hash, which takes longer than most passes.
llvm::hash_code hashState(mlir::Operation *root);

} // namespace meshwright

#endif
