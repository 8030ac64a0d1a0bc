//===- MiscOps.td - Constants, tokens, calls, tuples -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_MISC_MISCOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_MISC_MISCOPS_TD

include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.td"
include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Constants and generated values
//===----------------------------------------------------------------------===//

def Stablehlo_ConstantOp
    : Stablehlo_Op<"constant", [
        ConstantLike, Pure, InferTypeOpAdaptorWithIsCompatible,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A tensor known at compile time";
  let description = [{
    ```mlir
    %c = stablehlo.constant dense<7> : tensor<3x2xui16>
    %cst = stablehlo.constant {tag = "k"} dense<[1.5, 2.5]> : tensor<2xf32>
    ```

    A quantized constant holds integers of the storage type and prints

    ```mlir
    %cst = stablehlo.constant() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>
    ```

    Folds to its value.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Stablehlo_StaticTensor<Stablehlo_FPICQA>:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def Stablehlo_IotaOp : Stablehlo_Op<"iota", [Pure]> {
  let summary = "Fills a tensor with indices along one dimension";
  let description = [{
    ```mlir
    %0 = stablehlo.iota dim = 1 : tensor<3x8xi32>
    ```

    Constraints:
    * (C1) The dimension is one of the result.
  }];
  let arguments = (ins Stablehlo_DimensionAttr:$iota_dimension);
  let results = (outs Stablehlo_StaticTensor<Stablehlo_IFCQ>:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def Stablehlo_DynamicIotaOp
    : Stablehlo_Op<"dynamic_iota", [NoMemoryEffect,
                                    Stablehlo_OwnSpeculatability]> {
  let summary = "Fills a tensor of computed shape with indices along one dimension";
  let description = [{
    ```mlir
    %0 = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
    ```

    Constraints:
    * (C1) The dimension is one of the result.
    * (C2) The result has the computed shape.
  }];
  let arguments = (ins Stablehlo_ShapeTensor:$output_shape,
                       Stablehlo_DimensionAttr:$iota_dimension);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_RngOp
    : Stablehlo_Op<"rng", [Stablehlo_OneInferred]> {
  let summary = "Draws random numbers from a distribution";
  let description = [{
    `a` and `b` are the limits of the uniform and mean and deviation of the
    normal distribution.

    ```mlir
    %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
    ```

    Constraints:
    * (C1) `a` and `b` have the same element type.
    * (C2) The normal distribution has floats.
    * (C3) The result has the given shape.
  }];
  let arguments = (ins
    Stablehlo_TensorOfRank<0, Stablehlo_PIF>:$a,
    Stablehlo_TensorOfRank<0, Stablehlo_PIF>:$b,
    Stablehlo_ShapeTensor:$shape,
    Stablehlo_RngDistributionAttr:$rng_distribution
  );
  let results = (outs Stablehlo_Tensor<Stablehlo_PIF>:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=`
    custom<EnumKeyword>($rng_distribution) attr-dict `:`
    functional-type(operands, results)
  }];
}

def Stablehlo_RngBitGeneratorOp
    : Stablehlo_Op<"rng_bit_generator", [Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Draws random bits and advances a state";
  let description = [{
    ```mlir
    %output_state, %output = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<4xui32>) -> (tensor<4xui32>, tensor<6x3xui32>)
    ```

    Constraints:
    * (C1) The states before and after have the same shape.
  }];
  let arguments = (ins Stablehlo_Tensor<Stablehlo_FI>:$initial_state,
                       Stablehlo_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs Stablehlo_Tensor<Stablehlo_FI>:$output_state,
                      Stablehlo_StaticTensor<Stablehlo_FI>:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` custom<EnumKeyword>($rng_algorithm)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

class Stablehlo_IdOp<string mnemonic, string text>
    : Stablehlo_Op<mnemonic, [Pure, Stablehlo_InferenceBase<[{}], [{
        ::llvm::LogicalResult $cppClass::inferReturnTypes(
            ::mlir::MLIRContext *context, ::std::optional<::mlir::Location>,
            Adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &inferred) {
          inferred.push_back(::mlir::RankedTensorType::get(
              {}, ::mlir::IntegerType::get(context, 32,
                                           ::mlir::IntegerType::Unsigned)));
          return ::mlir::success();
        }
      }]>]> {
  let summary = "Number of the running " # text;
  let description = !strconcat([{
    ```mlir
    %0 = stablehlo.}], mnemonic, [{ : tensor<ui32>
    ```
  }]);
  let results = (outs Stablehlo_UI32Tensor);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def Stablehlo_ReplicaIdOp : Stablehlo_IdOp<"replica_id", "replica">;
def Stablehlo_PartitionIdOp : Stablehlo_IdOp<"partition_id", "partition">;

//===----------------------------------------------------------------------===//
// Tokens and transfers to the host or another device
//===----------------------------------------------------------------------===//

def Stablehlo_CreateTokenOp : Stablehlo_Op<"create_token", [Pure]> {
  let summary = "Creates a token that depends on nothing";
  let description = [{
    ```mlir
    %0 = stablehlo.create_token : !stablehlo.token
    ```
  }];
  let results = (outs Stablehlo_Token:$output);
  let assemblyFormat = "attr-dict `:` type($output)";
}

def Stablehlo_AfterAllOp : Stablehlo_Op<"after_all", [Pure]> {
  let summary = "Creates a token that depends on all others";
  let description = [{
    ```mlir
    %0 = stablehlo.after_all %t0, %t1 : !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Token>:$inputs);
  let results = (outs Stablehlo_Token:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:`
    custom<VariadicSignature>(ref($inputs), type($inputs), type($result))
  }];
}

class Stablehlo_ChannelResource<string name>
    : Resource<"::mlir::stablehlo::" # name>;
class Stablehlo_TransferEffects<string name>
    : MemoryEffects<[MemRead<Stablehlo_ChannelResource<name>>,
                     MemWrite<Stablehlo_ChannelResource<name>>]>;

def Stablehlo_InfeedOp
    : Stablehlo_Op<"infeed", [Stablehlo_TransferEffects<"InfeedResource">]> {
  let summary = "Receives tensors from the host";
  let description = [{
    ```mlir
    %0:2 = "stablehlo.infeed"(%token) <{infeed_config = "cfg", layout = [[1, 0]]}> : (!stablehlo.token) -> (tensor<4x2xf32>, !stablehlo.token)
    ```

    Constraints:
    * (C1) The last result is a token, the others are tensors.
    * (C2) The layout, if any, has an array of integers per tensor.
  }];
  let arguments = (ins
    Stablehlo_Token:$token,
    DefaultValuedStrAttr<StrAttr, "">:$infeed_config,
    OptionalAttr<ArrayAttr>:$layout
  );
  let results = (outs Variadic<Stablehlo_StaticTensorOrToken>);
  let hasVerifier = 1;
}

def Stablehlo_OutfeedOp
    : Stablehlo_Op<"outfeed", [Stablehlo_TransferEffects<"OutfeedResource">]> {
  let summary = "Sends tensors to the host";
  let description = [{
    ```mlir
    %0 = "stablehlo.outfeed"(%x, %token) <{outfeed_config = "cfg"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    ```
  }];
  let arguments = (ins
    Variadic<Stablehlo_FPICQATensor>:$inputs,
    Stablehlo_Token:$token,
    DefaultValuedStrAttr<StrAttr, "">:$outfeed_config
  );
  let results = (outs Stablehlo_Token);
}

def Stablehlo_SendOp
    : Stablehlo_Op<"send", [Stablehlo_TransferEffects<"SendResource">]> {
  let summary = "Sends tensors over a channel";
  let description = [{
    ```mlir
    %0 = "stablehlo.send"(%x, %token) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    ```

    Constraints:
    * (C1) The channel type is 2 for a transfer to the host, otherwise 1.
  }];
  let arguments = (ins
    Variadic<Stablehlo_FPICQATensor>:$inputs,
    Stablehlo_Token:$token,
    Stablehlo_ChannelHandleAttr:$channel_handle,
    Stablehlo_OptionalFalse:$is_host_transfer,
    OptionalAttr<I64ElementsAttr>:$source_target_pairs
  );
  let results = (outs Stablehlo_Token);
  let hasVerifier = 1;
}

def Stablehlo_RecvOp
    : Stablehlo_Op<"recv", [Stablehlo_TransferEffects<"RecvResource">]> {
  let summary = "Receives tensors over a channel";
  let description = [{
    ```mlir
    %0:2 = "stablehlo.recv"(%token) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    ```

    Constraints:
    * (C1) The channel type is 3 for a transfer from the host, otherwise 1.
    * (C2) The last result is a token, the others are tensors.
  }];
  let arguments = (ins
    Stablehlo_Token:$token,
    Stablehlo_ChannelHandleAttr:$channel_handle,
    Stablehlo_OptionalFalse:$is_host_transfer,
    OptionalAttr<I64ElementsAttr>:$source_target_pairs
  );
  let results = (outs Variadic<Stablehlo_StaticTensorOrToken>);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def Stablehlo_CustomCallOp
    : Stablehlo_Op<"custom_call",
                   [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Calls a function that the runtime provides";
  let description = [{
    ```mlir
    %0 = stablehlo.custom_call @my_kernel(%x) {api_version = 4 : i32, backend_config = {n = 3 : i32}} : (tensor<4x4xf32>) -> tensor<4xi32>
    ```

    The name is a string, not a reference to a symbol. Has effects only with
    `has_side_effect`, and is never executed early.

    Constraints:
    * (C1) Either both or none of operand and result layouts are given.
    * (C2) There is a layout per operand and result, or per element of a single
      tuple result: a permutation of the dimensions, empty for non-tensors.
    * (C3) Aliases name an operand and a result, or parts of them, of one type.
    * (C4) The backend configuration is a dictionary with API version 4 and a
      string otherwise.
    * (C5) `CreateBuffer` makes a buffer out of nothing, `Pin` one of a tensor,
      `Unpin` a tensor of a buffer; other buffers that are returned alias
      exactly one operand.
    * (C6) A dialect that gives the target a meaning verifies it
      (`CustomCallVerifier`).
  }];
  let arguments = (ins
    Variadic<Stablehlo_CustomCallValue>:$inputs,
    SymbolNameAttr:$call_target_name,
    Stablehlo_OptionalFalse:$has_side_effect,
    OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
    DefaultValuedOptionalAttr<
        Stablehlo_CustomCallApiVersion,
        "::mlir::stablehlo::CustomCallApiVersion::API_VERSION_ORIGINAL"
    >:$api_version,
    DefaultValuedOptionalAttr<Stablehlo_SymbolArrayAttr, "{}">:$called_computations,
    OptionalAttr<Stablehlo_LayoutArrayAttr>:$operand_layouts,
    OptionalAttr<Stablehlo_LayoutArrayAttr>:$result_layouts,
    DefaultValuedOptionalAttr<Stablehlo_OutputOperandAliasArrayAttr,
                              "{}">:$output_operand_aliases,
    OptionalAttr<Stablehlo_TilingArrayAttr>:$result_tilings
  );
  let results = (outs Variadic<Stablehlo_CustomCallValue>);
  let assemblyFormat = [{
    $call_target_name `(` $inputs `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let useCustomPropertiesEncoding = 1;
  let extraClassDefinition = BytecodeForm<[{
    .optional(p.api_version)
    .optional(p.backend_config)
    .required(p.call_target_name)
    .optional(p.called_computations)
    .optional(p.has_side_effect)
    .optional(p.operand_layouts)
    .optional(p.output_operand_aliases)
    .optional(p.result_layouts)
    .since(BytecodeForm::Jax0_11_0, p.result_tilings)
  }]>.definition;
}

def Stablehlo_CompositeOp
    : Stablehlo_Op<"composite",
                   [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A named operation with a decomposition";
  let description = [{
    Represents a call of the function `decomposition`, which a backend may
    replace by something better under that name.

    ```mlir
    %0 = stablehlo.composite "acme.norm" %x {composite_attributes = {eps = 1.562500e-02 : f32}, decomposition = @norm_impl, version = 2 : i32} : (tensor<6xf32>) -> tensor<6xf32>
    ```

    Constraints:
    * (C1) The name consists of identifiers with dots between them.
    * (C2) The decomposition is a function with these operand and result types.
  }];
  let arguments = (ins
    Variadic<Stablehlo_TensorOrTokenOrTuple>:$inputs,
    StrAttr:$name,
    DefaultValuedOptionalAttr<
        DictionaryAttr, "::llvm::ArrayRef<::mlir::NamedAttribute>()"
    >:$composite_attributes,
    FlatSymbolRefAttr:$decomposition,
    DefaultValuedOptionalAttr<I32Attr, "0">:$version
  );
  let results = (outs Variadic<Stablehlo_TensorOrTokenOrTuple>);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let assemblyFormat = [{
    $name $inputs (` ` `(` $composite_regions^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers and tuples
//===----------------------------------------------------------------------===//

def Stablehlo_OptimizationBarrierOp
    : Stablehlo_Op<"optimization_barrier", [Pure, InferTypeOpAdaptor]> {
  let summary = "Keeps optimizations from moving operations across it";
  let description = [{
    Returns its operands. Nothing that uses a result may run before all operands
    are there.

    ```mlir
    %0:2 = stablehlo.optimization_barrier %x, %token : tensor<3xf32>, !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorOrToken>:$operand);
  let results = (outs Variadic<Stablehlo_TensorOrToken>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result)))
              : (`(` `)`)?
  }];
}

def Stablehlo_TupleOp : Stablehlo_Op<"tuple", [Pure, Stablehlo_InferenceBase<>]> {
  let summary = "Packs values into a tuple";
  let description = [{
    ```mlir
    %0 = stablehlo.tuple %x, %token : tuple<tensor<2xf32>, !stablehlo.token>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorOrTokenOrTupleOrMemRef>:$val);
  let results = (outs Stablehlo_Tuple:$result);
  let assemblyFormat = [{
    $val attr-dict `:` custom<TupleTypes>(type($val), type($result))
  }];
}

def Stablehlo_GetTupleElementOp
    : Stablehlo_Op<"get_tuple_element", [Pure, Stablehlo_OneInferred]> {
  let summary = "Takes a value out of a tuple";
  let description = [{
    ```mlir
    %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<3xi8>>) -> tensor<3xi8>
    ```

    Constraints:
    * (C1) The tuple has an element with this index.
  }];
  let arguments = (ins Stablehlo_Tuple:$operand,
                       ConfinedAttr<I32Attr, [IntNonNegative]>:$index);
  let results = (outs Stablehlo_TensorOrTokenOrTupleOrMemRef);
  let assemblyFormat = [{
    $operand `[` $index `]` attr-dict `:` functional-type(operands, results)
  }];
}

#endif
