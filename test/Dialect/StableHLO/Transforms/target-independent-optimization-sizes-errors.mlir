// RUN: mpmd-opt %s -stablehlo-target-independent-optimization -split-input-file -verify-diagnostics

// Sizes that are computed may contradict types, which is seen once they are.
func.func @reports_shape_of_reshape(%x: tensor<?xf32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %two = stablehlo.add %one, %one : tensor<1xi32>
  // expected-error@+1 {{output_shape is [2], which does not fit 'tensor<4xf32>'}}
  %0 = stablehlo.dynamic_reshape %x, %two : (tensor<?xf32>, tensor<1xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_shape_of_random_numbers(%x: tensor<f32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  // expected-error@+2 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.rng %x, %x, %two, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_sizes_of_gather(%x: tensor<4x4xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %one = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %sizes = stablehlo.multiply %one, %one : tensor<2xi32>
  // expected-error@+2 {{'stablehlo.dynamic_gather' op inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
