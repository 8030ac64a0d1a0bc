// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func @constants_are_named_after_their_kind(
// GENERIC: sym_name = "constants_are_named_after_their_kind"
func.func @constants_are_named_after_their_kind() {
  // CHECK-NEXT: %c = stablehlo.constant dense<7> : tensor<3x2xui16>
  // GENERIC: "stablehlo.constant"() <{value = dense<7> : tensor<3x2xui16>}> : () -> tensor<3x2xui16>
  %0 = stablehlo.constant dense<7> : tensor<3x2xui16>
  // CHECK-NEXT: %cst = stablehlo.constant {tag = "k"} dense<[1.500000e+00, 0x7FC00000]> : tensor<2xf32>
  // GENERIC: "stablehlo.constant"() <{value = dense<[1.500000e+00, 0x7FC00000]> : tensor<2xf32>}> {tag = "k"} : () -> tensor<2xf32>
  %1 = stablehlo.constant {tag = "k"} dense<[1.500000e+00, 0x7FC00000]> : tensor<2xf32>
  // CHECK-NEXT: %cst_0 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
  %2 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
  // CHECK-NEXT: %c_1 = stablehlo.constant dense<true> : tensor<i1>
  %3 = stablehlo.constant dense<true> : tensor<i1>
  return
}

// CHECK-LABEL: func @quantized_constants_print_generic_after_the_name(
// GENERIC: sym_name = "quantized_constants_print_generic_after_the_name"
func.func @quantized_constants_print_generic_after_the_name() {
  // CHECK-NEXT: %cst = stablehlo.constant() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %0 = stablehlo.constant() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  // CHECK-NEXT: %cst_0 = stablehlo.constant() <{value = dense<[3, -4]> : tensor<2xi8>}> {k} : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = stablehlo.constant() {k, value = dense<[3, -4]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  return
}

// CHECK-LABEL: func @generated_values(
// GENERIC: sym_name = "generated_values"
func.func @generated_values(%s: tensor<2xi64>, %f: tensor<f32>, %u: tensor<4xui32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.iota dim = 1 : tensor<3x8xi32>
  // GENERIC: "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x8xi32>
  %0 = stablehlo.iota dim = 1 : tensor<3x8xi32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_iota %{{.*}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.rng %{{.*}}, %{{.*}}, %{{.*}}, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  // GENERIC: "stablehlo.rng"(%{{.*}}, %{{.*}}, %{{.*}}) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  %2 = stablehlo.rng %f, %f, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %output_state, %output = stablehlo.rng_bit_generator %{{.*}}, algorithm = THREE_FRY : (tensor<4xui32>) -> (tensor<4xui32>, tensor<6x3xui32>)
  %3:2 = stablehlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<4xui32>) -> (tensor<4xui32>, tensor<6x3xui32>)
  // CHECK-NEXT: %{{.*}} = stablehlo.replica_id : tensor<ui32>
  %4 = stablehlo.replica_id : tensor<ui32>
  // CHECK-NEXT: %{{.*}} = stablehlo.partition_id : tensor<ui32>
  %5 = stablehlo.partition_id : tensor<ui32>
  return
}

