//===- CollectiveOps.td - Between processes ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVE_COLLECTIVEOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVE_COLLECTIVEOPS_TD

include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.td"
include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"
include "mlir/IR/SymbolInterfaces.td"

// Groups are a matrix of ids, one group per row, or axes of a mesh.
def Stablehlo_ReplicaGroupsAttr
    : AnyAttrOf<[I64ElementsAttr, Stablehlo_ReplicaGroupMeshAxesAttr],
                "64-bit signless integer elements attribute or mesh axes">;

// The mesh that groups name must exist.
def Stablehlo_ReplicaGroupsUser
    : TraitList<[DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                 Stablehlo_NativeTrait<"ReplicaGroupsUser", [{}], [{
                   ::llvm::LogicalResult $cppClass::verifySymbolUses(
                       ::mlir::SymbolTableCollection &symbolTable) {
                     return verifyMeshUse(*this, getReplicaGroups(), symbolTable);
                   }
                 }]>]>;

def Stablehlo_CollectiveEndsInReturn : SingleBlockImplicitTerminator<"ReturnOp">;

// Rules that several collectives share, in ReplicaGroups.h: groups have rank 2,
// ids are distinct and cover 0 to n - 1; `use_global_device_ids` needs groups
// and a channel.

def Stablehlo_AllGatherOp
    : Stablehlo_Op<"all_gather", [Stablehlo_ReplicaGroupsUser,
                                  Stablehlo_SpeculatableIfStaticOperands]> {
  let summary = "Concatenates the operands of all members of a group";
  let description = [{
    ```mlir
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<3x8xf32>
    ```

    Constraints:
    * (C1) Replica groups are valid (ReplicaGroups.h).
    * (C2) Operands and results pair up, with the same element type and rank.
    * (C3) `all_gather_dim` is in range; the operand's size there is not zero
      and divides the result's; other sizes are equal.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands,
                       Stablehlo_DimensionAttr:$all_gather_dim,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let hasVerifier = 1;
}

def Stablehlo_AllReduceOp
    : Stablehlo_Op<"all_reduce", [Stablehlo_ReplicaGroupsUser,
                                  Stablehlo_CollectiveEndsInReturn,
                                  Stablehlo_Inferred]> {
  let summary = "Combines the operands of all members of a group";
  let description = [{
    ```mlir
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```

    Constraints:
    * (C1) Replica groups are valid; a group may be padded with -1.
    * (C2) The computation is a reducer of every operand (ReducerRules.h).
    * (C3) A result has the shape of its operand and the element type that the
      computation returns.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
}

def Stablehlo_ReduceScatterOp
    : Stablehlo_Op<"reduce_scatter", [Stablehlo_ReplicaGroupsUser,
                                      Stablehlo_SpeculatableIfStaticOperands]> {
  let summary = "Combines operands and gives each member one part";
  let description = [{
    ```mlir
    %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x2xf32>
    ```

    Constraints:
    * (C1) Replica groups are valid (ReplicaGroups.h).
    * (C2) The computation is a reducer of the operand (ReducerRules.h).
    * (C3) `scatter_dimension` is in range; the result's size there is not zero
      and divides the operand's; other sizes are equal.
    * (C4) The result has the element type that the computation returns.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_DimensionAttr:$scatter_dimension,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Stablehlo_FPICQTensor);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
}

def Stablehlo_AllToAllOp
    : Stablehlo_Op<"all_to_all", [Stablehlo_ReplicaGroupsUser,
                                  Stablehlo_SpeculatableIfStaticOperands,
                                  Stablehlo_Inferred]> {
  let summary = "Splits operands and exchanges the parts";
  let description = [{
    ```mlir
    %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, split_count = 3 : i64, split_dimension = 0 : i64}> : (tensor<6x2xf32>) -> tensor<2x6xf32>
    ```

    Constraints:
    * (C1) Replica groups are valid and have `split_count` members.
    * (C2) Both dimensions are in range; `split_count` divides the size of the
      one that is split.
    * (C3) A result has the element type of its operand.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands,
                       Stablehlo_DimensionAttr:$split_dimension,
                       Stablehlo_DimensionAttr:$concat_dimension,
                       Stablehlo_PositiveAttr:$split_count,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>
                           :$channel_handle);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
}

def Stablehlo_CollectiveBroadcastOp
    : Stablehlo_Op<"collective_broadcast", [Stablehlo_ReplicaGroupsUser,
                                            Stablehlo_Inferred]> {
  let summary = "Sends the operands of one member to its group";
  let description = [{
    The first id of a group is the root. With `has_dynamic_root` the last
    operand has its position, one entry per other operand.

    ```mlir
    %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
    ```

    Constraints:
    * (C1) Ids are not negative and unique.
    * (C2) Results have the types of the operands, without the root.
    * (C3) The root is a tensor<Nxi32>, N the number of other operands.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let useCustomPropertiesEncoding = 1;
  let extraClassDefinition = BytecodeForm<[{
    .optional(p.channel_handle)
    .since(BytecodeForm::Jax0_11_2, p.has_dynamic_root)
    .required(p.replica_groups)
  }]>.definition;
}

def Stablehlo_CollectiveReduceOp
    : Stablehlo_Op<"collective_reduce", [Stablehlo_ReplicaGroupsUser,
                                         Stablehlo_CollectiveEndsInReturn,
                                         Stablehlo_Inferred]> {
  let summary = "Combines operands on one member of a group";
  let description = [{
    The first id of a group is the root. With `has_dynamic_root` the last
    operand has its position, one entry per other operand.

    ```mlir
    %0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Constraints:
    * (C1) Replica groups are valid; a group may be padded with -1.
    * (C2) The computation is a reducer of every operand (ReducerRules.h).
    * (C3) A result has the shape of its operand and the element type that the
      computation returns; there is none for the root.
    * (C4) The root is a tensor<Nxi32>, N the number of other operands.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids,
                       UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
}

def Stablehlo_CollectivePermuteOp
    : Stablehlo_Op<"collective_permute", [SameOperandsAndResultElementType,
                                          Stablehlo_OneInferred]> {
  let summary = "Sends the operand from source to target";
  let description = [{
    ```mlir
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
    ```

    Constraints:
    * (C1) The pairs have shape Nx2; ids are not negative; no source and no
      target occurs twice.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>
                           :$channel_handle);
  let results = (outs Stablehlo_FPICQTensor);
}

def Stablehlo_CrossReplicaSumOp
    : Stablehlo_Op<"cross-replica-sum", [Pure, Stablehlo_CompatibleTypes]> {
  let summary = "Sums over groups (obsolete)";
  let description = [{
    Superseded by `all_reduce`; nothing but the types is checked.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       I64ElementsAttr:$replica_groups);
  let results = (outs Stablehlo_FPICQTensor);
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

def Stablehlo_AsyncStartOp
    : Stablehlo_Op<"async_start", [IsolatedFromAbove,
                                   Stablehlo_CollectiveEndsInReturn,
                                   Stablehlo_OneInferred]> {
  let summary = "Starts an operation without waiting for it";
  let description = [{
    ```mlir
    %0 = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<4x6xf32>):
      %1 = stablehlo.slice %a [0:2, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
      stablehlo.return %1 : tensor<2x6xf32>
    }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<2x6xf32>>
    ```

    Constraints:
    * (C1) Arguments of the body have the types of the operands.
    * (C2) The body is one collective, `slice`, `dynamic_slice` or
      `dynamic_update_slice`, and returns one value.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$operands);
  let results = (outs Stablehlo_Future);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Stablehlo_AsyncDoneOp
    : Stablehlo_Op<"async_done", [Stablehlo_OneInferred]> {
  let summary = "Waits for an operation that was started";
  let description = [{
    Constraints:
    * (C1) The future holds one tensor, which the result is.
  }];
  let arguments = (ins Stablehlo_Future:$operand);
  let results = (outs Stablehlo_FPICQTensor);
}

#endif
