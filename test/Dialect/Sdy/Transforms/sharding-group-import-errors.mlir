// RUN: mpmd-opt %s -sdy-sharding-group-import -split-input-file -verify-diagnostics

func.func @different_shapes(%a: tensor<8xf32>, %b: tensor<4xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  // expected-error@+1 {{members of a sharding group must have the same shape, got 'tensor<8xf32>' and 'tensor<4xf32>' in group 0}}
  sdy.sharding_group %b group_id=0 : tensor<4xf32>
  return
}

// -----

func.func @element_types_may_differ(%a: tensor<8xf32>, %b: tensor<8xi32>) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xi32>
  return
}

// -----

sdy.mesh @grid = <["r"=2]>
func.func @different_manual_computations(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  %0 = sdy.manual_computation(%a) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={"r"} (%x: tensor<8xf32>) {
    // expected-error@+1 {{members of a sharding group must be in the same manual computation, but group 0 has others elsewhere}}
    sdy.sharding_group %x group_id=0 : tensor<8xf32>
    sdy.return %x : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
