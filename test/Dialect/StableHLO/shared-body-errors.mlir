// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @no_function(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.custom_call' op to mpmd.shared_body represents the ops of a function: expected one called computation, a function with attribute mpmd.shared_body that takes the types of the operands and returns those of the results}}
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
  // expected-error @+1 {{is in such a function itself; its ops must replace it there}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@cycle]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @body(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %arg0 : tensor<4xf32>
}

func.func @in_a_function(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{represents ops of a fragment: expected it right within an mpmd.fragment; elsewhere its ops must replace it}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func private @body(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %arg0 : tensor<4xf32>
}

func.func @in_a_branch(%arg0: !m, %arg1: !mpmd.mesh_tensor<"m", tensor<i1>>) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %p: tensor<i1>) {
    %1 = "stablehlo.if"(%p) ({
      // expected-error @+1 {{expected it right within an mpmd.fragment}}
      %2 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }, {
      stablehlo.return %a : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m, !mpmd.mesh_tensor<"m", tensor<i1>>) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @public(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %arg0 : tensor<4xf32>
}

func.func @calls_public(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    // expected-error @+1 {{names @public: expected a private function without topology and mesh_shape, which is nothing but the ops of fragments}}
    %1 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@public]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func private @on_meshes(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body, topology = #topology} {
  return %arg0 : tensor<4xf32>
}

func.func @calls_on_meshes(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    // expected-error @+1 {{names @on_meshes: expected a private function without topology and mesh_shape}}
    %1 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@on_meshes]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

func.func @of_unverified_function(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected one called computation}}
  %0 = stablehlo.custom_call @mpmd.shared_body(%arg0) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// expected-error @+1 {{'func.func' op requires attribute 'function_type'}}
"func.func"() <{sym_name = "body", sym_visibility = "private"}> ({
^bb0(%arg0: tensor<4xf32>):
  "func.return"(%arg0) : (tensor<4xf32>) -> ()
}) {mpmd.shared_body} : () -> ()

// -----

func.func private @body(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %arg0 : tensor<4xf32>
}

func.func @in_computation(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"f"> (%arg0) (%a: tensor<4xf32>) {
    // expected-error @+1 {{expected it right within an mpmd.fragment}}
    %1 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
