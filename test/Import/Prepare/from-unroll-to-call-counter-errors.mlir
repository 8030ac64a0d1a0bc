// RUN: mpmd-opt %s -mpmd-from-unroll-to-call-counter -verify-diagnostics

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_counter_of_another_type(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // expected-error@+1 {{unroll_counter is 1 : i32; expected a number of type ui32}}
  %0 = mpmd.call @f(%x) {unroll_counter = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  return %x : tensor<4xf32>
}
