// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @rejects_other_shapes(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible types for all operands and results, but got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @rejects_other_shapes_where_element_types_may_differ(%x: tensor<4xf32>) {
  // expected-error@+1 {{must have the same shape}}
  %0 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @rejects_incompatible_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible types for all operands and results}}
  %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @rejects_size_above_the_bound(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible types for all operands and results}}
  %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<?xf32, #stablehlo.bounds<3>>
  return
}

// -----

func.func @rejects_elements_of_another_kind(%x: tensor<4xi1>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of integer or floating-point or complex or per-tensor quantized values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.negate %x : tensor<4xi1>
  return
}

// -----

func.func @rejects_signed_integers(%x: tensor<4xsi32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of integer values}}
  %0 = stablehlo.popcnt %x : tensor<4xsi32>
  return
}

// -----

func.func @rejects_wide_floats(%x: tensor<4xtf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of floating-point}}
  %0 = stablehlo.sine %x : tensor<4xtf32>
  return
}

// -----

func.func @rejects_scales_that_do_not_fit_the_dimension(%x: tensor<3x!quant.uniform<i8:f32:0, {0.5,0.25}>>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of}}
  %0 = stablehlo.add %x, %x : tensor<3x!quant.uniform<i8:f32:0, {0.5,0.25}>>
  return
}

// -----

func.func @rejects_inferred_type_that_differs(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4xf64>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.abs"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

func.func @sum_has_one_element_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires the same element type for all operands and results}}
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sum_is_quantized_as_a_whole(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<4xf32>) {
  // expected-error@+1 {{either all are quantized or none}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @sum_of_per_axis_operands_is_per_axis(%x: tensor<2x!quant.uniform<i8:f32:0, {0.5,0.25}>>) {
  // expected-error@+1 {{result is quantized per tensor, but an operand per axis}}
  %0 = "stablehlo.add"(%x, %x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5,0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5,0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @sum_keeps_the_quantized_dimension(%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.25}>>) {
  // expected-error@+1 {{requires the same quantization dimension}}
  %0 = "stablehlo.add"(%x, %x) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.25}>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5,0.25}>>
  return
}

// -----

func.func @quantization_keeps_the_expressed_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected the same expressed type}}
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f16, 0.25:128>>
  return
}

// -----

func.func @accuracy_without_tolerance_mode(%x: tensor<4xf32>) {
  // expected-error@+1 {{mode DEFAULT has no tolerances; use mode TOLERANCE}}
  %0 = stablehlo.sine %x {result_accuracy = #stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4xf32>
  return
}

// -----

func.func @accuracy_with_negative_tolerance(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected non-negative tolerances}}
  %0 = stablehlo.sine %x {result_accuracy = #stablehlo.result_accuracy<atol = -1.0, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  return
}

// -----

func.func @format_without_exponent(%x: tensor<4xf32>) {
  // expected-error@+1 {{attribute 'exponent_bits' failed to satisfy constraint}}
  %0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 0 : i32, mantissa_bits = 2 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @format_in_another_order(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected exponent and mantissa bits in the form e5m2, but got m2e5}}
  %0 = stablehlo.reduce_precision %x, format = m2e5 : tensor<4xf32>
  return
}

// -----

func.func @format_beyond_32_bits(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected exponent and mantissa bits}}
  %0 = stablehlo.reduce_precision %x, format = e99999999999m2 : tensor<4xf32>
  return
}

// -----

func.func @branches_of_select_differ(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error@+2 {{requires compatible types for non-predicate operands}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.select"(%p, %x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @predicate_of_select_has_another_shape(%p: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error@+2 {{requires a predicate of rank 0 or of the same shape as on_true}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %x, %x : tensor<3xi1>, tensor<4xf32>
  return
}

// -----

func.func @select_takes_one_or_two_types(%p: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{expected functional type or list of two types}}
  %0 = stablehlo.select %p, %x, %x : tensor<4xf32>
  return
}

// -----

func.func @limit_of_clamp_has_another_shape(%m: tensor<3xf32>, %x: tensor<4xf32>) {
  // expected-error@+2 {{min shape is not scalar and does not match the operand}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.clamp %m, %x, %x : (tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @limit_of_clamp_has_another_element_type(%m: tensor<f64>, %x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible element types for all operands and results, but got 'tensor<f64>' and 'tensor<4xf32>'}}
  %0 = stablehlo.clamp %m, %x, %x : (tensor<f64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compared_elements_differ(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+2 {{requires compatible element types, but got 'f32' and 'f64'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.compare EQ, %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

func.func @parts_of_complex_differ(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{requires the same element type for all operands}}
  %0 = stablehlo.complex %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @complex_abbreviation_of_reals(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected tensor with complex element type}}
  %0 = stablehlo.complex %x, %x : tensor<4xf32>
  return
}

// -----

func.func @function_type_with_too_few_operands(%x: tensor<4xf32>) {
  // expected-error@+1 {{2 operands present, but expected 1}}
  %0 = stablehlo.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @function_type_without_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected exactly one result type, but got 0}}
  %0 = stablehlo.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}

// -----

func.func @unknown_operation(%x: tensor<4xf32>) {
  // expected-error@+1 {{unregistered operation 'stablehlo.foo' found in dialect ('stablehlo') that does not allow unknown operations}}
  "stablehlo.foo"(%x) : (tensor<4xf32>) -> ()
  return
}
