// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{arg 0 - unknown mesh: @nowhere; expected an sdy.mesh of that name in the module}}
func.func private @unknown_mesh(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@nowhere, [{}, {}]>})

// -----

sdy.mesh @one = <[], device_ids=[3]>
// expected-error@+1 {{arg 0 - a maximal sharding can only have a sharding with rank 0 and no replicated or unreduced axes}}
func.func private @dims_on_maximal_mesh(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@one, [{}, {}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - only a tuple of size 1 can have a sharding, got 'tuple<tensor<f32>, tensor<f32>>'}}
func.func private @pair(tuple<tensor<f32>, tensor<f32>> {sdy.sharding = #sdy.sharding<@grid, []>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - unknown axis name: "q"}}
func.func private @tuple_is_checked_as_its_element(tuple<tensor<12xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"q"}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{result 0 - non-shaped tensors can only have a sharding with rank 0}}
func.func private @dims_of_token() -> (!stablehlo.token {sdy.sharding = #sdy.sharding<@grid, [{}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 1 - only ranked tensors can have a sharding, got 'tensor<*xf32>'}}
func.func private @unranked(tensor<f32>, tensor<*xf32> {sdy.sharding = #sdy.sharding<@grid, []>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - sharding doesn't match tensor rank: 1 != 2}}
func.func private @wrong_rank(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - dim 1 is empty and closed but has a priority; leave it out, or open the dimension with ?}}
func.func private @priority_of_nothing(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}p1, {}p1]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - unknown axis name: "q"}}
func.func private @unknown_axis(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"r", "q"}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - duplicate axis ref: "r"}}
func.func private @axis_in_two_dims(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"r"}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - duplicate axis ref: "c":(1)2}}
func.func private @sub_axis_in_dim_and_list(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2}], replicated={"c":(1)2}>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - two consecutive sub-axes can be merged: "c":(1)2, "c":(2)2; write them as one}}
func.func private @mergeable(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, "c":(2)2}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - replicated axes are not ordered w.r.t. mesh: "c" comes before "r"; the mesh is #sdy.mesh<["r"=2, "c"=4]>}}
func.func private @replicated_out_of_order(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{}], replicated={"c", "r"}>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - unreduced axes are not ordered w.r.t. mesh}}
func.func private @unreduced_out_of_order(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{}], unreduced={"c":(2)2, "c":(1)2}>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - both sub-axis and full-axis are used for axis name: "c"; write the full axis alone, or only sub-axes}}
func.func private @full_and_sub_axis(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2}], unreduced={"c"}>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - sub-axis pre-size must be at least 1: "c":(0)2}}
func.func private @pre_size_0(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(0)2}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - sub-axis size must be greater than 1: "c":(2)1}}
func.func private @sub_axis_of_size_1(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(2)1}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - sub-axis next pre-size (pre-size times size) doesn't divide the size of the full axis 4: "c":(1)3}}
func.func private @not_a_divisor(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)3}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
// expected-error@+1 {{arg 0 - sub-axis size is equal to the full axis size: "c":(1)4}}
func.func private @whole_axis_as_sub_axis(tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)4}]>})

// -----

sdy.mesh @grid = <["r"=2, "c"=8]>
// expected-error@+1 {{arg 0 - overlapping sub-axes: "c":(1)4, "c":(2)2}}
func.func private @overlap(tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(2)2}, {"c":(1)4}]>})

// -----

// expected-error@+1 {{arg 0 - should have a sharding attribute of the form #sdy.sharding, got 1}}
func.func private @no_sharding(tensor<12xf32> {sdy.sharding = 1 : i32})

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @sharding_of_op_for_all_results(%x: tensor<12xf32>) {
  // expected-error@+1 {{should have a sharding attribute of the form #sdy.sharding_per_value}}
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding<@grid, [{}]>} : tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @two_shardings_for_one_result(%x: tensor<12xf32>) {
  // expected-error@+1 {{result shardings don't match number of values: 2 shardings vs 1 values}}
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}]>, <@grid, [{}]>]>} : tensor<12xf32>
  return
}

// -----

func.func @only_result(%x: tensor<12xf32>) {
  // expected-error@+1 {{result - unknown mesh: @nowhere}}
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@nowhere, [{}]>]>} : tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @second_result(%x: tensor<12xf32>) {
  // expected-error@+1 {{result 1 - unknown axis name: "q"}}
  %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}]>, <@grid, [{"q"}]>]>} %x, %x : tensor<12xf32>, tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @no_results(%x: tensor<12xf32>) {
  // expected-error@+1 {{a maximal sharding can only have a sharding with rank 0}}
  return {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}]>]>}
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @sharded_without_results(%x: tensor<12xf32>) {
  // expected-error@+1 {{result shardings don't match number of values: 1 shardings vs 0 values}}
  return {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}]>]>}
}

// -----

sdy.mesh @one = <[], device_ids=[3]>
func.func @maximal_without_results_is_fine(%x: tensor<12xf32>) {
  return {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>}
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @axis_is_manual_outside(%x: tensor<12xf32>) -> tensor<12xf32> {
  // expected-note@+1 {{made manual here}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r"} (%y: tensor<6xf32>) {
    // expected-error@+1 {{result - axis "r" is already manual in a parent sdy.manual_computation}}
    %1 = stablehlo.sine %y {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}]>]>} : tensor<6xf32>
    sdy.return %1 : tensor<6xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// -----

func.func @edges_of_another_kind(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'stablehlo.sine' op should have edges of the form #sdy.propagation_edges as "sdy.propagation_edges", got []}}
  %0 = "stablehlo.sine"(%x) {sdy.propagation_edges = []} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @edges_of_results_without_a_list(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{should have a list of #sdy.propagation_edges as "sdy.result_propagation_edges", got unit}}
  %0 = "stablehlo.sine"(%x) {sdy.result_propagation_edges} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @edges_of_arguments_in_a_list_of_another_kind(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{should have a list of #sdy.propagation_edges as "sdy.block_arg_propagation_edges", got [unit]}}
  %0 = "stablehlo.sine"(%x) {sdy.block_arg_propagation_edges = [unit]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["r"=8]>
// expected-error@+1 {{arg 0 - sub-axis next pre-size (pre-size times size) doesn't divide the size of the full axis 8: "r":(4611686018427387904)4}}
func.func private @sub_axes_beyond_all_numbers(tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r":(4611686018427387904)4, "r":(1)2}]>})
