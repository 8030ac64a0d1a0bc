//===- MpmdDialect.h -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_DIALECT_H
#define MESHWRIGHT_DIALECT_MPMD_DIALECT_H

#include "mlir/IR/Dialect.h"

#include "meshwright/Dialect/Mpmd/MpmdDialect.h.inc"

#endif
