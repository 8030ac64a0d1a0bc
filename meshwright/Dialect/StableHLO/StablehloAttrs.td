//===- StablehloAttrs.td - Structured attributes -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ATTRS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_ATTRS_TD

include "meshwright/Dialect/StableHLO/StablehloEnums.td"
include "meshwright/Dialect/StableHLO/StructAttrs.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/TensorEncoding.td"

def Stablehlo_ResultAccuracyAttr
    : AttrDef<Stablehlo_Dialect, "ResultAccuracy"> {
  let mnemonic = "result_accuracy";
  let summary = "How far the result of an elementwise function may deviate";
  let description = [{
    Mode `TOLERANCE` asks for one of the given tolerances; the other modes have
    none. A tolerance of zero is not printed.

    ```mlir
    #stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>
    ```

    Constraints:
    * (C1) No tolerance is negative.
    * (C2) All tolerances are zero in mode `DEFAULT` and `HIGHEST`.
  }];
  let parameters = (ins "::llvm::APFloat":$atol, "::llvm::APFloat":$rtol,
                        "int64_t":$ulps, Stablehlo_ResultAccuracyModeAttr:$mode);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let constBuilderCall = "::mlir::stablehlo::ResultAccuracyAttr::getDefault("
                         "$_builder.getContext())";
  let extraClassDeclaration = [{
    /// Mode DEFAULT, no tolerances.
    static ResultAccuracyAttr getDefault(::mlir::MLIRContext *context);
  }];
}

def Stablehlo_OutputOperandAliasAttr
    : AttrDef<Stablehlo_Dialect, "OutputOperandAlias"> {
  let mnemonic = "output_operand_alias";
  let summary = "A result of a custom call that shares memory with an operand";
  let description = [{
    The tuple indices lead into nested tuples; they are empty for plain values.

    ```mlir
    #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$outputTupleIndices,
                        "int64_t":$operandIndex,
                        ArrayRefParameter<"int64_t">:$operandTupleIndices);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_TypeExtensionsAttr
    : AttrDef<Stablehlo_Dialect, "TypeExtensions", [VerifiableTensorEncoding]> {
  let mnemonic = "bounds";
  let summary = "Upper bounds of the dynamic dimensions of a tensor type";
  let description = [{
    Encoding of a tensor type; `?` represents a dimension without bound.

    ```mlir
    tensor<?x6xf32, #stablehlo.bounds<8, ?>>
    ```

    Constraints:
    * (C1) There is one entry per dimension.
    * (C2) A static dimension has no bound.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::LogicalResult verifyEncoding(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

def Stablehlo_OutputOperandAliasArrayAttr
    : TypedArrayAttrBase<Stablehlo_OutputOperandAliasAttr,
                         "Aliasing attribute for outputs and operands">;

#endif
