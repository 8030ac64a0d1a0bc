// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @constant_of_another_type() {
  // expected-error@+2 {{inferred type(s) 'tensor<2xi32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xf32>
  return
}

// -----

func.func @constant_of_dynamic_shape() {
  // expected-error@+1 {{result #0 must be statically shaped tensor}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<?xi32>
  return
}

// -----

func.func @iota_of_a_scalar() {
  // expected-error@+1 {{does not support scalars}}
  %0 = stablehlo.iota dim = 0 : tensor<i32>
  return
}

// -----

func.func @iota_of_missing_dimension() {
  // expected-error@+1 {{iota dimension 1 is out of range, expected less than the rank 1}}
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @normal_distribution_of_integers(%x: tensor<i32>, %s: tensor<1xi64>) {
  // expected-error@+2 {{distribution NORMAL requires floats, but the element type is 'i32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.rng %x, %x, %s, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<3xi32>
  return
}

// -----

func.func @random_numbers_of_another_shape(%x: tensor<f32>) {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+2 {{inferred type(s) 'tensor<2x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.rng %x, %x, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
  return
}

// -----

func.func @generator_state_keeps_its_shape(%s: tensor<4xui32>) {
  // expected-error@+1 {{output state shape of 'tensor<3xui32>' must match the initial state shape of 'tensor<4xui32>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<4xui32>) -> (tensor<3xui32>, tensor<6xui32>)
  return
}

// -----

func.func @infeed_without_results(%t: !stablehlo.token) {
  // expected-error@+1 {{result is expected to be at least of size 1, but got 0}}
  "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
  return
}

// -----

func.func @infeed_that_ends_in_a_tensor(%t: !stablehlo.token) {
  // expected-error@+1 {{last result is expected to be of token type}}
  %0 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> tensor<4xf32>
  return
}

// -----

func.func @infeed_with_too_many_layouts(%t: !stablehlo.token) {
  // expected-error@+1 {{layout has 1 entries, but there are 0 tensors}}
  %0 = "stablehlo.infeed"(%t) <{layout = [[0]]}> : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_on_a_channel_of_another_type(%t: !stablehlo.token) {
  // expected-error@+1 {{channel_handle has type 2, expected 1 unless is_host_transfer}}
  %0 = "stablehlo.send"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 2>}> : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @receive_from_host_on_a_channel_of_another_type(%t: !stablehlo.token) {
  // expected-error@+1 {{channel_handle has type 2, expected 3 for a host transfer}}
  %0 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 2>, is_host_transfer = true}> : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @call_with_layouts_of_operands_only(%x: tensor<4xf32>) {
  // expected-error@+1 {{layout attributes should be specified for either both operands and results or none}}
  stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @call_with_layout_that_is_no_permutation(%x: tensor<4xf32>) {
  // expected-error@+1 {{incorrect layout dense<1>}}
  stablehlo.custom_call @f(%x) {operand_layouts = [dense<1> : tensor<1xindex>], result_layouts = []} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @call_with_too_few_layouts(%x: tensor<4xf32>) {
  // expected-error@+1 {{has 1 operand values, but 0 operand layouts}}
  stablehlo.custom_call @f(%x) {operand_layouts = [], result_layouts = []} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @call_with_layout_of_a_token(%t: !stablehlo.token) {
  // expected-error@+1 {{is not a tensor, so its layout must be empty}}
  stablehlo.custom_call @f(%t) {operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = []} : (!stablehlo.token) -> ()
  return
}

// -----

func.func @call_with_alias_of_missing_operand(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects operand_index of}}
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_with_alias_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{shapes mismatch in output_operand_aliases: operand has type 'tensor<4xf32>', but the result 'tensor<5xf32>'}}
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @constant_with_two_values() {
  // expected-error@+1 {{attribute 'value' occurs more than once in the attribute list}}
  %0 = stablehlo.constant {value = dense<1> : tensor<2xi32>} dense<5> : tensor<2xi32>
  return
}

// -----

func.func @frequencies_of_nothing(%x: tensor<0xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<0xcomplex<f32>>' are incompatible}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %x, type = RFFT, length = [0] : (tensor<0xf32>) -> tensor<1xcomplex<f32>>
  return
}

// -----

func.func @call_with_alias_but_no_results(%x: tuple<>) {
  // expected-error@+1 {{has no results that an operand could alias, but got #stablehlo.output_operand_alias<}}
  stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tuple<>) -> ()
  return
}

// -----

func.func @call_with_untyped_dictionary(%x: tensor<4xf32>) {
  // expected-error@+1 {{api_version 1 requires backend_config to be a string attribute}}
  stablehlo.custom_call @f(%x) {backend_config = {a = 1 : i32}} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @call_with_typed_string(%x: tensor<4xf32>) {
  // expected-error@+1 {{api_version 4 requires backend_config to be a dictionary attribute}}
  stablehlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = "a"} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @call_that_returns_a_buffer_of_its_own(%x: memref<4xf32>) {
  // expected-error@+1 {{result 0 is a buffer, so exactly one entry of output_operand_aliases must name it}}
  %0 = stablehlo.custom_call @f(%x) : (memref<4xf32>) -> memref<4xf32>
  return
}

// -----

func.func @pin_that_changes_the_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{target Pin keeps shape and element type}}
  %0 = stablehlo.custom_call @Pin(%x) : (tensor<4xf32>) -> memref<5xf32>
  return
}

// -----

func.func @call_without_target_symbol(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected valid '@'-identifier for symbol name}}
  stablehlo.custom_call "f"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @composite_without_namespace(%x: tensor<4xf32>) {
  // expected-error@+1 {{name must be a valid namespaced op name}}
  %0 = stablehlo.composite "norm" %x {decomposition = @none} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @composite_without_decomposition(%x: tensor<4xf32>) {
  // expected-error@+1 {{decomposition @none does not reference a valid function; expected a func.func of that name in the module}}
  %0 = stablehlo.composite "a.norm" %x {decomposition = @none} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @composite_of_other_types(%x: tensor<5xf32>) {
  // expected-error@+1 {{has result types 'tensor<5xf32>', but the decomposition returns}}
  %0 = stablehlo.composite "a.norm" %x {decomposition = @composite_of_other_types} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @tuple_element_out_of_bounds(%t: tuple<tensor<4xf32>>) {
  // expected-error@+2 {{index 1 is out of bounds of a tuple with 1 elements}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @tuple_of_a_tensor_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected tuple type, but got 'tensor<4xf32>'}}
  %0 = stablehlo.tuple %x : tensor<4xf32>
  return
}

// -----

func.func @barrier_that_changes_a_type(%x: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4xf32>' are incompatible}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

// expected-error@+1 {{future holds '!stablehlo.token', expected only ranked tensor types}}
func.func private @future_of_a_token(!stablehlo.future<!stablehlo.token>)

// -----

// expected-error@+1 {{future holds '!stablehlo.future<tensor<4xf32>>', expected only ranked tensor types}}
func.func private @reports_futures_in_futures_once(!stablehlo.future<!stablehlo.future<!stablehlo.future<tensor<4xf32>>>>)

// -----

// expected-error@+1 {{unknown  type `x` in dialect `stablehlo`}}
func.func private @unknown_type(!stablehlo.x)

// -----

// expected-error@+1 {{unknown attribute `foo` in dialect `stablehlo`}}
func.func private @unknown_attribute() attributes {k = #stablehlo.foo<1>}

// -----

// expected-error@+1 {{dimension 0 is static (4), so its bound must be ?, but it is 3}}
func.func private @bound_of_a_static_dimension(tensor<4xf32, #stablehlo.bounds<3>>)

// -----

// expected-error@+1 {{bounds have 2 entries, but the rank is 1}}
func.func private @bounds_of_another_rank(tensor<?xf32, #stablehlo.bounds<3, 4>>)

// -----

func.func @rng_shape_that_is_no_shape(%a: tensor<f32>, %s: tensor<4611686018427387904xi32>) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{shape has 4611686018427387904 elements, which is no rank of a tensor}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<4611686018427387904xi32>) -> tensor<4xf32>
  return
}

// -----

// What reads the constant is verified first, and takes none of its elements.
func.func @rng_of_a_constant_larger_than_its_type(%x: tensor<f32>) -> tensor<8xf32> {
  %0 = "stablehlo.rng"(%x, %x, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  // expected-error@+2 {{'stablehlo.constant' op inferred type(s) 'tensor<4611686018427387904xi64>' are incompatible with return type(s) of operation 'tensor<1xi64>'}}
  // expected-error@+1 {{'stablehlo.constant' op failed to infer returned types}}
  %c = "stablehlo.constant"() <{value = dense<8> : tensor<4611686018427387904xi64>}> : () -> tensor<1xi64>
  return %0 : tensor<8xf32>
}

// -----

func.func @rng_of_a_constant_without_value(%x: tensor<f32>) -> tensor<?xf32> {
  %0 = "stablehlo.rng"(%x, %x, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  // expected-error@+1 {{'stablehlo.constant' op requires attribute 'value'}}
  %c = "stablehlo.constant"() : () -> tensor<1xi64>
  return %0 : tensor<?xf32>
}
