//===- SdyOps.td --------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Collectives are in CollectiveOps.td.

#ifndef MESHWRIGHT_DIALECT_SDY_OPS_TD
#define MESHWRIGHT_DIALECT_SDY_OPS_TD

include "meshwright/Dialect/Sdy/DataFlowOpInterface.td"
include "meshwright/Dialect/Sdy/SdyAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_ShapedType
    : Type<CPred<"::llvm::isa<::mlir::ShapedType>($_self)">, "shaped value">;

def Sdy_PropagationDirection : I32EnumAttr<"PropagationDirection",
    "Which way shardings may pass", [
      I32EnumAttrCase<"NONE", 0>,
      I32EnumAttrCase<"FORWARD", 1>,
      I32EnumAttrCase<"BACKWARD", 2>,
      I32EnumAttrCase<"BOTH", 3>
    ]> {
  let cppNamespace = "::mlir::sdy";
}

//===----------------------------------------------------------------------===//
// What a user says about shardings
//===----------------------------------------------------------------------===//

def Sdy_MeshOp : Sdy_Op<"mesh", [HasParent<"::mlir::ModuleOp">, Symbol]> {
  let summary = "Names a mesh";
  let description = [{
    Shardings refer to the mesh by this symbol. It is public, so that it stays
    where nothing refers to it yet.

    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

/// The same value with a sharding.
class Sdy_ShardingOp<string mnemonic, list<Trait> traits = []>
    : Sdy_Op<mnemonic, traits # [AllTypesMatch<["input", "result"]>]> {
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sdy_ShardingConstraintOp : Sdy_ShardingOp<"sharding_constraint"> {
  let summary = "Constrains the sharding of a value";
  let description = [{
    Stays even where its result is not used: it constrains its operand too.

    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?} ]> : tensor<8x4xf32>
    ```

    Constraints:
    * (C1) The sharding fits the type.
    * (C2) Axes that become unreduced combine by sum; axes that already were
      keep their way to combine.
  }];
}

def Sdy_ReshardOp : Sdy_ShardingOp<"reshard", [Pure]> {
  let summary = "Changes the sharding of a value";
  let description = [{
    ```mlir
    %1 = sdy.reshard %0 <@mesh, [{"x"}, {} ]> : tensor<8x4xf32>
    ```

    Constraints are those of sharding_constraint. Canonicalization skips a
    reshard that only another one reads, and lets reshards of one value in a
    block share those that split it alike.
  }];
  let hasCanonicalizer = 1;
}

def Sdy_PropagationBarrierOp
    : Sdy_Op<"propagation_barrier", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Restricts the direction in which shardings propagate";
  let description = [{
    FORWARD lets shardings pass from operand to result, BACKWARD the other way,
    NONE neither.

    ```mlir
    %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
                       Sdy_PropagationDirection:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:`
    type($input)
  }];
  let hasVerifier = 1;
}

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "Makes a value a member of a sharding group";
  let description = [{
    All values with one group id are split alike.

    ```mlir
    sdy.sharding_group %0 group_id=3 : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat =
      "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_ConstantOp : Sdy_Op<"constant", [
    Pure,
    PredOpTrait<"the result has the type of the value, or a quantized type "
                "stored as such",
                CPred<"::mlir::stablehlo::ConstantOp::isCompatibleReturnTypes("
                      "getValue().getShapedType(), getOutput().getType())">>
]> {
  let summary = "A constant that each use may shard differently";
  let description = [{
    Like stablehlo.constant, but neither folded nor merged with equal ones.

    ```mlir
    %0 = sdy.constant dense<0.0> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$output);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Data flow
//===----------------------------------------------------------------------===//

def Sdy_DataFlowEdgeOp
    : Sdy_Op<"data_flow_edge", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Holds the sharding of an edge of a data-flow op";
  let description = [{
    Its operand is the owner of the edge, which has no other use.

    ```mlir
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}, {?} ]> : tensor<8x4xf32>
    ```

    Constraints:
    * (C1) The value has a static shape.
    * (C2) The operand has one use.
    * (C3) The operand does not come from an sdy op, other than data-flow ops.
    * (C4) The sharding fits the type.
  }];
  let arguments = (ins Sdy_ShapedType:$input,
                       OptionalAttr<Sdy_TensorSharding>:$sharding);
  let results = (outs Sdy_ShapedType:$result);
  let assemblyFormat = [{
    $input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The edge op that an owner feeds; null if there is none.
    static DataFlowEdgeOp getFor(::mlir::Value owner);
  }];
}

def Sdy_FuncDataFlowEdgeOp
    : Sdy_Op<"func_data_flow_edge", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Marks a value that crosses a function call";
  let description = [{
    Its operand is a function argument or the result of a call, with one use. Propagation
    shards an argument like the operands of all calls of its function, and a result
    like what the callee returns.

    ```mlir
    %1 = sdy.func_data_flow_edge %0 : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sdy_ShapedType:$input);
  let results = (outs Sdy_ShapedType:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

/// An op with one block, which keeps the shardings of operands and results.
class Sdy_BodyOp<string mnemonic, list<string> otherDataFlow = []>
    : Sdy_Op<mnemonic, [
        IsolatedFromAbove, RecursiveMemoryEffects, RecursivelySpeculatable,
        SingleBlockImplicitTerminator<"ReturnOp">,
        DeclareOpInterfaceMethods<Sdy_DataFlowOpInterface,
                                  otherDataFlow # Sdy_StoredShardings>]> {
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Operation *getBodyTerminator() {
      return getBody().front().getTerminator();
    }
  }];
}

def Sdy_ManualComputationOp
    : Sdy_BodyOp<"manual_computation",
                 ["shouldKeepEdgeOwnerShardingsDivisible",
                  "transformTargetSharding"]> {
  let summary = "Computes on the local pieces of tensors";
  let description = [{
    The body sees what one device holds along the manual axes; other axes may
    still be used inside.

    ```mlir
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"} ]>] out_shardings=[<@mesh, [{"x"} ]>] manual_axes={"x"} (%arg: tensor<4xf32>) {
      %2 = stablehlo.negate %arg : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Constraints:
    * (C1) The shardings fit the operands and results.
    * (C2) As many block arguments and returned values as operands and results.
    * (C3) In each dimension, manual axes come before free ones.
    * (C4) The product of the manual axes divides the dimension.
    * (C5) The body has the type of the piece.
    * (C6) All shardings are on one mesh, which has the manual axes.
    * (C7) No axis is manual already around the op.

    Canonicalization drops unused arguments, inlines the body if the manual axes
    have size 1, and erases an empty computation.
  }];
  let arguments = (ins Variadic<AnyType>:$tensors,
                       Sdy_TensorShardingPerValue:$in_shardings,
                       Sdy_TensorShardingPerValue:$out_shardings,
                       Sdy_ManualAxes:$manual_axes);
  let assemblyFormat = [{
    `` `(` $tensors `)`
    `in_shardings` `` `=` `` custom<Shardings>($in_shardings)
    `out_shardings` `` `=` `` custom<Shardings>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes
    custom<RegionWithArgs>($body) attr-dict
    `:` functional-type($tensors, results)
  }];
  let hasCanonicalizer = 1;
}

def Sdy_NamedComputationOp
    : Sdy_BodyOp<"named_computation"> {
  let summary = "Groups ops under a name";
  let description = [{
    Represents the call of a function while shardings propagate.

    ```mlir
    %1 = sdy.named_computation<"f">(%0) (%arg: tensor<8xf32>) {
      %2 = stablehlo.negate %arg : tensor<8xf32>
      sdy.return %2 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Constraints:
    * (C1) Block arguments have the operand types, returned values the result
      types.
    * (C2) The shardings fit the operands and results.
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$operands,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings);
  let assemblyFormat = [{
    `` `<` $name `>` `` `(` $operands `)`
    (`in_shardings` `` `=` `` custom<Shardings>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<Shardings>($out_shardings)^)?
    custom<RegionWithArgs>($body) attr-dict
    `:` functional-type($operands, results)
  }];
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, Terminator]> {
  let summary = "Returns values to the enclosing op";
  let description = [{
    ```mlir
    sdy.return %0, %1 : tensor<8xf32>, tensor<i32>
    ```

    Constraints:
    * (C1) Where it ends a function, it returns values of the result types.
  }];
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [
    OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>
  ];
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
  let hasVerifier = 1;
}

#endif
