// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules -verify-diagnostics

func.func @warns_about_the_first_unknown_op_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-warning@+1 {{op 'stablehlo.map' is unknown to SDY sharding rule registry}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = chlo.erf %0 : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @warns_about_the_first_unknown_target_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-warning@+1 {{custom call @first is unknown to SDY sharding rule registry}}
  %0 = stablehlo.custom_call @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @second(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
