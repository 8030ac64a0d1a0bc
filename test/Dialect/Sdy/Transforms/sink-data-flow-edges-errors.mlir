// RUN: mpmd-opt %s -sdy-sink-data-flow-edges -verify-diagnostics

sdy.mesh @grid = <["x"=2, "y"=2]>
sdy.mesh @line = <["z"=2]>
func.func @edge_on_another_mesh(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{result shape, sharding and region result shape at index 0 must match}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"x"}]>] out_shardings=[<@grid, [{"x"}]>] manual_axes={"x"} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@line, [{"z"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
