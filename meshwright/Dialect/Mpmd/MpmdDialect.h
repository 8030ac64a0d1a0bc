//===- MpmdDialect.h --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDDIALECT_H
#define MESHWRIGHT_DIALECT_MPMD_MPMDDIALECT_H

#include "mlir/IR/Dialect.h"

#include "meshwright/Dialect/Mpmd/MpmdDialect.h.inc"

#include "meshwright/Dialect/Mpmd/MpmdAttrs.h"
#include "meshwright/Dialect/Mpmd/MpmdOps.h"
#include "meshwright/Dialect/Mpmd/MpmdTypes.h"

namespace mlir::mpmd {

/// What other dialects verify for this one: calls of shared bodies.
void registerExtensions(DialectRegistry &registry);

} // namespace mlir::mpmd

#endif
