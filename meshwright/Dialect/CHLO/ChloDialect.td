//===- ChloDialect.td -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_DIALECT_TD
#define MESHWRIGHT_DIALECT_CHLO_DIALECT_TD

include "mlir/IR/OpBase.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::mlir::chlo";
}

#endif
