//===- MpmdAttrs.h ----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDATTRS_H
#define MESHWRIGHT_DIALECT_MPMD_MPMDATTRS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include "meshwright/Dialect/Mpmd/MpmdEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdAttrs.h.inc"

#endif
