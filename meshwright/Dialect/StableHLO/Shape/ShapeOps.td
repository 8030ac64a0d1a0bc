//===- ShapeOps.td - Data movement -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_SHAPE_SHAPEOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_SHAPE_SHAPEOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

def Stablehlo_ReshapeOp
    : Stablehlo_Op<"reshape", [Stablehlo_PureIfStaticOperands]> {
  let summary = "Changes the shape, keeping the order of elements";
  let description = [{
    ```mlir
    %0 = stablehlo.reshape %x : (tensor<6x2xf32>) -> tensor<3x4xf32>
    ```

    Constraints:
    * (C1) Operand and result have the same number of elements.
    * (C2) Quantized per axis, the quantized dimension and what is before it
      keep their sizes.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand);
  let results = (outs Stablehlo_StaticOrBoundedTensor<Stablehlo_FPICQA>);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_DynamicReshapeOp
    : Stablehlo_Op<"dynamic_reshape",
                   [Stablehlo_PureIfConstant<["getOutputShape()"]>]> {
  let summary = "Changes to a computed shape, keeping the order of elements";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<6x2xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    ```

    Constraints:
    * (C1) The element types are compatible.
    * (C2) The result has the computed shape.
    * (C3) Operand and result have the same number of elements.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand,
                       Stablehlo_ShapeTensor:$output_shape);
  let results = (outs Stablehlo_FPICQATensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_BitcastConvertOp
    : Stablehlo_Op<"bitcast_convert", [NoMemoryEffect,
                                       Stablehlo_OwnSpeculatability]> {
  let summary = "Reads the bits of the elements as another element type";
  let description = [{
    Where the element types differ in width, the narrower side has one more
    dimension, the last one, with the parts of a wider element.

    ```mlir
    %0 = stablehlo.bitcast_convert %x : (tensor<4x2xui32>) -> tensor<4xui64>
    ```

    Constraints:
    * (C1) Complex numbers become complex numbers only.
    * (C2) Elements of equal width keep the shape.
    * (C3) Otherwise the narrower side has one more dimension, and its width
      times this dimension is the width of the wider side.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand);
  let results = (outs Stablehlo_FPICQATensor);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_TransposeOp
    : Stablehlo_Op<"transpose", [Stablehlo_OneInferred, NoMemoryEffect,
                                 Stablehlo_OwnSpeculatability]> {
  let summary = "Permutes the dimensions";
  let description = [{
    ```mlir
    %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<3x9x2xf32>) -> tensor<2x3x9xf32>
    ```

    Constraints:
    * (C1) The permutation names each dimension once.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand,
                       DenseI64ArrayAttr:$permutation);
  let results = (outs Stablehlo_FPICQATensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:`
    functional-type(operands, results)
  }];
}

def Stablehlo_ReverseOp
    : Stablehlo_Op<"reverse", [SameOperandsAndResultElementType,
                               Stablehlo_OneInferred,
                               Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Reverses the order along some dimensions";
  let description = [{
    ```mlir
    %0 = stablehlo.reverse %x, dims = [1] : tensor<3x9xf32>
    ```

    Constraints:
    * (C1) The dimensions are unique and those of the operand.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:`
    custom<Signature>(type($operand), type($result))
  }];
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

def Stablehlo_BroadcastOp
    : Stablehlo_Op<"broadcast", [Pure, SameOperandsAndResultElementType,
                                 Stablehlo_OneInferred]> {
  let summary = "Broadcasts a tensor along new leading dimensions";
  let description = [{
    ```mlir
    %0 = stablehlo.broadcast %x, sizes = [2, 3] : (tensor<5xf32>) -> tensor<2x3x5xf32>
    ```

    Constraints:
    * (C1) No size is negative.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs Stablehlo_FPICQATensor);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:`
    functional-type(operands, results)
  }];
}

