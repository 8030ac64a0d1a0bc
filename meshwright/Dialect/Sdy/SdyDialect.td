//===- SdyDialect.td -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_DIALECT_TD
#define MESHWRIGHT_DIALECT_SDY_DIALECT_TD

include "mlir/IR/OpBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::mlir::sdy";
}

#endif
