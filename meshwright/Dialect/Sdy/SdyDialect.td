//===- SdyDialect.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_DIALECT_TD
#define MESHWRIGHT_DIALECT_SDY_DIALECT_TD

include "mlir/IR/OpBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::mlir::sdy";
  let summary = "Tensor shardings over the named axes of a device mesh";
  let description = [{
    Says how tensors are split over a mesh of devices, where the user fixes
    that, and which values must be split alike. Shardings live in attributes of
    function arguments, function results and ops; the ops of the dialect
    constrain, block or join their propagation.
  }];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
  private:
    void registerAttributes();
    /// Gives while, case and optimization_barrier the data-flow interface.
    void attachStablehloDataFlow();
  public:
  }];
}

#endif
