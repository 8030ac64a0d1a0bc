//===- ChloDialect.td - The dialect itself -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_DIALECT_TD
#define MESHWRIGHT_DIALECT_CHLO_DIALECT_TD

include "mlir/IR/OpBase.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::mlir::chlo";
  let summary = "Client operations that legalize to StableHLO";
  let description = [{
    Operations that frameworks emit next to StableHLO and that have a meaning in
    its terms: functions without a StableHLO operation, and arithmetic that
    broadcasts by itself.
  }];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
  private:
    void registerAttributes();
    void registerOps();
  }];
}

#endif
