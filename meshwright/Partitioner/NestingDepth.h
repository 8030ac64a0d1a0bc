//===- NestingDepth.h - Programs that are nested too deep -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_NESTINGDEPTH_H
#define MESHWRIGHT_PARTITIONER_NESTINGDEPTH_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace meshwright {

/// Reports brackets of any kind that are open one in the other more than 10000
/// times, at the one that is too many. The parser opens a function of its own
/// for each, and its stack ends somewhere. Bytecode has no brackets.
mlir::LogicalResult verifyNestingDepth(llvm::StringRef text,
                                       llvm::StringRef fileName,
                                       mlir::MLIRContext *context);

} // namespace meshwright

#endif
