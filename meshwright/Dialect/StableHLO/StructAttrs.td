//===- StructAttrs.td - Structured attributes --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_STRUCTATTRS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_STRUCTATTRS_TD

include "meshwright/Dialect/StableHLO/StablehloEnums.td"
include "meshwright/Dialect/StableHLO/StructForm.td"
include "mlir/IR/SymbolInterfaces.td"

class Stablehlo_StructAttr<string name, string attrMnemonic,
                           list<Trait> traits = []>
    : AttrDef<Stablehlo_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Stablehlo_Dims : ArrayRefParameter<"int64_t", "dimensions">;

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

def Stablehlo_DotDimensionNumbersAttr
    : StructFormAttr<Stablehlo_Dialect, "DotDimensionNumbers", "dot",
                     ["lhs_batching_dimensions",
                      "rhs_batching_dimensions",
                      "lhs_contracting_dimensions",
                      "rhs_contracting_dimensions"]> {
  let summary = "Which dimensions of a dot product are batched and contracted";
  let description = [{
    Lists of one side pair up with those of the other by position.

    ```mlir
    #stablehlo.dot<lhs_contracting_dimensions = [1],
                   rhs_contracting_dimensions = [0]>
    ```

    Fields may be in any order; empty ones are not printed.
  }];
}

def Stablehlo_GatherDimensionNumbersAttr
    : StructFormAttr<Stablehlo_Dialect, "GatherDimensionNumbers", "gather",
                     ["offset_dims",
                      "collapsed_slice_dims",
                      "operand_batching_dims",
                      "start_indices_batching_dims",
                      "start_index_map"],
                     ["index_vector_dim"]> {
  let summary = "How a gather reads its indices and places its slices";
  let description = [{
    ```mlir
    #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
                      start_index_map = [0], index_vector_dim = 1>
    ```

    Fields may be in any order; empty lists and zeros are not printed.
  }];
}

def Stablehlo_ScatterDimensionNumbersAttr
    : StructFormAttr<Stablehlo_Dialect, "ScatterDimensionNumbers", "scatter",
                     ["update_window_dims",
                      "inserted_window_dims",
                      "input_batching_dims",
                      "scatter_indices_batching_dims",
                      "scatter_dims_to_operand_dims"],
                     ["index_vector_dim"]> {
  let summary = "How a scatter reads its indices and places its updates";
  let description = [{
    ```mlir
    #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
                       scatter_dims_to_operand_dims = [0],
                       index_vector_dim = 1>
    ```

    Fields may be in any order; empty lists and zeros are not printed.
  }];
}

def Stablehlo_ConvDimensionNumbersAttr
    : Stablehlo_StructAttr<"ConvDimensionNumbers", "conv"> {
  let summary = "What each dimension of a convolution's tensors represents";
  let description = [{
    The short form names the role of each dimension of input, kernel and output:
    `b` batch, `f` feature, `i` and `o` kernel input and output feature, and the
    number of a spatial dimension.

    ```mlir
    #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
    ```

    The long form, `#stablehlo.conv<raw input_batch_dimension = 0, ...>`, is
    accepted and printed back short.
  }];
  let parameters = (ins
    "int64_t":$inputBatchDimension,
    "int64_t":$inputFeatureDimension,
    Stablehlo_Dims:$inputSpatialDimensions,
    "int64_t":$kernelInputFeatureDimension,
    "int64_t":$kernelOutputFeatureDimension,
    Stablehlo_Dims:$kernelSpatialDimensions,
    "int64_t":$outputBatchDimension,
    "int64_t":$outputFeatureDimension,
    Stablehlo_Dims:$outputSpatialDimensions);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Dot algorithm
//===----------------------------------------------------------------------===//

def Stablehlo_DotAlgorithmAttr
    : Stablehlo_StructAttr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "The numeric algorithm that computes a dot product";
  let description = [{
    Only combinations that some hardware implements can be built.

    ```mlir
    #stablehlo.dot_algorithm<
      lhs_precision_type = bf16, rhs_precision_type = bf16,
      accumulation_type = f32, lhs_component_count = 1,
      rhs_component_count = 1, num_primitive_operations = 3,
      allow_imprecise_accumulation = false>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$lhsPrecisionType,
    "::mlir::Type":$rhsPrecisionType,
    "::mlir::Type":$accumulationType,
    "int64_t":$lhsComponentCount,
    "int64_t":$rhsComponentCount,
    "int64_t":$numPrimitiveOperations,
    "bool":$allowImpreciseAccumulation);
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType
    `,` `rhs_precision_type` `=` $rhsPrecisionType
    `,` `accumulation_type` `=` $accumulationType
    `,` `lhs_component_count` `=` $lhsComponentCount
    `,` `rhs_component_count` `=` $rhsComponentCount
    `,` `num_primitive_operations` `=` $numPrimitiveOperations
    `,` `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def Stablehlo_ChannelHandleAttr
    : Stablehlo_StructAttr<"ChannelHandle", "channel_handle"> {
  let summary = "The channel that a communication op uses";
  let description = [{
    `type` is 0 (none), 1 (device to device), 2 (device to host) or 3 (host to
    device).

    ```mlir
    #stablehlo.channel_handle<handle = 1, type = 1>
    ```
  }];
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_SubAxisInfoAttr
    : Stablehlo_StructAttr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "A part of a mesh axis: its size, and the product before it";
  let description = [{
    Printed `(1)2`: the first sub-axis of size 2.
  }];
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
  let assemblyFormat = "`(` $preSize `)` `` $size";
}

def Stablehlo_AxisRefAttr : Stablehlo_StructAttr<"AxisRef", "axis_ref"> {
  let summary = "A mesh axis or a part of one";
  let description = [{
    ```mlir
    #stablehlo.axis_ref<name = "x">
    #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"name of the axis">:$name,
    OptionalParameter<"::mlir::stablehlo::SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_MeshAxisAttr : Stablehlo_StructAttr<"MeshAxis", "mesh_axis"> {
  let summary = "Name and size of one axis of a mesh";
  let parameters = (ins
    StringRefParameter<"name of the axis">:$name,
    "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_MeshAttr : Stablehlo_StructAttr<"Mesh", "mesh"> {
  let summary = "A grid of devices with named axes";
  let description = [{
    Without `device_ids` the devices are numbered in order.

    ```mlir
    #stablehlo.mesh<axes=[<name = "x", size = 2>],
                    device_ids=dense<[1, 0]> : tensor<2xi64>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::stablehlo::MeshAxisAttr">:$axes,
    OptionalParameter<"::mlir::DenseIntElementsAttr">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ReplicaGroupMeshAxesAttr
    : Stablehlo_StructAttr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes", [
          DeclareAttrInterfaceMethods<SymbolUserAttrInterface>]> {
  let summary = "Replica groups as the axes of a mesh";
  let description = [{
    The mesh is a symbol or written in place. A symbol must exist, whatever the
    op that carries the attribute; axes of a mesh written in place must be its.

    ```mlir
    #stablehlo.replica_group_mesh_axes<
      mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>
    ```
  }];
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
