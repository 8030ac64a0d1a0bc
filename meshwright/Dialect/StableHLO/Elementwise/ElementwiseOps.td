//===- ElementwiseOps.td - Arithmetic on each element ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISE_ELEMENTWISEOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISE_ELEMENTWISEOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Base classes
//===----------------------------------------------------------------------===//

// One operand, one result of the same shape. The text completes a sentence
// that starts with the name of the operation.
class Stablehlo_UnaryOp<string mnemonic, Stablehlo_KindSet operandKinds,
                        Stablehlo_KindSet resultKinds, string text,
                        list<Trait> traits>
    : Stablehlo_Op<mnemonic, traits # [Elementwise, SameOperandsAndResultShape,
                                       Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Computes " # text # " of each element";
  let description = !strconcat("Computes ", text, [{ of each element.

    ```mlir
    %0 = stablehlo.}], mnemonic, [{ %x : tensor<5x6xf32>
    ```

    The type is written once if operand and result share it.
  }]);
  let arguments = (ins Stablehlo_Tensor<operandKinds>:$operand);
  let results = (outs Stablehlo_Tensor<resultKinds>:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<Signature>(type($operand), type($result))
  }];
}

// Operand and result types are compatible.
class Stablehlo_SimpleUnaryOp<string mnemonic, Stablehlo_KindSet kinds,
                              string text>
    : Stablehlo_UnaryOp<mnemonic, kinds, kinds, text,
                        [Stablehlo_CompatibleTypes,
                         Stablehlo_InferredFromOperands]>;

// A function whose result may deviate from the exact one.
class Stablehlo_FunctionOp<string mnemonic, string text>
    : Stablehlo_SimpleUnaryOp<mnemonic, Stablehlo_FCQ, text> {
  let arguments = (ins
    Stablehlo_Tensor<Stablehlo_FCQ>:$operand,
    DefaultValuedOptionalAttr<Stablehlo_ResultAccuracyAttr,
                              "mode DEFAULT">:$result_accuracy
  );
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand), [{
      build($_builder, $_state, operand, /*result_accuracy=*/{});
    }]>
  ];
}

