//===- StablehloDialect.td - The dialect itself ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_TD

include "mlir/IR/OpBase.td"

def Stablehlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::mlir::stablehlo";
  let summary = "Portable operations of machine learning programs";
  let description = [{
    The operations that frameworks hand to the compiler: arithmetic on ranked
    tensors, data movement, control flow with regions, and collectives. Programs
    reach Meshwright in this dialect, and leave it with the same operations
    distributed over meshes.

    Operations of this dialect that are not defined here are rejected; unknown
    discardable attributes with its prefix are kept.
  }];
  let hasConstantMaterializer = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;

  private:
    // Each family of operations registers itself, in its own source file.
    void registerElementwiseOps();
    void registerShapeOps();
    void registerMiscOps();
    void registerContractionOps();
    void registerGatherScatterOps();
    void registerRegionOps();
    void registerCollectiveOps();
    void registerAttributes();
    void registerTypes();
  }];
}

#endif
