//===- VerifyProgram.h - What import cannot take ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PREPARE_VERIFYPROGRAM_H
#define MESHWRIGHT_IMPORT_PREPARE_VERIFYPROGRAM_H

#include "meshwright/Calls/InlinedSize.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::mpmd {

/// Reports what verifies and still cannot be imported, whatever the
/// configuration says: see the pass mpmd-verify-program.
LogicalResult verifyProgram(ModuleOp module,
                            int64_t maxInlinedOps = meshwright::kMaxInlinedOps);

} // namespace mlir::mpmd

#endif
