//===- CollectiveOps.td - Ops that change a sharding --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_COLLECTIVEOPS_TD
#define MESHWRIGHT_DIALECT_SDY_COLLECTIVEOPS_TD

include "meshwright/Dialect/Sdy/SdyOps.td"

/// Constraints of all: the operand has a sharding, unless it may be taken as
/// replicated; out_sharding fits the type; both are on one mesh and of one rank;
/// the axes of out_sharding are those of the operand with the axes of the op
/// applied.
class Sdy_CollectiveOp<string mnemonic>
    : Sdy_Op<mnemonic, [Pure, AllTypesMatch<["tensor", "result"]>]> {
  let results = (outs Sdy_ShapedType:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather"> {
  let summary = "Drops axes from the minor end of dimensions";
  let description = [{
    ```mlir
    %1 = sdy.all_gather [{"y"}, {} ] %0 out_sharding=<@mesh, [{"x"}, {} ]> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_ListOfAxisRefLists:$gathering_axes,
                       Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $gathering_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
}

def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice"> {
  let summary = "Adds axes at the minor end of dimensions";
  let description = [{
    ```mlir
    %1 = sdy.all_slice [{"y"}, {} ] %0 out_sharding=<@mesh, [{"x", "y"}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_ListOfAxisRefLists:$slicing_axes,
                       Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $slicing_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
}

def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all"> {
  let summary = "Moves axes from one dimension to another";
  let description = [{
    ```mlir
    %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"} ]> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_AllToAllParamList:$params,
                       Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $params $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
}

def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute"> {
  let summary = "Replaces axes by others of the same sizes";
  let description = [{
    ```mlir
    %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"y"}, {} ]> : tensor<8x4xf32>
    ```

    The meshes may differ in the order of devices.
  }];
  let arguments = (ins Sdy_ShapedType:$tensor, Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce"> {
  let summary = "Combines partial values along axes";
  let description = [{
    ```mlir
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {} ]> : tensor<8x4xf32>
    %2 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, [{}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_AxisRefList:$reduction_axes,
                       Sdy_TensorSharding:$out_sharding,
                       DefaultValuedOptionalAttr<Sdy_ReductionKind, "ReductionKind::Sum">:$reduction_op);
  let assemblyFormat = [{
    (custom<OptionalReductionKind>($reduction_op)^)? $reduction_axes $tensor
    `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
  let useCustomPropertiesEncoding = 1;
}

def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines partial values along axes and shards the result by them";
  let description = [{
    ```mlir
    %1 = sdy.reduce_scatter [{"x"}, {} ] %0 out_sharding=<@mesh, [{"x"}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_ListOfAxisRefLists:$reduce_scatter_axes,
                       Sdy_TensorSharding:$out_sharding,
                       DefaultValuedOptionalAttr<Sdy_ReductionKind, "ReductionKind::Sum">:$reduction_op);
  let assemblyFormat = [{
    (custom<OptionalReductionKind>($reduction_op)^)? $reduce_scatter_axes $tensor
    `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
  let useCustomPropertiesEncoding = 1;
}

def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced"> {
  let summary = "Turns axes of dimensions into unreduced ones";
  let description = [{
    ```mlir
    %1 = sdy.sharded_to_unreduced [{"x"}, {} ] %0 out_sharding=<@mesh, [{}, {} ], unreduced={"x"}> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_ListOfAxisRefLists:$axes,
                       Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
}

def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced"> {
  let summary = "Turns unused axes into unreduced ones";
  let description = [{
    ```mlir
    %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {} ], unreduced={"x"}> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sdy_ShapedType:$tensor,
                       Sdy_AxisRefList:$axes,
                       Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
}

#endif
