//===- RegionOps.td - Control flow and reductions ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_REGION_REGIONOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_REGION_REGIONOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"
include "mlir/IR/OpAsmInterface.td"

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

// Every region is one block that ends in `stablehlo.return`.
def Stablehlo_EndsInReturn : SingleBlockImplicitTerminator<"ReturnOp">;

// Effects are those of the bodies; so is speculatability.
def Stablehlo_EffectsOfBody
    : TraitList<[RecursiveMemoryEffects, RecursivelySpeculatable]>;

// Effects are those of the bodies. Speculatable like them where all operands
// are statically shaped.
def Stablehlo_EffectsOfBodyIfStaticOperands
    : TraitList<[RecursiveMemoryEffects, ConditionallySpeculatable,
                 Stablehlo_NativeTrait<"SpeculatableLikeBodyIfStaticOperands">]>;

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Stablehlo_IfOp
    : Stablehlo_Op<"if", [Stablehlo_EffectsOfBody, Stablehlo_EndsInReturn,
                          Stablehlo_Inferred]> {
  let summary = "Runs one of two branches";
  let description = [{
    ```mlir
    %0 = "stablehlo.if"(%pred) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    ```

    Constraints:
    * (C1) The predicate is a scalar.
    * (C2) The branches have no arguments.
    * (C3) The branches return compatible types, which the results fit.
  }];
  let arguments = (ins Stablehlo_PredTensor:$pred);
  let results = (outs Variadic<Stablehlo_TensorOrAxisQuantizedOrToken>);
  let regions = (region SizedRegion<1>:$true_branch,
                        SizedRegion<1>:$false_branch);
}

def Stablehlo_CaseOp
    : Stablehlo_Op<"case", [Stablehlo_EffectsOfBody, Stablehlo_EndsInReturn,
                            Stablehlo_Inferred]> {
  let summary = "Runs the branch that an index selects";
  let description = [{
    An index out of range runs the last branch. Canonicalization inlines the
    branch of a constant index in range.

    ```mlir
    %0 = "stablehlo.case"(%index) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    ```

    Constraints:
    * (C1) The index is a scalar.
    * (C2) There is at least one branch, and none has arguments.
    * (C3) The branches return compatible types, which the results fit.
  }];
  let arguments = (ins Stablehlo_I32Tensor:$index);
  let results = (outs Variadic<Stablehlo_TensorOrAxisQuantizedOrToken>);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let hasCanonicalizer = 1;
}

