//===- StablehloDialect.td -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_TD

include "mlir/IR/OpBase.td"

def Stablehlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::mlir::stablehlo";
}

#endif
