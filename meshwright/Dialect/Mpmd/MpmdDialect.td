//===- MpmdDialect.td -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_DIALECT_TD
#define MESHWRIGHT_DIALECT_MPMD_DIALECT_TD

include "mlir/IR/OpBase.td"

def Mpmd_Dialect : Dialect {
  let name = "mpmd";
  let cppNamespace = "::mlir::mpmd";
}

#endif
