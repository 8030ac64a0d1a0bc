// RUN: mpmd-opt %s -sdy-user-priority-propagate -verify-diagnostics -split-input-file

func.func @reports_dynamic_shape(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{Shardy propagation only supports ranked tensors with a static shape: got 'tensor<?x8xf32>'; make all dimensions static}}
  %0 = stablehlo.sine %a : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

func.func @reports_tuple(%a: tensor<8xf32>) -> tuple<tensor<8xf32>> {
  // expected-error@+1 {{Shardy propagation doesn't support tuples: got 'tuple<tensor<8xf32>>'; return the elements one by one}}
  %0 = stablehlo.tuple %a : tuple<tensor<8xf32>>
  return %0 : tuple<tensor<8xf32>>
}

// -----

// expected-error@+1 {{module has no main function; expected a single function, or one called @main}}
module {
  func.func @f() {
    return
  }
  func.func @g() {
    return
  }
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// expected-warning@+1 {{the initial operand shardings on the sharding groups of groupID: 0 do not match; open constraints keep the shardings of its members, #sdy.sharding<@grid, [{"r"}, {}]>, #sdy.sharding<@grid, [{}, {"r"}]>}}
func.func @warns_of_group_that_disagrees(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}, %b: tensor<12x8xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<12x8xf32>
  %0 = stablehlo.sine %b {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {"r"}]>]>} : tensor<12x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<12x8xf32>
  return
}