def Stablehlo_BroadcastInDimOp
    : Stablehlo_Op<"broadcast_in_dim", [Stablehlo_PureIfStaticOperands]> {
  let summary = "Broadcasts a tensor along some dimensions of the result";
  let description = [{
    Dimension k of the operand becomes dimension `dims[k]` of the result;
    dimensions of size 1 are repeated.

    ```mlir
    %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
    ```

    Constraints:
    * (C1) There is one entry per dimension of the operand.
    * (C2) The entries are unique dimensions of the result.
    * (C3) A dimension of the operand is 1 or that of the result.
    * (C4) The element types are compatible; a quantized dimension k is
      dimension `dims[k]` of the result.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand,
                       DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs Stablehlo_StaticOrBoundedTensor<Stablehlo_FPICQA>);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DynamicBroadcastInDimOp
    : Stablehlo_Op<"dynamic_broadcast_in_dim",
                   [Stablehlo_PureIfConstant<["getOutputDimensions()"]>]> {
  let summary = "Broadcasts a tensor along some dimensions of a computed shape";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    ```

    Constraints:
    * (C1) The element types are compatible.
    * (C2) The result has the computed shape.
    * (C3) There is one entry per dimension of the operand; the entries are
      unique dimensions of the result.
    * (C4) A dimension of the operand is 1 or that of the result.
    * (C5) Dimensions known to expand or not to expand are unique dimensions of
      the operand, and none is both.
  }];
  let arguments = (ins
    Stablehlo_FPICQATensor:$operand,
    Stablehlo_ShapeTensor:$output_dimensions,
    DenseI64ArrayAttr:$broadcast_dimensions,
    OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
    OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions
  );
  let results = (outs Stablehlo_FPICQATensor);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand,
                   "::mlir::Value":$shape, "::llvm::ArrayRef<int64_t>":$dims), [{
      build($_builder, $_state, type, operand, shape,
            $_builder.getDenseI64ArrayAttr(dims), /*known_expanding=*/{},
            /*known_nonexpanding=*/{});
    }]>
  ];
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Slicing
//===----------------------------------------------------------------------===//

def Stablehlo_SliceOp
    : Stablehlo_Op<"slice", [SameOperandsAndResultElementType,
                             Stablehlo_OneInferred,
                             Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Extracts a slice at fixed positions";
  let description = [{
    Each dimension prints as `start:limit` or `start:limit:stride`.

    ```mlir
    %0 = stablehlo.slice %x [2:6, 1:10:3] : (tensor<6x10xf32>) -> tensor<4x3xf32>
    ```

    Constraints:
    * (C1) There is one start, limit and stride per dimension.
    * (C2) 0 <= start <= limit <= size of the dimension.
    * (C3) Strides are positive.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
    attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicSliceOp
    : Stablehlo_Op<"dynamic_slice", [Pure, Stablehlo_OneInferred,
                                     AllElementTypesMatch<["operand",
                                                           "result"]>]> {
  let summary = "Extracts a slice of fixed size at a computed position";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 10] : (tensor<6x10xf32>, tensor<i32>, tensor<i32>) -> tensor<1x10xf32>
    ```

    Constraints:
    * (C1) There is one start and one size per dimension.
    * (C2) The starts have the same element type.
    * (C3) 0 <= size <= size of the dimension.
    * (C4) Operand and result have the same element type.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Variadic<Stablehlo_ScalarIntTensor>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsAndComma>($start_indices) `sizes` `=`
    $slice_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicUpdateSliceOp
    : Stablehlo_Op<"dynamic_update_slice", [Pure, Stablehlo_OneInferred]> {
  let summary = "Overwrites a slice at a computed position";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_update_slice %x, %update, %i, %j : (tensor<6x10xf32>, tensor<1x10xf32>, tensor<i32>, tensor<i32>) -> tensor<6x10xf32>
    ```

    Constraints:
    * (C1) Operand and update have the same rank and element type.
    * (C2) There is one start per dimension, all of one element type.
    * (C3) No dimension of the update exceeds that of the operand.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_FPICQTensor:$update,
                       Variadic<Stablehlo_ScalarIntTensor>:$start_indices);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_RealDynamicSliceOp
    : Stablehlo_Op<"real_dynamic_slice",
                   [Stablehlo_PureIfConstant<["getStartIndices()",
                                              "getLimitIndices()",
                                              "getStrides()"]>]> {
  let summary = "Extracts a slice between computed positions";
  let description = [{
    ```mlir
    %0 = stablehlo.real_dynamic_slice %x, %starts, %limits, %strides : (tensor<6x?xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x?xf32>
    ```

    Constraints:
    * (C1) Operand and result have the same element type.
    * (C2) Starts, limits and strides have the same type, with one element per
      dimension.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_IndexVectorTensor:$start_indices,
                       Stablehlo_IndexVectorTensor:$limit_indices,
                       Stablehlo_IndexVectorTensor:$strides);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Padding and concatenation
//===----------------------------------------------------------------------===//

def Stablehlo_PadOp
    : Stablehlo_Op<"pad", [SameOperandsAndResultElementType, Stablehlo_OneInferred,
                           Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Pads a tensor around and between its elements";
  let description = [{
    Negative padding at the edges removes elements.

    ```mlir
    %0 = stablehlo.pad %x, %v, low = [1, 0], high = [0, -2], interior = [0, 1] : (tensor<3x9xf32>, tensor<f32>) -> tensor<4x15xf32>
    ```

    Constraints:
    * (C1) There is one entry of each padding per dimension.
    * (C2) Interior padding is not negative.
    * (C3) No dimension of the result is negative.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_TensorOfRank<0, Stablehlo_FPICQ>:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,`
    `high` `=` $edge_padding_high `,` `interior` `=` $interior_padding
    attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicPadOp
    : Stablehlo_Op<"dynamic_pad",
                   [Stablehlo_PureIfConstant<["getEdgePaddingLow()",
                                              "getEdgePaddingHigh()",
                                              "getInteriorPadding()"]>]> {
  let summary = "Pads a tensor by computed amounts";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_pad %x, %v, %low, %high, %interior : (tensor<6x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    ```

    Constraints:
    * (C1) Operand, padding value and result have the same element type; operand
      and result have the same rank.
    * (C2) The paddings have the same type, with one element per dimension.
    * (C3) Where the paddings are constant, interior padding is not negative and
      the result has the padded shape.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_TensorOfRank<0, Stablehlo_FPICQ>:$padding_value,
                       Stablehlo_ShapeTensor:$edge_padding_low,
                       Stablehlo_ShapeTensor:$edge_padding_high,
                       Stablehlo_ShapeTensor:$interior_padding);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_ConcatenateOp
    : Stablehlo_Op<"concatenate", [SameOperandsAndResultElementType,
                                   Stablehlo_OneInferred, NoMemoryEffect,
                                   Stablehlo_OwnSpeculatability]> {
  let summary = "Concatenates tensors along one dimension";
  let description = [{
    ```mlir
    %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    ```

    Constraints:
    * (C1) There is at least one operand.
    * (C2) The dimension is one of the operands.
    * (C3) All operands have the same rank, and the other dimensions agree.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       Stablehlo_DimensionAttr:$dimension);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    custom<OperandsAndComma>($inputs) `dim` `=` $dimension attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Dynamic dimensions
//===----------------------------------------------------------------------===//

def Stablehlo_GetDimensionSizeOp
    : Stablehlo_Op<"get_dimension_size", [Pure, Stablehlo_OneInferred]> {
  let summary = "Size of a dimension at run time";
  let description = [{
    ```mlir
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x6xf32>) -> tensor<i32>
    ```

    Constraints:
    * (C1) The dimension is one of the operand.
  }];
  let arguments = (ins Stablehlo_FPICQATensor:$operand,
                       Stablehlo_DimensionAttr:$dimension);
  let results = (outs Stablehlo_I32Tensor);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension attr-dict `:`
    functional-type(operands, results)
  }];
}

def Stablehlo_SetDimensionSizeOp
    : Stablehlo_Op<"set_dimension_size", [NoMemoryEffect, Stablehlo_OneInferred,
                                          Stablehlo_OwnSpeculatability]> {
  let summary = "Makes a dimension dynamic, with a size known at run time";
  let description = [{
    The old size becomes the bound of the dimension, unless the new size is a
    constant equal to it.

    ```mlir
    %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<8x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<8, ?>>
    ```

    Constraints:
    * (C1) The dimension is one of the operand.
    * (C2) The size has rank 0.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand, Stablehlo_I32Tensor:$size,
                       Stablehlo_DimensionAttr:$dimension);
  let results = (outs Stablehlo_FPICQTensor);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif
