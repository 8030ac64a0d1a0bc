//===- SdyDialect.h -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_DIALECT_H
#define MESHWRIGHT_DIALECT_SDY_DIALECT_H

#include "mlir/IR/Dialect.h"

#include "meshwright/Dialect/Sdy/SdyDialect.h.inc"

#endif
