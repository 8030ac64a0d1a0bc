//===- GatherScatterOps.td - Indexed access ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTER_GATHERSCATTEROPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTER_GATHERSCATTEROPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

def Stablehlo_GatherOp
    : Stablehlo_Op<"gather", [NoMemoryEffect, Stablehlo_OwnSpeculatability,
                              Stablehlo_OneInferred]> {
  let summary = "Gathers slices at computed positions";
  let description = [{
    ```mlir
    %0 = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<20x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    ```

    Constraints:
    * (C1) Offset, collapsed and batching dimensions make up the operand's rank;
      each list is sorted and unique.
    * (C2) `index_vector_dim` is in [0, rank of the indices], and its size is
      that of `start_index_map`, which is unique and in range.
    * (C3) Batching dimensions of operand and indices pair up.
    * (C4) There is a slice size per dimension, in [0, size], at most 1 where
      the dimension is collapsed or batched.
    * (C5) The result has the batch dimensions of the indices, and the sizes of
      the slices at `offset_dims`.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_IntTensor:$start_indices,
                       Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes,
                       Stablehlo_OptionalFalse:$indices_are_sorted);
  let results = (outs Stablehlo_FPICQTensor:$result);
}

def Stablehlo_DynamicGatherOp
    : Stablehlo_Op<"dynamic_gather",
                   [Stablehlo_PureIfConstant<["getSliceSizes()"]>,
                    Stablehlo_OneInferred]> {
  let summary = "Gathers slices of computed sizes at computed positions";
  let description = [{
    A `gather` whose slice sizes are an operand, with one entry per dimension.
    Constraints are those of `gather`.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_IntTensor:$start_indices,
                       Stablehlo_StaticTensorOfRank<1, Stablehlo_I>:$slice_sizes,
                       Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers,
                       Stablehlo_OptionalFalse:$indices_are_sorted);
  let results = (outs Stablehlo_FPICQTensor);
}

def Stablehlo_AnyIntOrIndexTensor
    : RankedTensorOf<[AnyInteger, Index]>;

def Stablehlo_ScatterOp
    : Stablehlo_Op<"scatter", [RecursiveMemoryEffects,
                               Stablehlo_OwnSpeculatability, Stablehlo_Inferred,
                               SameVariadicOperandSize]> {
  let summary = "Combines updates into tensors at computed positions";
  let description = [{
    ```mlir
    %0 = "stablehlo.scatter"(%x, %indices, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<20x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<20x6xf32>
    ```

    Constraints:
    * (C1) There is at least one input; inputs have one shape, updates have one
      shape.
    * (C2) Window, inserted and batching dimensions make up the inputs' rank;
      each list is sorted and unique.
    * (C3) `index_vector_dim` is in [0, rank of the indices], and its size is
      that of `scatter_dims_to_operand_dims`, which is unique and in range.
    * (C4) Batching dimensions of inputs and indices pair up.
    * (C5) Windows of the updates fit the inputs; their other dimensions are
      those of the indices.
    * (C6) The region is a reducer of inputs and updates (ReducerRules.h).
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       Stablehlo_AnyIntOrIndexTensor:$scatter_indices,
                       Variadic<Stablehlo_FPICQTensor>:$updates,
                       Stablehlo_ScatterDimensionNumbersAttr
                           :$scatter_dimension_numbers,
                       Stablehlo_OptionalFalse:$indices_are_sorted,
                       Stablehlo_OptionalFalse:$unique_indices);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$update_computation);
  let hasVerifier = 1;
}

def Stablehlo_TorchIndexSelectOp : Stablehlo_Op<"torch_index_select", [Pure]> {
  let summary = "Selects slices along one dimension, as PyTorch does";
  let description = [{
    Nothing but the kinds of the operands is checked.

    ```mlir
    %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x1xi32>, tensor<2xi32>) -> tensor<2x1xi32>
    ```
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_FPICQTensor:$index, I64Attr:$dim,
                       I64Attr:$batch_dims);
  let results = (outs Stablehlo_FPICQTensor);
}

#endif