// Two operands, one result of the same shape.
class Stablehlo_BinaryOp<string mnemonic, Stablehlo_KindSet operandKinds,
                         Stablehlo_KindSet resultKinds, string text,
                         list<Trait> traits>
    : Stablehlo_Op<mnemonic, traits # [Elementwise, SameOperandsAndResultShape,
                                       Stablehlo_PureIfStaticOperands]> {
  let summary = "Computes " # text # " of two tensors element by element";
  let description = !strconcat("Computes ", text,
                               [{ of two tensors, element by element.

    ```mlir
    %0 = stablehlo.}], mnemonic, [{ %x, %y : tensor<4x9xi32>
    ```

    The type is written once if operands and result share it.
  }]);
  let arguments = (ins Stablehlo_Tensor<operandKinds>:$lhs,
                       Stablehlo_Tensor<operandKinds>:$rhs);
  let results = (outs Stablehlo_Tensor<resultKinds>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:`
    custom<Signature>(type($lhs), type($rhs), type($result))
  }];
}

class Stablehlo_SimpleBinaryOp<string mnemonic, Stablehlo_KindSet operandKinds,
                               Stablehlo_KindSet resultKinds, string text,
                               list<Trait> traits = []>
    : Stablehlo_BinaryOp<mnemonic, operandKinds, resultKinds, text,
                         [Stablehlo_CompatibleTypes,
                          Stablehlo_InferredFromOperands] # traits>;

//===----------------------------------------------------------------------===//
// Unary operations
//===----------------------------------------------------------------------===//

def Stablehlo_CeilOp
    : Stablehlo_SimpleUnaryOp<"ceil", Stablehlo_FQ,
                              "the smallest integral value not below">;
def Stablehlo_CountLeadingZerosOp
    : Stablehlo_SimpleUnaryOp<"count_leading_zeros", Stablehlo_I,
                              "the number of leading zero bits">;
def Stablehlo_FloorOp
    : Stablehlo_SimpleUnaryOp<"floor", Stablehlo_FQ,
                              "the largest integral value not above">;
def Stablehlo_NegateOp
    : Stablehlo_SimpleUnaryOp<"negate", Stablehlo_IFCQ,
                              "the negation">;
def Stablehlo_NotOp
    : Stablehlo_SimpleUnaryOp<"not", Stablehlo_PI,
                              "the bitwise complement">;
def Stablehlo_PopcntOp
    : Stablehlo_SimpleUnaryOp<"popcnt", Stablehlo_I,
                              "the number of set bits">;
def Stablehlo_RoundNearestAfzOp
    : Stablehlo_SimpleUnaryOp<"round_nearest_afz", Stablehlo_FQ,
                              "the nearest integral value, ties away from zero,">;
def Stablehlo_RoundNearestEvenOp
    : Stablehlo_SimpleUnaryOp<"round_nearest_even", Stablehlo_FQ,
                              "the nearest integral value, ties to even,">;
def Stablehlo_SignOp
    : Stablehlo_SimpleUnaryOp<"sign", Stablehlo_SFCQ,
                              "the sign">;

def Stablehlo_CbrtOp
    : Stablehlo_FunctionOp<"cbrt", "the cubic root">;
def Stablehlo_CosineOp
    : Stablehlo_FunctionOp<"cosine", "the cosine">;
def Stablehlo_ExponentialOp
    : Stablehlo_FunctionOp<"exponential", "the exponential">;
def Stablehlo_ExponentialMinusOneOp
    : Stablehlo_FunctionOp<"exponential_minus_one", "the exponential minus one">;
def Stablehlo_LogOp
    : Stablehlo_FunctionOp<"log", "the natural logarithm">;
def Stablehlo_LogPlusOneOp
    : Stablehlo_FunctionOp<"log_plus_one", "the natural logarithm of one plus the value">;
def Stablehlo_LogisticOp
    : Stablehlo_FunctionOp<"logistic", "the logistic function">;
def Stablehlo_RsqrtOp
    : Stablehlo_FunctionOp<"rsqrt", "the reciprocal square root">;
def Stablehlo_SineOp
    : Stablehlo_FunctionOp<"sine", "the sine">;
def Stablehlo_SqrtOp
    : Stablehlo_FunctionOp<"sqrt", "the square root">;
def Stablehlo_TanOp
    : Stablehlo_FunctionOp<"tan", "the tangent">;
def Stablehlo_TanhOp
    : Stablehlo_FunctionOp<"tanh", "the hyperbolic tangent">;

def Stablehlo_InferredAsPart
    : Stablehlo_InferredAs<[{getPartType(adaptor.getOperand())}]>;

def Stablehlo_AbsOp
    : Stablehlo_UnaryOp<"abs", Stablehlo_SFCQ, Stablehlo_SFQ,
                        "the absolute value", [Stablehlo_InferredAsPart]>;

class Stablehlo_PartOp<string mnemonic, string text>
    : Stablehlo_UnaryOp<mnemonic, Stablehlo_FC, Stablehlo_F, text,
                        [Stablehlo_InferredAsPart]>;
def Stablehlo_ImagOp : Stablehlo_PartOp<"imag", "the imaginary part">;
def Stablehlo_RealOp : Stablehlo_PartOp<"real", "the real part">;

def Stablehlo_IsFiniteOp
    : Stablehlo_Op<"is_finite", [Elementwise, SameOperandsAndResultShape,
                                 Stablehlo_OneInferred,
                                 Stablehlo_PureIfStaticDimsCarry]> {
  let summary = "Tests which elements are neither infinite nor NaN";
  let description = [{
    ```mlir
    %0 = stablehlo.is_finite %x : (tensor<13xf16>) -> tensor<13xi1>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor<Stablehlo_FQ>:$x);
  let results = (outs Stablehlo_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ConvertOp
    : Stablehlo_UnaryOp<"convert", Stablehlo_FPIC, Stablehlo_FPIC,
                        "the value in another element type", []> {
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType), [{
      auto type = ::llvm::cast<::mlir::RankedTensorType>(operand.getType());
      build($_builder, $_state, type.clone(elementType), operand);
    }]>
  ];
}

def Stablehlo_ReducePrecisionOp
    : Stablehlo_UnaryOp<"reduce_precision", Stablehlo_FQ, Stablehlo_FQ,
                        "the value rounded to fewer bits",
                        [Stablehlo_CompatibleTypes,
                         Stablehlo_InferredFromOperands]> {
  let description = [{
    Rounds each element to what a float of the given format can hold; the type
    stays.

    ```mlir
    %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<6xf32>
    ```
  }];
  let arguments = (ins
    Stablehlo_Tensor<Stablehlo_FQ>:$operand,
    ConfinedAttr<I32Attr, [IntPositive]>:$exponent_bits,
    ConfinedAttr<I32Attr, [IntNonNegative]>:$mantissa_bits
  );
  let results = (outs Stablehlo_Tensor<Stablehlo_FQ>:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<FloatFormat>($exponent_bits, $mantissa_bits)
    attr-dict `:` custom<Signature>(type($operand), type($output))
  }];
}

def Stablehlo_UniformQuantizeOp
    : Stablehlo_UnaryOp<"uniform_quantize", Stablehlo_FQA, Stablehlo_QA,
                        "the quantized value", []> {
  let description = [{
    Quantizes floats, or requantizes what is quantized already.

    ```mlir
    %0 = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 2.500000e-01:128>>
    ```

    Constraints:
    * (C1) The result's expressed type is the float type, or the expressed type,
      of the operand.
  }];
  let hasVerifier = 1;
}

def Stablehlo_UniformDequantizeOp
    : Stablehlo_UnaryOp<"uniform_dequantize", Stablehlo_QA, Stablehlo_F,
                        "the float value", [Stablehlo_OneInferred]> {
  let description = [{
    Returns floats of the expressed type.

    ```mlir
    %0 = stablehlo.uniform_dequantize %x : (tensor<6x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<6xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Binary operations
//===----------------------------------------------------------------------===//

def Stablehlo_AddOp
    : Stablehlo_BinaryOp<"add", Stablehlo_FPICQA, Stablehlo_FPICQA, "the sum",
                         [Stablehlo_Commutative, InferTypeOpAdaptorWithIsCompatible]> {
  let description = [{
    Computes the sum of two tensors, element by element; logical or of booleans.

    ```mlir
    %0 = stablehlo.add %x, %y : tensor<4x9xi32>
    ```

    Constraints:
    * (C1) Without quantization, all element types are equal.
    * (C2) Otherwise all are quantized, with the same storage and expressed type.
    * (C3) The result is quantized per axis if and only if an operand is, and
      then along the same dimension.
  }];
  let hasVerifier = 1;
}

def Stablehlo_Atan2Op
    : Stablehlo_SimpleBinaryOp<"atan2", Stablehlo_FCQ, Stablehlo_FCQ,
                               "the angle in the plane">;
def Stablehlo_DivideOp
    : Stablehlo_SimpleBinaryOp<"divide", Stablehlo_IFCQ, Stablehlo_IFCQ,
                               "the quotient">;
def Stablehlo_MaximumOp
    : Stablehlo_SimpleBinaryOp<"maximum", Stablehlo_FPICQ, Stablehlo_FPICQ,
                               "the maximum", [Stablehlo_Commutative]>;
def Stablehlo_MinimumOp
    : Stablehlo_SimpleBinaryOp<"minimum", Stablehlo_FPICQ, Stablehlo_FPICQ,
                               "the minimum", [Stablehlo_Commutative]>;
def Stablehlo_MultiplyOp
    : Stablehlo_SimpleBinaryOp<"multiply", Stablehlo_FPICQ, Stablehlo_FPICQ,
                               "the product", [Stablehlo_Commutative]>;
def Stablehlo_PowerOp
    : Stablehlo_SimpleBinaryOp<"power", Stablehlo_IFCQ, Stablehlo_IFCQ,
                               "the power">;
def Stablehlo_RemainderOp
    : Stablehlo_SimpleBinaryOp<"remainder", Stablehlo_IFCQ, Stablehlo_IFCQ,
                               "the remainder of the division">;
def Stablehlo_ShiftLeftOp
    : Stablehlo_SimpleBinaryOp<"shift_left", Stablehlo_I, Stablehlo_I,
                               "the left shift">;
def Stablehlo_ShiftRightArithmeticOp
    : Stablehlo_SimpleBinaryOp<"shift_right_arithmetic", Stablehlo_I, Stablehlo_I,
                               "the sign-extending right shift">;
def Stablehlo_ShiftRightLogicalOp
    : Stablehlo_SimpleBinaryOp<"shift_right_logical", Stablehlo_I, Stablehlo_I,
                               "the zero-extending right shift">;
def Stablehlo_SubtractOp
    : Stablehlo_SimpleBinaryOp<"subtract", Stablehlo_IFCQ, Stablehlo_IFCQ,
                               "the difference">;
def Stablehlo_AndOp
    : Stablehlo_SimpleBinaryOp<"and", Stablehlo_PI, Stablehlo_FPICQ,
                               "the bitwise and", [Stablehlo_Commutative]>;
def Stablehlo_OrOp
    : Stablehlo_SimpleBinaryOp<"or", Stablehlo_PI, Stablehlo_FPICQ,
                               "the bitwise or", [Stablehlo_Commutative]>;
def Stablehlo_XorOp
    : Stablehlo_SimpleBinaryOp<"xor", Stablehlo_PI, Stablehlo_FPICQ,
                               "the bitwise exclusive or", [Stablehlo_Commutative]>;

def Stablehlo_ComplexOp
    : Stablehlo_Op<"complex", [Elementwise, SameOperandsAndResultShape,
                               SameOperandsElementType, Stablehlo_OneInferred,
                               Stablehlo_PureIfStaticOperands]> {
  let summary = "Combines real and imaginary parts into complex numbers";
  let description = [{
    ```mlir
    %0 = stablehlo.complex %re, %im : tensor<3x7xcomplex<f32>>
    ```
  }];
  let arguments = (ins Stablehlo_F32OrF64Tensor:$lhs,
                       Stablehlo_F32OrF64Tensor:$rhs);
  let results = (outs Stablehlo_Tensor<Stablehlo_C>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:`
    custom<ComplexTypes>(type($lhs), type($rhs), type($result))
  }];
}