def Stablehlo_WhileOp
    : Stablehlo_Op<"while", [
          Stablehlo_EffectsOfBody, Stablehlo_EndsInReturn,
          Stablehlo_InferredAsOperands,
          DeclareOpInterfaceMethods<OpAsmOpInterface,
                                    ["getAsmBlockArgumentNames"]>]> {
  let summary = "Repeats a body while a condition holds";
  let description = [{
    Both regions take the values that the loop carries; the names in the header
    represent the arguments of either.

    ```mlir
    %0 = stablehlo.while(%iterArg = %init) : tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %one : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
    ```

    Constraints:
    * (C1) Both regions have one argument per operand, of a compatible type.
    * (C2) The condition returns a scalar boolean.
    * (C3) The body returns one value per operand, of a compatible type.
  }];
  let arguments = (ins Variadic<Stablehlo_TensorOrTokenOrMemRef>:$operand);
  let results = (outs Variadic<Stablehlo_TensorOrTokenOrMemRef>);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Stablehlo_ReturnOp : Stablehlo_Op<"return", [Pure, Terminator]> {
  let summary = "Returns values to the enclosing operation";
  let description = [{
    ```mlir
    stablehlo.return %0, %1 : tensor<f32>, tensor<i32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorOrTokenOrMemRef>:$results);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Stablehlo_ReduceOp
    : Stablehlo_Op<"reduce", [
          Stablehlo_EffectsOfBodyIfStaticOperands, Stablehlo_EndsInReturn,
          Stablehlo_Inferred, SameVariadicOperandSize]> {
  let summary = "Combines the elements along some dimensions";
  let description = [{
    The body takes N elements, then N accumulators. One that only applies a
    commutative operation of this dialect to its arguments has a short form.

    ```mlir
    %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%a: tensor<f32>, %b: tensor<f32>)  {
      %2 = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    ```

    Constraints:
    * (C1) The inputs have the same shape.
    * (C2) The dimensions are unique and in range.
    * (C3) The body is a reducer of inputs and init values (ReducerRules.h).
    * (C4) A result has the shape of its input without the dimensions, and the
      element type that the body returns.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       Variadic<Stablehlo_FPICQTensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Stablehlo_ReduceWindowOp
    : Stablehlo_Op<"reduce_window", [
          Stablehlo_EffectsOfBodyIfStaticOperands, Stablehlo_EndsInReturn,
          Stablehlo_Inferred, SameVariadicOperandSize]> {
  let summary = "Combines the elements of every window";
  let description = [{
    ```mlir
    %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x7xf32>
    ```

    Constraints:
    * (C1) There is at least one input; the inputs have the same shape.
    * (C2) Window sizes, strides and dilations are positive, one per dimension;
      all but the sizes may be left out.
    * (C3) The padding has shape Nx2.
    * (C4) The body is a reducer of inputs and init values (ReducerRules.h).
    * (C5) A result has as many elements along a dimension as windows fit, and
      the element type that the body returns.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       Variadic<Stablehlo_FPICQTensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Stablehlo_SelectAndScatterOp
    : Stablehlo_Op<"select_and_scatter", [
          RecursiveMemoryEffects, ConditionallySpeculatable,
          Stablehlo_NativeTrait<"SpeculatableLikeBodyIfStaticDimsCarry">,
          Stablehlo_Inferred]> {
  let summary = "Scatters values to the selected element of every window";
  let description = [{
    `select` compares two elements of a window of the operand; the values of
    `source` are combined by `scatter` where the winner of their window is.

    ```mlir
    %0 = "stablehlo.select_and_scatter"(%x, %source, %init) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
    ```

    Constraints:
    * (C1) `select` takes two scalars of the operand's element type and returns
      a scalar boolean.
    * (C2) `scatter` is a reducer of source and init value (ReducerRules.h).
    * (C3) Window sizes and strides are positive, one per dimension.
    * (C4) The padding has shape Nx2.
    * (C5) The source has one element per window.
    * (C6) The result has the operand's shape and the element type that
      `scatter` returns.
  }];
  let arguments = (ins Stablehlo_FPICQTensor:$operand,
                       Stablehlo_FPICQTensor:$source,
                       Stablehlo_FPICQTensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Stablehlo_FPICQTensor);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Maps and sorting
//===----------------------------------------------------------------------===//

def Stablehlo_MapOp
    : Stablehlo_Op<"map", [
          Stablehlo_EffectsOfBodyIfStaticOperands, Stablehlo_EndsInReturn,
          Stablehlo_Inferred, SameOperandsAndResultShape]> {
  let summary = "Applies a computation to every element";
  let description = [{
    ```mlir
    %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>):
      %1 = stablehlo.negate %a : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    ```

    Constraints:
    * (C1) There is at least one input.
    * (C2) The dimensions are 0, 1, ..., rank - 1.
    * (C3) The computation takes a scalar per input, of its element type.
    * (C4) It returns one scalar, whose element type the result has.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Stablehlo_FPICQTensor);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
}

def Stablehlo_SortOp
    : Stablehlo_Op<"sort", [
          Stablehlo_EffectsOfBodyIfStaticOperands,
          Stablehlo_InferredAsOperands, SameOperandsAndResultShape]> {
  let summary = "Sorts the elements along one dimension";
  let description = [{
    All inputs are permuted alike. The comparator says whether the first of two
    elements comes before the second; its arguments come in pairs, one per
    input.

    ```mlir
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<9xf32>) -> tensor<9xf32>
    ```

    Constraints:
    * (C1) There is at least one input.
    * (C2) The dimension is in [-rank, rank).
    * (C3) The comparator takes two scalars per input, of its element type.
    * (C4) It returns a scalar boolean.
  }];
  let arguments = (ins Variadic<Stablehlo_FPICQTensor>:$inputs,
                       DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       Stablehlo_OptionalFalse:$is_stable);
  let results = (outs Variadic<Stablehlo_FPICQTensor>);
  let regions = (region SizedRegion<1>:$comparator);
  let hasVerifier = 1;
}

#endif
