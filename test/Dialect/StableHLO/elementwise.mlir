// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func @unary_functions(
// GENERIC: sym_name = "unary_functions"
func.func @unary_functions(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.ceil %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.ceil"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %ceil = stablehlo.ceil %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.cbrt %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.cbrt"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %cbrt = stablehlo.cbrt %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.cosine %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.cosine"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %cosine = stablehlo.cosine %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.exponential %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.exponential"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %exponential = stablehlo.exponential %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.exponential_minus_one %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.exponential_minus_one"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %exponential_minus_one = stablehlo.exponential_minus_one %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.floor %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.floor"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %floor = stablehlo.floor %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.log %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.log"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %log = stablehlo.log %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.log_plus_one %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.log_plus_one"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %log_plus_one = stablehlo.log_plus_one %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.logistic %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.logistic"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %logistic = stablehlo.logistic %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.negate %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.negate"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %negate = stablehlo.negate %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.round_nearest_afz %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.round_nearest_afz"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %round_nearest_afz = stablehlo.round_nearest_afz %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.round_nearest_even %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.round_nearest_even"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %round_nearest_even = stablehlo.round_nearest_even %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.rsqrt %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.rsqrt"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %rsqrt = stablehlo.rsqrt %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.sign %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.sign"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %sign = stablehlo.sign %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.sine %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.sine"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %sine = stablehlo.sine %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.sqrt %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.sqrt"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %sqrt = stablehlo.sqrt %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.tan %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.tan"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %tan = stablehlo.tan %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.tanh %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.tanh"(%{{.*}}) : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %tanh = stablehlo.tanh %x : tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @bit_counts_take_integers(
// GENERIC: sym_name = "bit_counts_take_integers"
func.func @bit_counts_take_integers(%x: tensor<11xui8>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.popcnt %{{.*}} : tensor<11xui8>
  // GENERIC: "stablehlo.popcnt"(%{{.*}}) : (tensor<11xui8>) -> tensor<11xui8>
  %popcnt = stablehlo.popcnt %x : tensor<11xui8>
  // CHECK-NEXT: %{{.*}} = stablehlo.count_leading_zeros %{{.*}} : tensor<11xui8>
  // GENERIC: "stablehlo.count_leading_zeros"(%{{.*}}) : (tensor<11xui8>) -> tensor<11xui8>
  %count_leading_zeros = stablehlo.count_leading_zeros %x : tensor<11xui8>
  // CHECK-NEXT: %{{.*}} = stablehlo.not %{{.*}} : tensor<11xui8>
  // GENERIC: "stablehlo.not"(%{{.*}}) : (tensor<11xui8>) -> tensor<11xui8>
  %not = stablehlo.not %x : tensor<11xui8>
  return
}

// CHECK-LABEL: func @different_types_print_a_function_type(
// GENERIC: sym_name = "different_types_print_a_function_type"
func.func @different_types_print_a_function_type(%x: tensor<9xcomplex<f32>>, %y: tensor<6xbf16>, %d: tensor<?x9xf32>, %s: tensor<4x9xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.abs %{{.*}} : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  // GENERIC: "stablehlo.abs"(%{{.*}}) : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  %0 = stablehlo.abs %x : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.real %{{.*}} : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  %1 = stablehlo.real %x : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.imag %{{.*}} : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  %2 = stablehlo.imag %x : (tensor<9xcomplex<f32>>) -> tensor<9xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.convert %{{.*}} : (tensor<6xbf16>) -> tensor<6xf8E4M3FN>
  %3 = stablehlo.convert %y : (tensor<6xbf16>) -> tensor<6xf8E4M3FN>
  // CHECK-NEXT: %{{.*}} = stablehlo.convert %{{.*}} : tensor<6xbf16>
  %4 = stablehlo.convert %y : tensor<6xbf16>
  // CHECK-NEXT: %{{.*}} = stablehlo.add %{{.*}}, %{{.*}} {my.note = "x"} : (tensor<?x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  // GENERIC: "stablehlo.add"(%{{.*}}, %{{.*}}) {my.note = "x"} : (tensor<?x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %5 = stablehlo.add %d, %s {my.note = "x"} : (tensor<?x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.is_finite %{{.*}} : (tensor<6xbf16>) -> tensor<6xi1>
  // GENERIC: "stablehlo.is_finite"(%{{.*}}) : (tensor<6xbf16>) -> tensor<6xi1>
  %6 = stablehlo.is_finite %y : (tensor<6xbf16>) -> tensor<6xi1>
  return
}

// CHECK-LABEL: func @function_type_with_one_type_is_shortened(
// GENERIC: sym_name = "function_type_with_one_type_is_shortened"
func.func @function_type_with_one_type_is_shortened(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.add %{{.*}}, %{{.*}} : tensor<5x6xf32>
  %0 = stablehlo.add %x, %x : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @binary_arithmetic(
// GENERIC: sym_name = "binary_arithmetic"
func.func @binary_arithmetic(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.add %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %add = stablehlo.add %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.atan2 %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.atan2"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %atan2 = stablehlo.atan2 %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.divide %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.divide"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %divide = stablehlo.divide %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.maximum %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.maximum"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %maximum = stablehlo.maximum %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.minimum %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.minimum"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %minimum = stablehlo.minimum %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.multiply"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %multiply = stablehlo.multiply %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.power %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.power"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %power = stablehlo.power %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.remainder %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.remainder"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %remainder = stablehlo.remainder %x, %x : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.subtract %{{.*}}, %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.subtract"(%{{.*}}, %{{.*}}) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %subtract = stablehlo.subtract %x, %x : tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @bitwise_operations(
// GENERIC: sym_name = "bitwise_operations"
func.func @bitwise_operations(%x: tensor<12xui32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.and %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.and"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %and = stablehlo.and %x, %x : tensor<12xui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.or %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.or"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %or = stablehlo.or %x, %x : tensor<12xui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.xor %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.xor"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %xor = stablehlo.xor %x, %x : tensor<12xui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.shift_left %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.shift_left"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %shift_left = stablehlo.shift_left %x, %x : tensor<12xui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.shift_right_arithmetic %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.shift_right_arithmetic"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %shift_right_arithmetic = stablehlo.shift_right_arithmetic %x, %x : tensor<12xui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.shift_right_logical %{{.*}}, %{{.*}} : tensor<12xui32>
  // GENERIC: "stablehlo.shift_right_logical"(%{{.*}}, %{{.*}}) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
  %shift_right_logical = stablehlo.shift_right_logical %x, %x : tensor<12xui32>
  return
}

// CHECK-LABEL: func @accuracy_is_part_of_the_attributes(
// GENERIC: sym_name = "accuracy_is_part_of_the_attributes"
func.func @accuracy_is_part_of_the_attributes(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.exponential %{{.*}} {result_accuracy = #stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<5x6xf32>
  // GENERIC: "stablehlo.exponential"(%{{.*}}) <{result_accuracy = #stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %0 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<5x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.log %{{.*}} {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, rtol = 2.500000e-01, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<5x6xf32>
  // GENERIC: "stablehlo.log"(%{{.*}}) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, rtol = 2.500000e-01, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %1 = stablehlo.log %x {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, rtol = 2.500000e-01, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @default_accuracy_is_left_out_of_pretty_text(
// GENERIC: sym_name = "default_accuracy_is_left_out_of_pretty_text"
func.func @default_accuracy_is_left_out_of_pretty_text(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.tanh %{{.*}} : tensor<5x6xf32>
  // GENERIC: "stablehlo.tanh"(%{{.*}}) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @reduced_precision_prints_its_format(
// GENERIC: sym_name = "reduced_precision_prints_its_format"
func.func @reduced_precision_prints_its_format(%x: tensor<5x6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.reduce_precision %{{.*}}, format = e5m2 : tensor<5x6xf32>
  // GENERIC: "stablehlo.reduce_precision"(%{{.*}}) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<5x6xf32>
  return
}

// CHECK-LABEL: func @complex_prints_the_result_type(
// GENERIC: sym_name = "complex_prints_the_result_type"
func.func @complex_prints_the_result_type(%x: tensor<3x7xf32>, %d: tensor<3x?xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.complex %{{.*}}, %{{.*}} : tensor<3x7xcomplex<f32>>
  // GENERIC: "stablehlo.complex"(%{{.*}}, %{{.*}}) : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xcomplex<f32>>
  %0 = stablehlo.complex %x, %x : tensor<3x7xcomplex<f32>>
  // CHECK-NEXT: %{{.*}} = stablehlo.complex %{{.*}}, %{{.*}} : (tensor<3x7xf32>, tensor<3x?xf32>) -> tensor<3x7xcomplex<f32>>
  %1 = stablehlo.complex %x, %d : (tensor<3x7xf32>, tensor<3x?xf32>) -> tensor<3x7xcomplex<f32>>
  return
}

// CHECK-LABEL: func @select_prints_predicate_and_result_type(
// GENERIC: sym_name = "select_prints_predicate_and_result_type"
func.func @select_prints_predicate_and_result_type(%s: tensor<i1>, %x: tensor<5xf32>, %p: tensor<5xi1>, %d: tensor<?xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<5xf32>
  // GENERIC: "stablehlo.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<i1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %0 = stablehlo.select %s, %x, %x : tensor<i1>, tensor<5xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<5xi1>, tensor<5xf32>, tensor<?xf32>) -> tensor<5xf32>
  %1 = stablehlo.select %p, %x, %d : (tensor<5xi1>, tensor<5xf32>, tensor<?xf32>) -> tensor<5xf32>
  return
}

// CHECK-LABEL: func @compare_prints_direction_first_and_type_last(
// GENERIC: sym_name = "compare_prints_direction_first_and_type_last"
func.func @compare_prints_direction_first_and_type_last(%x: tensor<5xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.compare GE, %{{.*}}, %{{.*}} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  // GENERIC: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %0 = stablehlo.compare GE, %x, %x : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  // CHECK-NEXT: %{{.*}} = stablehlo.compare NE, %{{.*}}, %{{.*}}, FLOAT {k} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  // GENERIC: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> {k} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %1 = stablehlo.compare NE, %x, %x, FLOAT {k} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  // CHECK-NEXT: %{{.*}} = stablehlo.compare NE, %{{.*}}, %{{.*}}, NOTYPE : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %2 = stablehlo.compare NE, %x, %x, NOTYPE : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  // CHECK-NEXT: %{{.*}} = stablehlo.compare LT, %{{.*}}, %{{.*}}, SIGNED : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %3 = stablehlo.compare  LT, %x, %x,  SIGNED : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return
}

// CHECK-LABEL: func @clamp_abbreviates_over_three_operands(
// GENERIC: sym_name = "clamp_abbreviates_over_three_operands"
func.func @clamp_abbreviates_over_three_operands(%m: tensor<f32>, %x: tensor<7xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  // GENERIC: "stablehlo.clamp"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<f32>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  %0 = stablehlo.clamp %m, %x, %m : (tensor<f32>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<7xf32>
  %1 = stablehlo.clamp %x, %x, %x : tensor<7xf32>
  return
}

// CHECK-LABEL: func @quantization(
// GENERIC: sym_name = "quantization"
func.func @quantization(%x: tensor<6xf32>, %a: tensor<6x2x!quant.uniform<i8:f32:1, {1.000000e-01,2.000000e-01:-4}>>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.uniform_quantize %{{.*}} : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 2.500000e-01:128>>
  %0 = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 2.500000e-01:128>>
  // CHECK-NEXT: %{{.*}} = stablehlo.uniform_dequantize %{{.*}} : (tensor<6x2x!quant.uniform<i8:f32:1, {1.000000e-01,2.000000e-01:-4}>>) -> tensor<6x2xf32>
  %1 = stablehlo.uniform_dequantize %a : (tensor<6x2x!quant.uniform<i8:f32:1, {1.000000e-01,2.000000e-01:-4}>>) -> tensor<6x2xf32>
  return
}
