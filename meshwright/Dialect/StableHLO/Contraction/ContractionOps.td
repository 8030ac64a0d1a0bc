//===- ContractionOps.td - Products and linear algebra -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONTRACTIONOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONTRACTIONOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

def Stablehlo_PrecisionConfigAttr
    : ConfinedAttr<TypedArrayAttrBase<Stablehlo_PrecisionAttr,
                                      "Precision Config attribute">,
                   [ArrayMaxCount<2>]>;

//===----------------------------------------------------------------------===//
// Dot products
//===----------------------------------------------------------------------===//

def Stablehlo_DotOp : Stablehlo_Op<"dot", [Pure]> {
  let summary = "Multiplies vectors and matrices";
  let description = [{
    ```mlir
    %0 = stablehlo.dot %a, %b, precision = [HIGH, DEFAULT] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    ```

    Constraints:
    * (C1) Operands have rank 1 or 2, and their inner dimensions are compatible.
    * (C2) The result has the outer dimensions.
    * (C3) Quantized operands and result agree (ContractionOps.cpp).
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$lhs, Stablehlo_FPICQATensor:$rhs,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>
                           :$precision_config);
  let results = (outs Stablehlo_FPICQATensor);
  let assemblyFormat = [{
    $lhs `,` $rhs (`,` `precision` `=` custom<Precisions>($precision_config)^)?
      attr-dict
      `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DotGeneralOp
    : Stablehlo_Op<"dot_general", [NoMemoryEffect,
                                   Stablehlo_OwnSpeculatability]> {
  let summary = "Multiplies tensors along any dimensions";
  let description = [{
    The result has the batching dimensions, then the dimensions that only the
    left operand has, then those of the right one.

    ```mlir
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x3x4xbf16>, tensor<8x4x2xbf16>) -> tensor<8x3x2xf32>
    ```

    Constraints:
    * (C1) Dimensions pair up, are in range, and occur once per operand.
    * (C2) Paired dimensions are compatible.
    * (C3) With an algorithm, no precision other than DEFAULT is given.
    * (C4) The result has the batching and the free dimensions.
    * (C5) Quantized operands and result agree (ContractionOps.cpp).
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$lhs, Stablehlo_FPICQATensor:$rhs,
                       Stablehlo_DotDimensionNumbersAttr
                           :$dot_dimension_numbers,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>
                           :$precision_config,
                       OptionalAttr<Stablehlo_DotAlgorithmAttr>:$algorithm);
  let results = (outs Stablehlo_FPICQATensor);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers)
      `` custom<PrecisionAndAlgorithm>($precision_config, $algorithm)
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

def Stablehlo_ConvolutionOp
    : Stablehlo_Op<"convolution", [Stablehlo_PureIfStaticOperands]> {
  let summary = "Convolves a tensor with a kernel";
  let description = [{
    ```mlir
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x3xf32>, tensor<3x3x8xf32>) -> tensor<2x5x8xf32>
    ```

    Constraints:
    * (C1) Input, kernel and result have one rank, 2 plus the number of spatial
      dimensions; all dimension numbers are unique and in range.
    * (C2) Window lists are empty or of spatial size, and positive.
    * (C3) Batch and feature groups divide what they group, and at most one of
      the counts exceeds 1.
    * (C4) Elements of input and kernel agree.
    * (C5) The result has one element per window.
  }];
  let arguments = (ins
    Stablehlo_FPICQTensor:$lhs, Stablehlo_FPICQATensor:$rhs,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<I64ElementsAttr>:$padding,
    OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
    OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
    OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
    Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
    Stablehlo_PositiveAttr:$feature_group_count,
    Stablehlo_PositiveAttr:$batch_group_count,
    OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Stablehlo_FPICQATensor);
  let assemblyFormat = [{
    `(` operands `)`
      `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers)
      `,` `window` `=` `{` custom<WindowAttributes>($window_strides, $padding,
                                                $lhs_dilation, $rhs_dilation,
                                                $window_reversal) `}`
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DynamicConvOp
    : Stablehlo_Op<"dynamic_conv",
                   [Stablehlo_PureIfConstant<["getPadding()"]>]> {
  let summary = "Convolves a tensor with a kernel, with computed padding";
  let description = [{
    A `convolution` whose padding is an operand.

    Constraints: those of `convolution`, and
    * (C1) The padding operand has shape Nx2 with N spatial dimensions.
  }];
  let arguments = (ins
    Stablehlo_FPICQTensor:$lhs, Stablehlo_FPICQTensor:$rhs,
    Stablehlo_StaticTensorOfRank<2, Stablehlo_I>:$padding,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
    OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
    OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
    Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
    Stablehlo_PositiveAttr:$feature_group_count,
    Stablehlo_PositiveAttr:$batch_group_count,
    OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Stablehlo_FPICQTensor);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Einstein sums
//===----------------------------------------------------------------------===//

def Stablehlo_EinsumOp : Stablehlo_Op<"einsum", [Pure]> {
  let summary = "Sums over products in Einstein's notation";
  let description = [{
    The notation is not checked.

    ```mlir
    %0 = stablehlo.einsum %a, %b, config = "mk,kn->mn" : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$lhs, Stablehlo_FPICQTensor:$rhs,
                       StrAttr:$einsum_config);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict
      `:` functional-type(operands, results)
  }];
}

def Stablehlo_UnaryEinsumOp : Stablehlo_Op<"unary_einsum", [Pure]> {
  let summary = "Sums over the elements of a tensor in Einstein's notation";
  let description = [{
    The notation is not checked.

    ```mlir
    %0 = stablehlo.unary_einsum %a, config = "mk->m" : (tensor<3x4xf32>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand, StrAttr:$einsum_config);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config attr-dict
      `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Transforms and linear algebra
//===----------------------------------------------------------------------===//

def Stablehlo_FftOp
    : Stablehlo_Op<"fft", [NoMemoryEffect, Stablehlo_OwnSpeculatability,
                           Stablehlo_OneInferred]> {
  let summary = "Fourier transform of the last dimensions";
  let description = [{
    ```mlir
    %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<6x8xf32>) -> tensor<6x5xcomplex<f32>>
    ```

    Constraints:
    * (C1) There are 1 to 3 lengths, at most as many as dimensions.
    * (C2) Elements are complex, for RFFT f32 or f64.
    * (C3) The last dimensions are the lengths; that of a halved side n/2+1.
  }];
  let arguments = (ins Stablehlo_Tensor<Stablehlo_FC>:$operand,
                       Stablehlo_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs Stablehlo_Tensor<Stablehlo_FC>);
  let assemblyFormat = [{
    $operand `,` `type` `=` custom<EnumKeyword>($fft_type) `,`
      `length` `=` $fft_length
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_CholeskyOp
    : Stablehlo_Op<"cholesky", [NoMemoryEffect,
                                Stablehlo_CompatibleElementTypes,
                                Stablehlo_OneInferred]> {
  let summary = "Cholesky decomposition of batches of matrices";
  let description = [{
    Not speculatable: a matrix without decomposition is an error.

    ```mlir
    %0 = stablehlo.cholesky %a, lower = true : tensor<3x5x5xf32>
    ```

    Constraints:
    * (C1) The rank is at least 2, and the last two dimensions are equal.
  }];
  let arguments = (ins Stablehlo_Tensor<Stablehlo_FCQ>:$a,
                       Stablehlo_OptionalFalse:$lower);
  let results = (outs Stablehlo_Tensor<Stablehlo_FCQ>:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict
      `:` custom<Signature>(type($a), type($result))
  }];
}

def Stablehlo_TriangularSolveOp
    : Stablehlo_Op<"triangular_solve", [NoMemoryEffect,
                                        Stablehlo_OwnSpeculatability,
                                        Stablehlo_CompatibleElementTypes,
                                        Stablehlo_OneInferred]> {
  let summary = "Solves systems with a triangular matrix";
  let description = [{
    ```mlir
    %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    ```

    Constraints:
    * (C1) The matrix has rank 2 or more and is square.
    * (C2) Both operands have one rank, compatible batch dimensions, and share
      the dimension that `left_side` says.
    * (C3) TRANSPOSE_INVALID is no way to read the matrix.
  }];
  let arguments = (ins Stablehlo_Tensor<Stablehlo_FC>:$a,
                       Stablehlo_Tensor<Stablehlo_FC>:$b, BoolAttr:$left_side,
                       BoolAttr:$lower, BoolAttr:$unit_diagonal,
                       Stablehlo_TransposeAttr:$transpose_a);
  let results = (outs Stablehlo_Tensor<Stablehlo_FC>);
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

class Stablehlo_BatchNormOp<string mnemonic>
    : Stablehlo_Op<mnemonic, [Stablehlo_PureIfStaticOperands,
                              Stablehlo_CompatibleElementTypes,
                              Stablehlo_Inferred]>;

def Stablehlo_FQTensor : Stablehlo_Tensor<Stablehlo_FQ>;
def Stablehlo_FQVector : Stablehlo_TensorOfRank<1, Stablehlo_FQ>;

def Stablehlo_BatchNormGradOp : Stablehlo_BatchNormOp<"batch_norm_grad"> {
  let summary = "Gradient of a batch normalization";
  let description = [{
    Constraints:
    * (C1) The feature dimension is in range.
    * (C2) Operands of many dimensions have one shape; vectors have the size of
      the feature dimension.
  }];
  let arguments = (ins Stablehlo_FQTensor:$operand, Stablehlo_FQVector:$scale,
                       Stablehlo_FQVector:$mean, Stablehlo_FQVector:$variance,
                       Stablehlo_FQTensor:$grad_output, F32Attr:$epsilon,
                       Stablehlo_DimensionAttr:$feature_index);
  let results = (outs Stablehlo_FQTensor:$grad_operand,
                      Stablehlo_FQVector:$grad_scale,
                      Stablehlo_FQVector:$grad_offset);
}

def Stablehlo_BatchNormInferenceOp
    : Stablehlo_BatchNormOp<"batch_norm_inference"> {
  let summary = "Batch normalization with given statistics";
  let description = [{
    Constraints:
    * (C1) The feature dimension is in range.
    * (C2) Vectors have the size of the feature dimension.
  }];
  let arguments = (ins Stablehlo_FQTensor:$operand, Stablehlo_FQVector:$scale,
                       Stablehlo_FQVector:$offset, Stablehlo_FQVector:$mean,
                       Stablehlo_FQVector:$variance, F32Attr:$epsilon,
                       Stablehlo_DimensionAttr:$feature_index);
  let results = (outs Stablehlo_FQTensor:$result);
}

def Stablehlo_BatchNormTrainingOp
    : Stablehlo_BatchNormOp<"batch_norm_training"> {
  let summary = "Batch normalization that computes the statistics";
  let description = [{
    Constraints:
    * (C1) The feature dimension is in range.
    * (C2) Vectors have the size of the feature dimension.
  }];
  let arguments = (ins Stablehlo_FQTensor:$operand, Stablehlo_FQVector:$scale,
                       Stablehlo_FQVector:$offset, F32Attr:$epsilon,
                       Stablehlo_DimensionAttr:$feature_index);
  let results = (outs Stablehlo_FQTensor:$output,
                      Stablehlo_FQVector:$batch_mean,
                      Stablehlo_FQVector:$batch_var);
}

#endif
