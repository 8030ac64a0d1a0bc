// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @no_function(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.custom_call' op to mpmd.shared_body stands for the ops of a function: expected one called computation, a function with attribute mpmd.shared_body that takes the types of the operands and returns those of the results}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected one called computation}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@other]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @body(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}

func.func @not_marked(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a function with attribute mpmd.shared_body}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @body(tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body}

func.func @declaration(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a function with attribute mpmd.shared_body}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @body(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %arg0 : tensor<4xf32>
}

func.func @other_type(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{that takes the types of the operands and returns those of the results}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@body]} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func private @cycle(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  // expected-error @+1 {{stands in such a function itself; its ops must stand there in its place}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@cycle]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
