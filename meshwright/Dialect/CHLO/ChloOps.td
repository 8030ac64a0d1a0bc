//===- ChloOps.td - All operations -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_OPS_TD
#define MESHWRIGHT_DIALECT_CHLO_OPS_TD

include "meshwright/Dialect/CHLO/ChloAttrs.td"
include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

class Chlo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Chlo_Dialect, mnemonic, traits>;

class Chlo_Tensor<Stablehlo_KindSet kinds> : Stablehlo_AnyRankTensor<kinds>;
def Chlo_AnyTensor : Chlo_Tensor<Stablehlo_FPICQA>;

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

// The text completes a sentence that starts with "Computes".
class Chlo_UnaryBase<string mnemonic, string text, Stablehlo_KindSet operandKinds,
                     Stablehlo_KindSet resultKinds, list<Trait> traits>
    : Chlo_Op<mnemonic, [Pure, Elementwise, SameOperandsAndResultShape]
                            # traits> {
  let summary = "Computes " # text # " of each element";
  let description = !strconcat([{
    ```mlir
    %0 = chlo.}], mnemonic, [{ %x : tensor<4xf32> -> ...
    ```
  }]);
  let arguments = (ins Chlo_Tensor<operandKinds>:$operand);
  let results = (outs Chlo_Tensor<resultKinds>:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` type($operand) `->` type($result)
  }];
}
class Chlo_UnaryOp<string mnemonic, string text, Stablehlo_KindSet kinds>
    : Chlo_UnaryBase<mnemonic, text, kinds, kinds,
                     [Stablehlo_CompatibleTypes,
                      Stablehlo_InferredFromOperands]>;
class Chlo_UnaryPredicateOp<string mnemonic, string text>
    : Chlo_UnaryBase<mnemonic, text, Stablehlo_F, Stablehlo_P,
                     [Stablehlo_InferredAs<[{withElementType(
                         adaptor.getOperand().getType(),
                         IntegerType::get(adaptor.getOperand().getContext(),
                                          1))}]>]>;

def Chlo_AcosOp
    : Chlo_UnaryOp<"acos", "the arc cosine",
                   Stablehlo_FC>;
def Chlo_AcoshOp
    : Chlo_UnaryOp<"acosh", "the area hyperbolic cosine",
                   Stablehlo_FC>;
def Chlo_AsinOp
    : Chlo_UnaryOp<"asin", "the arc sine",
                   Stablehlo_FC>;
def Chlo_AsinhOp
    : Chlo_UnaryOp<"asinh", "the area hyperbolic sine",
                   Stablehlo_FC>;
def Chlo_AtanOp
    : Chlo_UnaryOp<"atan", "the arc tangent",
                   Stablehlo_FC>;
def Chlo_AtanhOp
    : Chlo_UnaryOp<"atanh", "the area hyperbolic tangent",
                   Stablehlo_FC>;
def Chlo_BesselI1eOp
    : Chlo_UnaryOp<"bessel_i1e", "the scaled modified Bessel function I1",
                   Stablehlo_FC>;
def Chlo_ConjOp
    : Chlo_UnaryOp<"conj", "the complex conjugate",
                   Stablehlo_FC>;
def Chlo_CoshOp
    : Chlo_UnaryOp<"cosh", "the hyperbolic cosine",
                   Stablehlo_FC>;
def Chlo_SinhOp
    : Chlo_UnaryOp<"sinh", "the hyperbolic sine",
                   Stablehlo_FC>;
def Chlo_TanOp
    : Chlo_UnaryOp<"tan", "the tangent",
                   Stablehlo_FC>;
def Chlo_SquareOp
    : Chlo_UnaryOp<"square", "the square",
                   Stablehlo_FC>;
def Chlo_DigammaOp
    : Chlo_UnaryOp<"digamma", "the digamma function",
                   Stablehlo_F>;
def Chlo_ErfOp
    : Chlo_UnaryOp<"erf", "the error function",
                   Stablehlo_F>;
def Chlo_ErfInvOp
    : Chlo_UnaryOp<"erf_inv", "the inverse error function",
                   Stablehlo_F>;
def Chlo_ErfcOp
    : Chlo_UnaryOp<"erfc", "the complementary error function",
                   Stablehlo_F>;
def Chlo_LgammaOp
    : Chlo_UnaryOp<"lgamma", "the logarithm of the gamma function",
                   Stablehlo_F>;
def Chlo_AsinAcosKernelOp
    : Chlo_UnaryOp<"_asin_acos_kernel", "the part that arc sine and arc cosine share",
                   Stablehlo_C>;

def Chlo_IsInfOp : Chlo_UnaryPredicateOp<"is_inf", "the infiniteness">;
def Chlo_IsNegInfOp
    : Chlo_UnaryPredicateOp<"is_neg_inf", "the negative infiniteness">;
def Chlo_IsPosInfOp
    : Chlo_UnaryPredicateOp<"is_pos_inf", "the positive infiniteness">;

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

class Chlo_BinaryOp<string mnemonic, string text, list<Trait> traits = []>
    : Chlo_Op<mnemonic, [Pure, Stablehlo_CompatibleTypes,
                         Stablehlo_InferredFromOperands] # traits> {
  let summary = "Computes " # text # " of each pair of elements";
  let description = !strconcat([{
    ```mlir
    %0 = chlo.}], mnemonic, [{ %x, %y : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
    ```
  }]);
}

def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after", "the next number towards y"> {
  let arguments = (ins Chlo_Tensor<Stablehlo_F>:$x, Chlo_Tensor<Stablehlo_F>:$y);
  let results = (outs Chlo_Tensor<Stablehlo_F>:$result);
  let assemblyFormat = [{
    $x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)
  }];
}

def Chlo_PolygammaOp
    : Chlo_BinaryOp<"polygamma", "the polygamma function of order n"> {
  let arguments = (ins Chlo_Tensor<Stablehlo_F>:$n, Chlo_Tensor<Stablehlo_F>:$x);
  let results = (outs Chlo_Tensor<Stablehlo_F>:$result);
  let assemblyFormat = [{
    $n `,` $x attr-dict `:` type($n) `,` type($x) `->` type($result)
  }];
}

def Chlo_ZetaOp : Chlo_BinaryOp<"zeta", "the Hurwitz zeta function"> {
  let arguments = (ins Chlo_Tensor<Stablehlo_F>:$x, Chlo_Tensor<Stablehlo_F>:$q);
  let results = (outs Chlo_Tensor<Stablehlo_F>:$result);
  let assemblyFormat = [{
    $x `,` $q attr-dict `:` type($x) `,` type($q) `->` type($result)
  }];
}

def Chlo_MulhiOp
    : Chlo_BinaryOp<"mulhi", "the upper half of the product", [Commutative]> {
  let arguments = (ins Stablehlo_IntTensor:$lhs, Stablehlo_IntTensor:$rhs);
  let results = (outs Stablehlo_IntTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Broadcasting arithmetic
//===----------------------------------------------------------------------===//

def Chlo_Broadcasting : NativeOpTrait<"Broadcasting"> {
  let cppNamespace = "::mlir::chlo";
}

class Chlo_BroadcastBase<
    string mnemonic, Stablehlo_KindSet operandKinds,
    Stablehlo_KindSet resultKinds, list<Trait> traits,
    code elementType = [{getElementTypeOrSelf(adaptor.getLhs())}]>
    : Chlo_Op<mnemonic, [Pure, Stablehlo_InferredAs<
                             [{inferBinary(location, adaptor, }]
                                 # elementType # ")">,
                         Chlo_Broadcasting] # traits> {
  let summary = "Combines the elements of operands of different shapes";
  let description = !strconcat([{
    Sizes of 1 and missing leading dimensions are repeated. The dimensions of
    the operand of lower rank may be placed explicitly.

    ```mlir
    %0 = chlo.}], mnemonic, [{ %x, %y {broadcast_dimensions = array<i64: 1>} : (tensor<6xf32>, tensor<3x6xf32>) -> ...
    ```

    Constraints:
    * (C1) Explicit dimensions, one per dimension of the operand of lower rank,
      are increasing and in range of the other.
    * (C2) Sizes that meet are equal, or one of them is 1.
    * (C3) The element types of the operands are compatible.
  }]);
  let arguments = (ins Chlo_Tensor<operandKinds>:$lhs, Chlo_Tensor<operandKinds>:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs Chlo_Tensor<resultKinds>);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
}

class Chlo_BroadcastOp<string mnemonic, list<Trait> traits,
                       Stablehlo_KindSet kinds = Stablehlo_FPICQA>
    : Chlo_BroadcastBase<mnemonic, kinds, kinds, traits>;
class Chlo_BroadcastLogicOp<string mnemonic>
    : Chlo_BroadcastBase<mnemonic, Stablehlo_PI, Stablehlo_FPICQA,
                         [Commutative]>;

def Chlo_BroadcastAddOp
    : Chlo_BroadcastOp<"broadcast_add", [Commutative, Stablehlo_CompatibleElementTypes]>;
def Chlo_BroadcastAtan2Op
    : Chlo_BroadcastOp<"broadcast_atan2", [SameOperandsElementType]>;
def Chlo_BroadcastDivideOp
    : Chlo_BroadcastOp<"broadcast_divide", [SameOperandsElementType]>;
def Chlo_BroadcastMaximumOp
    : Chlo_BroadcastOp<"broadcast_maximum", [Commutative, Stablehlo_CompatibleElementTypes]>;
def Chlo_BroadcastMinimumOp
    : Chlo_BroadcastOp<"broadcast_minimum", [Commutative, Stablehlo_CompatibleElementTypes]>;
def Chlo_BroadcastMultiplyOp
    : Chlo_BroadcastOp<"broadcast_multiply", [Commutative, SameOperandsElementType]>;
def Chlo_BroadcastNextAfterOp
    : Chlo_BroadcastOp<"broadcast_next_after", [SameOperandsElementType]>;
def Chlo_BroadcastPolygammaOp
    : Chlo_BroadcastOp<"broadcast_polygamma", [SameOperandsElementType]>;
def Chlo_BroadcastPowerOp
    : Chlo_BroadcastOp<"broadcast_power", [SameOperandsElementType]>;
def Chlo_BroadcastRemainderOp
    : Chlo_BroadcastOp<"broadcast_remainder", [SameOperandsElementType]>;
def Chlo_BroadcastShiftLeftOp
    : Chlo_BroadcastOp<"broadcast_shift_left", [SameOperandsElementType]>;
def Chlo_BroadcastShiftRightArithmeticOp
    : Chlo_BroadcastOp<"broadcast_shift_right_arithmetic", [SameOperandsElementType]>;
def Chlo_BroadcastShiftRightLogicalOp
    : Chlo_BroadcastOp<"broadcast_shift_right_logical", [SameOperandsElementType]>;
def Chlo_BroadcastSubtractOp
    : Chlo_BroadcastOp<"broadcast_subtract", [SameOperandsElementType]>;
def Chlo_BroadcastZetaOp
    : Chlo_BroadcastOp<"broadcast_zeta", [SameOperandsElementType],
                       Stablehlo_F>;
def Chlo_BroadcastAndOp : Chlo_BroadcastLogicOp<"broadcast_and">;
def Chlo_BroadcastOrOp : Chlo_BroadcastLogicOp<"broadcast_or">;
def Chlo_BroadcastXorOp : Chlo_BroadcastLogicOp<"broadcast_xor">;
def Chlo_BroadcastComplexOp
    : Chlo_BroadcastBase<
          "broadcast_complex", Stablehlo_F, Stablehlo_C, [],
          [{ComplexType::get(getElementTypeOrSelf(adaptor.getLhs()))}]>;

def Chlo_BroadcastCompareOp
    : Chlo_BroadcastBase<
          "broadcast_compare", Stablehlo_FPICQA, Stablehlo_P, [],
          [{IntegerType::get(adaptor.getLhs().getContext(), 1)}]> {
  let arguments = (ins Chlo_AnyTensor:$lhs, Chlo_AnyTensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
                       Chlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Chlo_ComparisonTypeAttr>:$compare_type);
}

def Chlo_BroadcastSelectOp
    : Chlo_Op<"broadcast_select", [Pure, Stablehlo_OneInferred, Chlo_Broadcasting]> {
  let summary = "Chooses between the elements of operands of different shapes";
  let description = [{
    ```mlir
    %0 = chlo.broadcast_select %p, %a, %b : (tensor<i1>, tensor<6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    ```

    Constraints:
    * (C1) The values have one element type.
    * (C2) Sizes that meet are equal, or one of them is 1.
  }];
  let arguments = (ins Stablehlo_PredTensor:$pred, Chlo_AnyTensor:$on_true,
                       Chlo_AnyTensor:$on_false);
  let results = (outs Chlo_AnyTensor);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
      functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def Chlo_ConstantOp
    : Chlo_Op<"constant", [ConstantLike, Pure, Stablehlo_InferredAs<
                             [{adaptor.getValue().getType()}]>]> {
  let summary = "A constant tensor";
  let description = [{
    Folds to its value.

    ```mlir
    %0 = chlo.constant dense<3.0> : tensor<4xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Stablehlo_StaticTensor<Stablehlo_FPICQ>:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Chlo_ConstantLikeOp
    : Chlo_Op<"constant_like", [Pure, SameOperandsAndResultShape,
                                Stablehlo_OneInferred]> {
  let summary = "A constant of the shape of another tensor";
  let description = [{
    Folds to a splat where the shape is static.

    ```mlir
    %0 = "chlo.constant_like"(%x) <{value = 1.5 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
    ```

    Constraints:
    * (C1) The result has the type of the value as element type.
  }];
  let arguments = (ins Chlo_AnyTensor:$operand, TypedAttrInterface:$value);
  let results = (outs Chlo_AnyTensor);
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Contractions, selection, scans
//===----------------------------------------------------------------------===//

def Chlo_PrecisionConfigAttr
    : ConfinedAttr<TypedArrayAttrBase<Chlo_PrecisionAttr,
                                      "Precision Config attribute">,
                   [ArrayMaxCount<2>]>;

def Chlo_RaggedDotOp : Chlo_Op<"ragged_dot", [Pure]> {
  let summary = "Dot product of groups of different sizes";
  let description = [{
    One dimension of the left operand is divided into groups.

    ```mlir
    %0 = "chlo.ragged_dot"(%a, %b, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<12x7xf32>
    ```

    Constraints:
    * (C1) Dimensions pair up, are in range, and occur once per operand.
    * (C2) There is one ragged dimension. If it is neither batched nor
      contracted there is one group dimension, of the size of the groups;
      otherwise there is none.
    * (C3) `group_sizes` has one entry per group, or also the dimensions of the
      left operand that come before the ragged one.
    * (C4) The result has the batching and the free dimensions, after that of
      the groups if the ragged dimension is contracted.
  }];
  let arguments = (ins Chlo_AnyTensor:$lhs, Chlo_AnyTensor:$rhs,
                       Stablehlo_IntTensor:$group_sizes,
                       Chlo_RaggedDotDimensionNumbersAttr
                           :$ragged_dot_dimension_numbers,
                       OptionalAttr<Chlo_PrecisionConfigAttr>
                           :$precision_config);
  let results = (outs Chlo_AnyTensor:$result);
  let hasVerifier = 1;
}

def Chlo_TopKOp : Chlo_Op<"top_k", [Pure, Stablehlo_Inferred]> {
  let summary = "The largest elements of the last dimension, and where they are";
  let description = [{
    ```mlir
    %values, %indices = chlo.top_k(%x, k = 5) : tensor<4x30xf32> -> (tensor<4x5xf32>, tensor<4x5xi32>)
    ```

    Constraints:
    * (C1) The rank is at least 1.
    * (C2) The last dimension has at least `k` elements, and `k` is not negative.
  }];
  let arguments = (ins Chlo_AnyTensor:$operand, I64Attr:$k,
                       DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs Chlo_AnyTensor:$values, Chlo_AnyTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict
      `:` type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
  let useCustomPropertiesEncoding = 1;
  let extraClassDefinition = BytecodeForm<[{
    .since(::mlir::stablehlo::BytecodeForm::Jax0_11_0, p.is_stable)
    .required(p.k)
  }]>.definition;
}

def Chlo_ScanOp
    : Chlo_Op<"scan", [
          AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
          RecursiveMemoryEffects, Stablehlo_Inferred,
          DeclareOpInterfaceMethods<OpAsmOpInterface,
                                    ["getAsmBlockArgumentNames"]>]> {
  let summary = "Carries values along one dimension";
  let description = [{
    The body takes one slice of every input, then the carried values, and
    returns one slice of every output, then the values to carry on.

    ```mlir
    %0:2 = chlo.scan(%x) inits (%c) dimension=0  {
    ^bb0(%input: tensor<4xf32>, %carry: tensor<4xf32>):
      %1 = stablehlo.add %input, %carry : tensor<4xf32>
      stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
    } : (tensor<6x4xf32>, tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>)
    ```

    Constraints:
    * (C1) There is an input or an output.
    * (C2) The dimension is in range of every input; their sizes there are
      equal, and equal to `scan_dim_size` if that is given.
    * (C3) The body takes the inputs without that dimension, then the carried
      values.
    * (C4) Outputs have the returned types with that dimension; carries have the
      types of the initial values.
  }];
  let arguments = (ins Variadic<Chlo_AnyTensor>:$inputs,
                       Variadic<Chlo_AnyTensor>:$inits,
                       Stablehlo_DimensionAttr:$dimension,
                       OptionalAttr<Stablehlo_DimensionAttr>:$scan_dim_size,
                       Stablehlo_OptionalFalse:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let results = (outs Variadic<Chlo_AnyTensor>:$outputs,
                      Variadic<Chlo_AnyTensor>:$carries);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif
