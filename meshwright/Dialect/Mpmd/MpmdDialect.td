//===- MpmdDialect.td -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDDIALECT_TD
#define MESHWRIGHT_DIALECT_MPMD_MPMDDIALECT_TD

include "mlir/IR/OpBase.td"

def Mpmd_Dialect : Dialect {
  let name = "mpmd";
  let cppNamespace = "::mlir::mpmd";
  let summary = "Programs made of SPMD programs on named meshes";
  let description = [{
    A function with a `topology` attribute is an MPMD function: its values live
    on the named meshes of that topology. Fragments compute on one mesh,
    transfers move values between meshes.
  }];
  let dependentDialects = [
    "::mlir::func::FuncDialect",
    "::mlir::sdy::SdyDialect",
    "::mlir::stablehlo::StablehloDialect",
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

#endif