// CHECK-LABEL: func @tokens(
// GENERIC: sym_name = "tokens"
func.func @tokens(%t: !stablehlo.token, %x: tensor<4xf32>, %f: !stablehlo.future<tensor<3xf32>, tensor<i8>>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.create_token : !stablehlo.token
  // GENERIC: "stablehlo.create_token"() : () -> !stablehlo.token
  %0 = stablehlo.create_token : !stablehlo.token
  // CHECK-NEXT: %{{.*}} = stablehlo.after_all %{{.*}}, %{{.*}} : !stablehlo.token
  // GENERIC: "stablehlo.after_all"(%{{.*}}, %{{.*}}) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  %1 = stablehlo.after_all %t, %0 : !stablehlo.token
  // CHECK-NEXT: %{{.*}} = stablehlo.after_all : !stablehlo.token
  %2 = stablehlo.after_all : !stablehlo.token
  // CHECK-NEXT: %{{.*}} = "stablehlo.infeed"(%{{.*}}) <{infeed_config = "cfg", layout = {{\[\[}}0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %3:2 = "stablehlo.infeed"(%t) <{infeed_config = "cfg", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // CHECK-NEXT: %{{.*}} = "stablehlo.outfeed"(%{{.*}}, %{{.*}}) <{outfeed_config = "cfg"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = "stablehlo.outfeed"(%x, %t) <{outfeed_config = "cfg"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK-NEXT: %{{.*}} = "stablehlo.send"(%{{.*}}, %{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %5 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK-NEXT: %{{.*}} = "stablehlo.recv"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %6:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// CHECK-LABEL: func @custom_calls(
// GENERIC: sym_name = "custom_calls"
func.func @custom_calls(%x: tensor<4x4xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.custom_call @my_kernel(%{{.*}}) {api_version = 4 : i32, backend_config = {n = 3 : i32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>)
  // GENERIC: "stablehlo.custom_call"(%{{.*}}) <{api_version = 4 : i32, backend_config = {n = 3 : i32}, call_target_name = "my_kernel", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]}> : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>)
  %0:2 = stablehlo.custom_call @my_kernel(%x) {api_version = 4 : i32, backend_config = {n = 3 : i32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>)
  // CHECK-NEXT: stablehlo.custom_call @"weird name"() {has_side_effect = true} : () -> ()
  stablehlo.custom_call @"weird name"() {has_side_effect = true} : () -> ()
  // CHECK-NEXT: %{{.*}} = stablehlo.custom_call @inplace(%{{.*}}) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.custom_call @inplace(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.custom_call @f(%{{.*}}) {backend_config = "", called_computations = [@g], mhlo.sharding = "s"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.custom_call @f(%x) {backend_config = "", mhlo.sharding = "s", called_computations = [@g]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func @custom_call_defaults_are_left_out_of_pretty_text(
// GENERIC: sym_name = "custom_call_defaults_are_left_out_of_pretty_text"
func.func @custom_call_defaults_are_left_out_of_pretty_text(%x: tensor<4x4xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.custom_call @f(%{{.*}}) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // GENERIC: "stablehlo.custom_call"(%{{.*}}) <{api_version = 1 : i32, call_target_name = "f", called_computations = [], has_side_effect = false, output_operand_aliases = []}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = stablehlo.custom_call @f(%x) {api_version = 1 : i32, called_computations = [], has_side_effect = false, output_operand_aliases = []} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func @composites(
// GENERIC: sym_name = "composites"
func.func @composites(%x: tensor<6xf32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.composite "acme.norm" %{{.*}} {composite_attributes = {eps = 1.562500e-02 : f32}, decomposition = @norm_impl, version = 2 : i32} : (tensor<6xf32>) -> tensor<6xf32>
  // GENERIC: "stablehlo.composite"(%{{.*}}) <{composite_attributes = {eps = 1.562500e-02 : f32}, decomposition = @norm_impl, name = "acme.norm", version = 2 : i32}> : (tensor<6xf32>) -> tensor<6xf32>
  %0 = stablehlo.composite "acme.norm" %x {composite_attributes = {eps = 1.562500e-02 : f32}, decomposition = @norm_impl, version = 2 : i32} : (tensor<6xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.composite "acme.norm" %{{.*}} {decomposition = @norm_impl} : (tensor<6xf32>) -> tensor<6xf32>
  %1 = stablehlo.composite "acme.norm" %x {composite_attributes = {}, decomposition = @norm_impl, version = 0 : i32} : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// CHECK-LABEL: func @barriers_and_tuples(
// GENERIC: sym_name = "barriers_and_tuples"
func.func @barriers_and_tuples(%x: tensor<6xf32>, %t: !stablehlo.token) {
  // CHECK-NEXT: %{{.*}} = stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<6xf32>, !stablehlo.token
  // GENERIC: "stablehlo.optimization_barrier"(%{{.*}}, %{{.*}}) : (tensor<6xf32>, !stablehlo.token) -> (tensor<6xf32>, !stablehlo.token)
  %0:2 = stablehlo.optimization_barrier %x, %t : tensor<6xf32>, !stablehlo.token
  // CHECK-NEXT: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier()
  // CHECK-NEXT: stablehlo.optimization_barrier {k}()
  stablehlo.optimization_barrier {k}()
  // CHECK-NEXT: %{{.*}} = stablehlo.optimization_barrier {tag = "t"} %{{.*}} : tensor<6xf32>
  %1 = stablehlo.optimization_barrier {tag = "t"} %x : tensor<6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<6xf32>, !stablehlo.token>
  // GENERIC: "stablehlo.tuple"(%{{.*}}, %{{.*}}) : (tensor<6xf32>, !stablehlo.token) -> tuple<tensor<6xf32>, !stablehlo.token>
  %2 = stablehlo.tuple %x, %t : tuple<tensor<6xf32>, !stablehlo.token>
  // CHECK-NEXT: %{{.*}} = stablehlo.tuple : tuple<>
  %3 = stablehlo.tuple : tuple<>
  // CHECK-NEXT: %{{.*}} = stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<6xf32>, !stablehlo.token>) -> !stablehlo.token
  // GENERIC: "stablehlo.get_tuple_element"(%{{.*}}) <{index = 1 : i32}> : (tuple<tensor<6xf32>, !stablehlo.token>) -> !stablehlo.token
  %4 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<6xf32>, !stablehlo.token>) -> !stablehlo.token
  return
}

func.func private @norm_impl(tensor<6xf32>) -> tensor<6xf32>

// CHECK-LABEL: func @transforms_of_nothing
func.func @transforms_of_nothing(%x: tensor<0xf32>, %y: tensor<0xcomplex<f32>>, %z: tensor<1xcomplex<f32>>) -> (tensor<0xcomplex<f32>>, tensor<0xf32>, tensor<0xf32>) {
  // CHECK-COUNT-3: stablehlo.fft
  %0 = stablehlo.fft %x, type = RFFT, length = [0] : (tensor<0xf32>) -> tensor<0xcomplex<f32>>
  %1 = stablehlo.fft %y, type = IRFFT, length = [0] : (tensor<0xcomplex<f32>>) -> tensor<0xf32>
  %2 = stablehlo.fft %z, type = IRFFT, length = [0] : (tensor<1xcomplex<f32>>) -> tensor<0xf32>
  return %0, %1, %2 : tensor<0xcomplex<f32>>, tensor<0xf32>, tensor<0xf32>
}