//===----------------------------------------------------------------------===//
// Selection and comparison
//===----------------------------------------------------------------------===//

def Stablehlo_SelectOp
    : Stablehlo_Op<"select", [Stablehlo_OneInferred,
                              Stablehlo_PureIfStaticOperands]> {
  let summary = "Selects each element from one of two tensors";
  let description = [{
    Where the predicate holds the element comes from `on_true`, elsewhere from
    `on_false`. A predicate of rank 0 decides for all elements.

    ```mlir
    %0 = stablehlo.select %p, %t, %f : tensor<5xi1>, tensor<5xf32>
    ```

    Constraints:
    * (C1) `on_true` and `on_false` have compatible types.
    * (C2) The predicate has rank 0 or the shape of `on_true`.
  }];
  let arguments = (ins Stablehlo_PredTensor:$pred,
                       Stablehlo_FPICQTensor:$on_true,
                       Stablehlo_FPICQTensor:$on_false);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
    custom<SelectTypes>(type($pred), type($on_true), type($on_false),
                        type($result))
  }];
}

def Stablehlo_ClampOp
    : Stablehlo_Op<"clamp", [Stablehlo_CompatibleElementTypes,
                             Stablehlo_OneInferred,
                             Stablehlo_PureIfStaticOperands]> {
  let summary = "Clamps each element between two limits";
  let description = [{
    ```mlir
    %0 = stablehlo.clamp %min, %x, %max : tensor<7xf32>
    ```

    Constraints:
    * (C1) Each limit has rank 0 or the shape of the operand.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$min,
                       Stablehlo_FPICQTensor:$operand,
                       Stablehlo_FPICQTensor:$max);
  let results = (outs Stablehlo_FPICQTensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<Signature>(type($min), type($operand), type($max), type($result))
  }];
}

def Stablehlo_CompareOp
    : Stablehlo_Op<"compare", [Elementwise, SameOperandsAndResultShape,
                               Stablehlo_OneInferred,
                               Stablehlo_PureIfStaticOperands]> {
  let summary = "Compares two tensors element by element";
  let description = [{
    The type of the comparison says how to read the elements; it is not checked
    against their type.

    ```mlir
    %0 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    ```

    Constraints:
    * (C1) The element types of the operands are compatible.
  }];
  let arguments = (ins
    Stablehlo_FPICQTensor:$lhs,
    Stablehlo_FPICQTensor:$rhs,
    Stablehlo_ComparisonDirectionAttr:$comparison_direction,
    OptionalAttr<Stablehlo_ComparisonTypeAttr>:$compare_type
  );
  let results = (outs Stablehlo_PredTensor);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::mlir::stablehlo::ComparisonDirection":$direction), [{
      build($_builder, $_state, lhs, rhs, direction,
            /*compare_type=*/::mlir::stablehlo::ComparisonTypeAttr());
    }]>
  ];
  let assemblyFormat = [{
    custom<EnumKeyword>($comparison_direction) `,` $lhs `,` $rhs
    (`,` custom<EnumKeyword>($compare_type)^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif
