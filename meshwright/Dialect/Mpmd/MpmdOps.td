//===- MpmdOps.td ---------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDOPS_TD
#define MESHWRIGHT_DIALECT_MPMD_MPMDOPS_TD

include "meshwright/Dialect/Mpmd/MpmdAttrs.td"
include "meshwright/Dialect/Mpmd/MpmdTypes.td"
include "meshwright/Dialect/Sdy/DataFlowOpInterface.td"
include "meshwright/Dialect/Sdy/ShardingRuleOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Mpmd_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mpmd_Dialect, mnemonic, traits>;

/// An op with one block that computes when its body computes.
class Mpmd_RegionOp<string mnemonic, list<Trait> traits = []>
    : Mpmd_Op<mnemonic, traits # [RecursiveMemoryEffects,
                                  RecursivelySpeculatable,
                                  SingleBlockImplicitTerminator<"ReturnOp">]> {
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

/// Fragments and their calls, assigns and unassigns are on the top level of a
/// function or of a loop.
def Mpmd_InFunctionOrLoop : ParentOneOf<["func::FuncOp", "mpmd::ForOp"]>;

def Mpmd_TensorShardingPerValueAttr
    : Attr<CPred<"::llvm::isa<::mlir::sdy::TensorShardingPerValueAttr>($_self)">,
           "one tensor sharding per value"> {
  let storageType = "::mlir::sdy::TensorShardingPerValueAttr";
  let returnType = "::mlir::sdy::TensorShardingPerValueAttr";
  let convertFromStorage = "$_self";
}

def Mpmd_StablehloTensor
    : Type<CPred<"::mlir::mpmd::isStablehloTensor($_self)">,
           "ranked tensor of a StableHLO element type",
           "::mlir::RankedTensorType">;

def Mpmd_TensorOrToken : AnyTypeOf<[Mpmd_StablehloTensor, Mpmd_Token]>;
def Mpmd_MeshTensorOrToken : AnyTypeOf<[Mpmd_MeshTensor, Mpmd_Token]>;
def Mpmd_TensorOrMeshTensor : AnyTypeOf<[AnyTensor, Mpmd_MeshTensor]>;

/// Calls keep no attributes of arguments and results of their own: `arg_attrs`
/// and `res_attrs` are discardable.
class Mpmd_CallInterfaceMethods {
  code declarations = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() {
      return getCalleeAttr();
    }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(
          ::llvm::cast<::mlir::FlatSymbolRefAttr>(
              ::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getTensors(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() {
      return getTensorsMutable();
    }
    ::mlir::ArrayAttr getArgAttrsAttr() { return {}; }
    ::mlir::ArrayAttr getResAttrsAttr() { return {}; }
    void setArgAttrsAttr(::mlir::ArrayAttr) {}
    void setResAttrsAttr(::mlir::ArrayAttr) {}
    ::mlir::Attribute removeArgAttrsAttr() { return {}; }
    ::mlir::Attribute removeResAttrsAttr() { return {}; }
  }];
}
def Mpmd_CallInterface : Mpmd_CallInterfaceMethods;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def Mpmd_ReturnOp : Mpmd_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends the body of a region op and yields its results";
  let description = [{
    ```mlir
    mpmd.return %0, %1 : tensor<4xf32>, tensor<i32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins), [{ /* Returns nothing. */ }]>];
  let assemblyFormat = "attr-dict $results (`:` type($results)^)?";
}

def Mpmd_NamedComputationOp
    : Mpmd_RegionOp<"named_computation", [IsolatedFromAbove]> {
  let summary = "Groups operations under a name that the user gave";
  let description = [{
    The name is what an assignment maps to a mesh. Body arguments and operands,
    returned values and results have the same types.

    ```mlir
    %1 = mpmd.named_computation<"layer"(1)> (%0) (%arg: tensor<4xf32>) {
      %2 = stablehlo.negate %arg : tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    ```

    Constraints, the same for operands and body arguments (C1, C2) and for
    returned values and results (C3, C4): equal number, equal types.
  }];
  let arguments = (ins Variadic<Mpmd_TensorOrToken>:$tensors,
                       Mpmd_UserOrigin:$origin);
  let results = (outs Variadic<Mpmd_TensorOrToken>:$results);
  let extraClassDeclaration = [{
    ::llvm::StringRef getName() { return getOrigin().getUserName().getValue(); }
    int64_t getTransposeCount() { return getOrigin().getTransposeCount(); }
  }];
}

def Mpmd_FragmentOp
    : Mpmd_RegionOp<"fragment",
                    [IsolatedFromAbove, Mpmd_InFunctionOrLoop,
                     DeclareOpInterfaceMethods<
                         Sdy_DataFlowOpInterface,
                         ["shouldKeepEdgeOwnerShardingsDivisible"] #
                             Sdy_StoredShardings>]> {
  let summary = "Computes on one mesh";
  let description = [{
    Operands and results are tensors of that mesh; the body works on their
    global types and becomes one SPMD program. `origin` names the user's
    computations it is made of, none if the compiler made it. `in_shardings` and
    `out_shardings` are those of body arguments and results until they move into
    the types.

    ```mlir
    %1 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)], stage=3> (%0) (%arg: tensor<4xf32>) {
      %2 = stablehlo.negate %arg : tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
    ```

    Constraints, for operands and body arguments, then for results and returned
    values:
    * (C1) Equal number.
    * (C2) The mesh is in the topology of the function.
    * (C3) A value that is no mesh tensor has the same type inside.
    * (C4) A mesh tensor is on the mesh of the fragment.
    * (C5) Its sharding fits the mesh and its global type.
    * (C6) The type inside is the global type.

    (C7) An integer called `call_counter` is a `ui32`. (C8) `arg_attrs` and
    `res_attrs` are lists of dictionaries, `mpmd.inferred_by` is one of strings.

    Effects are those of the body. Canonicalization forwards an operand that the
    body returns unchanged.
  }];
  let arguments = (ins Variadic<Mpmd_MeshTensorOrToken>:$inputs,
    Mpmd_UserOriginArrayAttr:$origin,
    StrAttr:$mesh_name,
    OptionalAttr<I64Attr>:$stage_id,
    OptionalAttr<Mpmd_TensorShardingPerValueAttr>:$in_shardings,
    OptionalAttr<Mpmd_TensorShardingPerValueAttr>:$out_shardings);
  let results = (outs Variadic<Mpmd_MeshTensorOrToken>:$results);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs,
                   "::mlir::ArrayAttr":$origin, "::mlir::StringAttr":$meshName,
                   CArg<"::mlir::IntegerAttr", "{}">:$stageId), [{
      build($_builder, $_state, results, inputs, origin, meshName, stageId,
            /*in_shardings=*/{}, /*out_shardings=*/{});
    }]>,
  ];
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Fills a body: gets its arguments and a builder at its end, returns what
    /// the fragment returns.
    using BodyFn = ::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(
        ::mlir::ArrayRef<::mlir::Value>, ::mlir::OpBuilder &)>;

    /// Creates a fragment without stage whose body arguments have the global
    /// types and the locations of `inputs`.
    static FragmentOp createWithGlobalBody(
        ::mlir::Location loc, ::mlir::ArrayAttr origin,
        ::mlir::StringAttr meshName, ::mlir::ValueRange inputs,
        ::mlir::TypeRange results, ::mlir::OpBuilder &builder, BodyFn body);
    static FragmentOp createWithGlobalBody(
        ::mlir::Location loc, ::llvm::ArrayRef<::mlir::Attribute> origin,
        ::mlir::StringAttr meshName, ::mlir::ValueRange inputs,
        ::mlir::TypeRange results, ::mlir::OpBuilder &builder, BodyFn body);

    bool isUserFragment() { return !getOrigin().empty(); }

    /// The sharding list entry of a body argument or result, null if the list
    /// is absent or too short. Setting one creates the list, with fully open
    /// shardings everywhere else; setting null does nothing.
    ::mlir::sdy::TensorShardingAttr getInputSharding(unsigned index);
    ::mlir::sdy::TensorShardingAttr getOutputSharding(unsigned index);
    void setInputSharding(unsigned index,
                          ::mlir::sdy::TensorShardingAttr sharding);
    void setOutputSharding(unsigned index,
                           ::mlir::sdy::TensorShardingAttr sharding);
  }];
}

def Mpmd_ForOp
    : Mpmd_RegionOp<"for", [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
        DeclareOpInterfaceMethods<LoopLikeOpInterface, [
          "getInitsMutable", "getRegionIterArgs", "getYieldedValuesMutable",
          "getLoopResults", "moveOutOfLoop"]>,
        DeclareOpInterfaceMethods<Sdy_DataFlowOpInterface, [
          "getBlockArgumentEdgeOwners", "getEdgeSources",
          "getNonEdgeOwnerTargets", "getEdgeOwnerFromTarget",
          "getEdgeOwnerFromSource"]>]> {
  let summary = "Runs its body a fixed number of times";
  let description = [{
    Operands are the values of the first iteration, returned values those of the
    next; the last body argument counts iterations from 0.

    ```mlir
    %1 = mpmd.for (%0) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%arg: tensor<8xf32>, %index: tensor<ui32>) {
      %2 = stablehlo.negate %arg : tensor<8xf32>
      mpmd.return %2 : tensor<8xf32>
    } : tensor<8xf32>
    ```

    Constraints:
    * (C1) Operands and results have the same number and types.
    * (C2) The body has an argument per operand, of its type, and the index.
    * (C3) An index that is a ranked tensor is of rank 0 and 32-bit integer;
      others are mesh tensors, or of integers.
    * (C4) The body returns values of the result types.
    * (C5) All operands are of one kind: tensors, or mesh tensors.
    * (C6) `iterations` is positive, `unroll_factor` divides it.
    * (C7) `arg_attrs` and `res_attrs` are lists of dictionaries.

    Effects are those of the body.
  }];
  let arguments = (ins Variadic<AnyType>:$tensors, UI32Attr:$iterations,
                       OptionalAttr<UI32Attr>:$unroll_factor);
  let results = (outs Variadic<AnyType>:$results);
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getIndexArg() {
      return getRegion().getArguments().back();
    }

    /// Whether an op of the body may be where the loop is, which can be a
    /// fragment or a branch.
    bool mayMoveOut(::mlir::Operation *op);
  }];
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def Mpmd_FragmentCallOp
    : Mpmd_Op<"fragment_call",
              [CallOpInterface, HasParent<"::mlir::func::FuncOp">,
               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a function that holds a fragment's program on one mesh";
  let description = [{
    ```mlir
    %1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @p0_f(%0)
        : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
    ```

    Constraints:
    * (C1) The callee is a function.
    * (C2) Operands fit its arguments and results its results, as those of a
      fragment fit its body.
    * (C3) The callee has a `mesh_shape`,
    * (C4) which is the mesh of the call.
    * (C5) `arg_attrs` and `res_attrs` are lists of dictionaries.

    Never removed, merged or inlined.
  }];
  let arguments = (ins Variadic<Mpmd_MeshTensor>:$tensors,
    Mpmd_UserOriginArrayAttr:$origin, StrAttr:$mesh_name,
    FlatSymbolRefAttr:$callee);
  let results = (outs Variadic<Mpmd_MeshTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = Mpmd_CallInterface.declarations;
}

def Mpmd_CallOp
    : Mpmd_Op<"call", [CallOpInterface,
                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls an MPMD function";
  let description = [{
    ```mlir
    %1 = mpmd.call @body(%0) {call_counter = 1 : ui32} : (tensor<4xf32>) -> tensor<4xf32>
    ```

    Constraints:
    * (C1) A `call_counter` is `ui32`.
    * (C2) The parent is a function or a loop.
    * (C3) An MPMD function that calls is public.
    * (C4) Operands and results have the callee's types.
    * (C5) A callee with a topology is private.
    * (C6) `arg_attrs` and `res_attrs` are lists of dictionaries.

    Never removed or merged; inlined by mpmd-call-inline only.
  }];
  let arguments = (ins Variadic<Mpmd_TensorOrMeshTensor>:$tensors,
                       FlatSymbolRefAttr:$callee);
  let results = (outs Variadic<Mpmd_TensorOrMeshTensor>:$results);
  let assemblyFormat = [{
    $callee `(` $tensors `)` attr-dict `:` functional-type($tensors, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = Mpmd_CallInterface.declarations;
}

//===----------------------------------------------------------------------===//
// Placement of values
//===----------------------------------------------------------------------===//

def Mpmd_NamedTensorOp
    : Mpmd_Op<"named_tensor", [Pure, SameOperandsAndResultType]> {
  let summary = "Gives a tensor a name that an assignment maps to a mesh";
  let description = [{
    ```mlir
    %1 = mpmd.named_tensor %0 name="weights" : tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyTensor:$tensor, StrAttr:$name);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $tensor `name` `` `=` `` $name attr-dict `:` type($result)
  }];
}

def Mpmd_AssignOp : Mpmd_Op<"assign", [Pure, Mpmd_InFunctionOrLoop]> {
  let summary = "Assigns a tensor to a mesh";
  let description = [{
    Bridges import: afterwards none is left. `origin` says why.

    ```mlir
    %1 = mpmd.assign {origin = "f"} %0 : (tensor<4xf32>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
    ```

    Constraints: the mesh is in the topology (C1), the mesh tensor is fully
    replicated (C2) and its global type is that of the tensor (C3).
  }];
  let arguments = (ins AnyTensor:$tensor, OptionalAttr<StrAttr>:$origin);
  let results = (outs Mpmd_MeshTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$tensor, "::llvm::StringRef":$meshName,
                   CArg<"::mlir::StringAttr", "{}">:$origin)>,
    OpBuilder<(ins "::mlir::Value":$tensor, "::llvm::StringRef":$meshName,
                   "::llvm::StringRef":$origin)>,
  ];
  let assemblyFormat = "attr-dict $tensor `:` functional-type($tensor, results)";
  let hasVerifier = 1;
}

def Mpmd_UnassignOp
    : Mpmd_Op<"unassign", [Pure, Mpmd_InFunctionOrLoop, InferTypeOpAdaptor]> {
  let summary = "Gives the tensor that a mesh tensor holds";
  let description = [{
    Bridges import: afterwards none is left. `origin` says why.

    ```mlir
    %1 = mpmd.unassign %0 : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> tensor<4xf32>
    ```

    Constraints: as those of `mpmd.assign`.
  }];
  let arguments = (ins Mpmd_MeshTensor:$tensor, OptionalAttr<StrAttr>:$origin);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "attr-dict $tensor `:` functional-type($tensor, results)";
  let hasVerifier = 1;
}

def Mpmd_TransferOp
    : Mpmd_Op<"transfer", [Pure, HasParent<"::mlir::func::FuncOp">,
                           DeclareOpInterfaceMethods<Sdy_ShardingRuleOpInterface,
                             ["shouldKeepOutputShardingsDivisible"]>]> {
  let summary = "Moves a tensor to another mesh, sharding or memory";
  let description = [{
    The values do not change; only the set of ops that may read them does.

    ```mlir
    %1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>)
                          -> !mpmd.mesh_tensor<"m2", tensor<4xf32>>
    ```

    Constraints:
    * (C1) Both meshes are in the topology, and both shardings fit them.
    * (C2) Operand and result have the same global type.
    * (C3) A memory kind in a type is `device` or `pinned_host`.
    * (C4) No attribute puts the operand or the result into host memory.

    Canonicalization drops a transfer between equal types and makes one of two
    that stay on one mesh.
  }];
  let arguments = (ins Mpmd_MeshTensor:$tensor);
  let results = (outs Mpmd_MeshTensor:$result);
  let assemblyFormat = "attr-dict $tensor `:` functional-type($tensor, results)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether mesh name and memory kind stay; no memory kind is a kind.
    bool isIntraMesh();
    bool isInterMesh() { return !isIntraMesh(); }
  }];
}

//===----------------------------------------------------------------------===//
// Values of several meshes
//===----------------------------------------------------------------------===//

def Mpmd_BroadcastOp
    : Mpmd_Op<"broadcast", [Pure, SameOperandsAndResultType]> {
  let summary = "Makes a tensor available on every mesh that uses it";
  let description = [{
    ```mlir
    %1 = mpmd.broadcast %0 : tensor<4xf32>
    ```

    A broadcast of a broadcast is one broadcast.
  }];
  let arguments = (ins AnyTensor:$tensor);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "attr-dict $tensor `:` type($result)";
  let hasCanonicalizeMethod = 1;
}

def Mpmd_ReduceOp : Mpmd_Op<"reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "Combines tensors of several meshes";
  let description = [{
    ```mlir
    %2 = mpmd.reduce<add> %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```

    Constraints: the kind `none` takes exactly one operand (C1).
    A reduction of the only operand, itself a reduction, is that one if the
    kinds agree or the outer one is `none`.
  }];
  let arguments = (ins Variadic<AnyTensor>:$tensors,
    DefaultValuedAttr<Mpmd_Reduction, "ReductionType::None">:$reduction);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    `` $reduction attr-dict $tensors `:` functional-type($tensors, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

#endif
