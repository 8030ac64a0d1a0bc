//===- CallCounters.h - Call counters are ui32 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_CALLCOUNTERS_H
#define MESHWRIGHT_FRAGMENTS_CALLCOUNTERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// Reports fragments of `func` whose call counter is an integer of another type
/// than `ui32`. An attribute of that name which is no integer is no counter.
LogicalResult verifyCallCounters(func::FuncOp func);

} // namespace mlir::mpmd

#endif
