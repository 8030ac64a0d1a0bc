// RUN: mpmd-opt %s -sdy-import-func-calls -verify-diagnostics
// RUN: mpmd-opt %s -sdy-propagate-sharding-from-func-to-call -verify-diagnostics
// RUN: mpmd-opt %s -sdy-insert-func-call-reshards -verify-diagnostics

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%0: tensor<8xf32>) -> tensor<8xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%a: tensor<8xf32>) {
    // expected-error@+1 {{axis "x" is manual around this call of @f, which is sharded on it}}
    %2 = func.call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// expected-note@+1 {{sharded here}}
func.func private @f(%0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %0 : tensor<8xf32>
}
