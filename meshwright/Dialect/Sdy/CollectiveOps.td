//===- CollectiveOps.td - Ops that change a sharding --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_COLLECTIVEOPS_TD
#define MESHWRIGHT_DIALECT_SDY_COLLECTIVEOPS_TD

include "meshwright/Dialect/Sdy/SdyOps.td"
include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.td"

/// Constraints of all: the operand has a sharding, unless it may be taken as
/// replicated; out_sharding fits the type; both are on one mesh and of one rank;
/// the axes of out_sharding are those of the operand with the axes of the op
/// applied.
class Sdy_CollectiveOp<string mnemonic>
    : Sdy_Op<mnemonic, [Pure, AllTypesMatch<["tensor", "result"]>]> {
  let results = (outs Sdy_ShapedType:$result);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

/// An op on axes, of each dimension or of all, which it calls `name`.
class Sdy_AxesOp<string mnemonic, Attr kind, string name,
                 dag others = (ins), string syntaxOfOthers = "">
    : Sdy_CollectiveOp<mnemonic> {
  let arguments = !con((ins Sdy_ShapedType:$tensor), !dag(ins, [kind], [name]),
                       (ins Sdy_TensorSharding:$out_sharding), others);
  let assemblyFormat = syntaxOfOthers # "$" # name # [{ $tensor
    `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

class Sdy_ReducingOp<string mnemonic, Attr kind, string name>
    : Sdy_AxesOp<mnemonic, kind, name,
                 (ins DefaultValuedOptionalAttr<
                     Sdy_ReductionKind, "ReductionKind::Sum">:$reduction_op),
                 "(custom<OptionalReductionKind>($reduction_op)^)? "> {
  let useCustomPropertiesEncoding = 1;
  let extraClassDefinition = BytecodeForm<
    ".required(p.out_sharding).required(p." # name # ")" # [{
    .since(::mlir::stablehlo::BytecodeForm::Jax0_11_0, p.reduction_op)
  }]>.definition;
}

def Sdy_AllGatherOp
    : Sdy_AxesOp<"all_gather", Sdy_ListOfAxisRefLists, "gathering_axes"> {
  let summary = "Drops axes from the minor end of dimensions";
  let description = [{
    ```mlir
    %1 = sdy.all_gather [{"y"}, {} ] %0 out_sharding=<@mesh, [{"x"}, {} ]> : tensor<8x4xf32>
    ```
  }];
}

def Sdy_AllSliceOp
    : Sdy_AxesOp<"all_slice", Sdy_ListOfAxisRefLists, "slicing_axes"> {
  let summary = "Adds axes at the minor end of dimensions";
  let description = [{
    ```mlir
    %1 = sdy.all_slice [{"y"}, {} ] %0 out_sharding=<@mesh, [{"x", "y"}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
  let hasCanonicalizeMethod = 0;
  let hasCanonicalizer = 1;
}

def Sdy_AllToAllOp : Sdy_AxesOp<"all_to_all", Sdy_AllToAllParamList, "params"> {
  let summary = "Moves axes from one dimension to another";
  let description = [{
    ```mlir
    %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"} ]> : tensor<8x4xf32>
    ```
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

def Sdy_AllReduceOp
    : Sdy_ReducingOp<"all_reduce", Sdy_AxisRefList, "reduction_axes"> {
  let summary = "Combines partial values along axes";
  let description = [{
    ```mlir
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {} ]> : tensor<8x4xf32>
    %2 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, [{}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
}

def Sdy_ReduceScatterOp
    : Sdy_ReducingOp<"reduce_scatter", Sdy_ListOfAxisRefLists, "reduce_scatter_axes"> {
  let summary = "Combines partial values along axes and shards the result by them";
  let description = [{
    ```mlir
    %1 = sdy.reduce_scatter [{"x"}, {} ] %0 out_sharding=<@mesh, [{"x"}, {} ]> : tensor<8x4xf32>
    ```

    An operand without sharding is taken as replicated.
  }];
}

def Sdy_ShardedToUnreducedOp
    : Sdy_AxesOp<"sharded_to_unreduced", Sdy_ListOfAxisRefLists, "axes"> {
  let summary = "Turns axes of dimensions into unreduced ones";
  let description = [{
    ```mlir
    %1 = sdy.sharded_to_unreduced [{"x"}, {} ] %0 out_sharding=<@mesh, [{}, {} ], unreduced={"x"}> : tensor<8x4xf32>
    ```
  }];
}

def Sdy_ReplicatedToUnreducedOp
    : Sdy_AxesOp<"replicated_to_unreduced", Sdy_AxisRefList, "axes"> {
  let summary = "Turns unused axes into unreduced ones";
  let description = [{
    ```mlir
    %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {} ], unreduced={"x"}> : tensor<8x4xf32>
    ```
  }];
}

#endif
