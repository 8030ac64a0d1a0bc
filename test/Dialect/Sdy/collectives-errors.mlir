// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @operand_without_sharding(%x: tensor<12x8xf32>) {
  // expected-error@+1 {{collective on operand without sharding; constrain the operand with sdy.sharding_constraint}}
  %0 = sdy.all_gather [{"r"}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @sliced_operand_is_taken_as_replicated(%x: tensor<12x8xf32>) {
  %0 = sdy.all_slice [{"r"}, {}] %x out_sharding=<@grid, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @unknown_axis(%x: tensor<12x8xf32>) {
  // expected-error@+1 {{out_sharding - unknown axis name: "q"}}
  %0 = sdy.all_slice [{"q"}, {}] %x out_sharding=<@grid, [{"q"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @line = <["r"=2]>
func.func @other_mesh(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{does not match operand mesh}}
  %0 = sdy.all_gather [{"r"}, {}] %x out_sharding=<@line, [{}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @line = <["r"=2]>
sdy.mesh @reversed = <["r"=2], device_ids=[1, 0]>
func.func @permute_between_device_orders(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@line, [{"r"}, {}]>}) {
  %0 = sdy.collective_permute %x out_sharding=<@reversed, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @one_list_for_two_dims(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{expected one list of axes per dimension, got 1 for rank 2}}
  %0 = sdy.all_gather [{"r"}] %x out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @gathers_what_is_not_there(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{axes do not match in dimension 0: expected {"c"}, got {"r"}}}
  %0 = sdy.all_gather [{"c"}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @gathers_minor_half_of_axis(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c"}, {}]>}) {
  %0 = sdy.all_gather [{"c":(2)2}, {}] %x out_sharding=<@grid, [{"c":(1)2}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @permute_to_other_size(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{sharded sizes of operand and result do not match in dimension 0: 2 != 4}}
  %0 = sdy.collective_permute %x out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @moves_within_dimension(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{source and target dimension must differ, got 0 for both}}
  %0 = sdy.all_to_all [{"r"}: 0->0] %x out_sharding=<@grid, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @moves_to_unknown_dimension(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{dimensions 0 and 2 must be in the range of rank 2}}
  %0 = sdy.all_to_all [{"r"}: 0->2] %x out_sharding=<@grid, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @moves_major_axis(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c"}, {}]>}) {
  // expected-error@+1 {{axes {"r"} are not at the end of dimension 0: {"r", "c"}}}
  %0 = sdy.all_to_all [{"r"}: 0->1] %x out_sharding=<@grid, [{"c"}, {"r"}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @reduces_sharded_axis(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{reduction axis "r" overlaps operand axis "r"}}
  %0 = sdy.all_reduce {"r"} %x out_sharding=<@grid, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @forgets_unreduced_axis(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{unreduced axes do not match: expected {"r"}, got {}}}
  %0 = sdy.sharded_to_unreduced [{"r"}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @gathers_axis_in_pieces(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c"}, {}]>}) {
  // expected-error@+1 {{two consecutive sub-axes can be merged: "c":(1)2, "c":(2)2; write them as one}}
  %0 = sdy.all_gather [{"c":(1)2, "c":(2)2}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @reduces_in_another_order_than_the_mesh(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>}) {
  // expected-error@+1 {{axes are not ordered w.r.t. mesh: "c" comes before "r"; the mesh is #sdy.mesh<["r"=2, "c"=4]>}}
  %0 = sdy.all_reduce {"c", "r"} %x out_sharding=<@grid, [{}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @reduces_replicated_axis(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}], replicated={"r"}>}) {
  // expected-error@+1 {{reduction axis "r" overlaps replicated operand axis "r"}}
  %0 = sdy.all_reduce {"r"} %x out_sharding=<@grid, [{}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @leaves_reduced_axis_unreduced(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}], unreduced={"c"}>}) {
  // expected-error@+1 {{reduction axis "c":(1)2 overlaps unreduced result axis "c"}}
  %0 = sdy.all_reduce {"c":(1)2} %x out_sharding=<@grid, [{}, {}], unreduced={"c"}> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @all_to_all_without_parameters(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{parameter list is empty; expected the axes to move, and between which dimensions, as in [{"x"}: 0->1]}}
  %0 = sdy.all_to_all [] %x out_sharding=<@grid, [{"r"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @all_to_all_with_dimension_in_two_parameters(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>}) {
  // expected-error@+1 {{dimension 1 is in two parameters of an all_to_all}}
  %0 = sdy.all_to_all [{"r"}: 0->1, {"c"}: 1->0] %x out_sharding=<@grid, [{"c"}, {"r"}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @all_to_all_with_sources_out_of_order(%x: tensor<16x8x4x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}, {"c"}, {}]>}) {
  // expected-error@+1 {{source dimensions are not sorted in ascending order: 0 appears after 2}}
  %0 = sdy.all_to_all [{"c"}: 2->3, {"r"}: 0->1] %x out_sharding=<@grid, [{}, {"r"}, {}, {"c"}]> : tensor<16x8x4x4xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @leaves_nothing_unreduced(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) {
  // expected-error@+1 {{must have axes, those over which the result is unreduced}}
  %0 = sdy.replicated_to_unreduced {} %x out_sharding=<@grid, [{"r"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @gathers_more_than_can_be_counted(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c"}, {}]>}) {
  // expected-error@+1 {{sub-axis size must be greater than 1: "c":(2)-9223372036854775808}}
  %0 = sdy.all_gather [{"c":(2)-9223372036854775808}, {}] %x out_sharding=<@grid, [{"c":(1)2}, {}]> : tensor<12x8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=8]>
func.func @sub_axis_that_no_mesh_has(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}]>}) {
  // expected-error@+1 {{sub-axis next pre-size (pre-size times size) doesn't divide the size of the full axis 8: "r":(4611686018427387904)4}}
  %0 = sdy.all_gather [{"r":(4611686018427387904)4}] %x out_sharding=<@grid, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=8]>
func.func @operand_that_is_not_verified_yet() {
  // expected-error@+1 {{sharding of the operand - unknown axis name: "q"}}
  %0 = sdy.collective_permute %1 out_sharding=<@grid, [{"r"}]> : tensor<8xf32>
  %1 = sdy.reshard %0 <@grid, [{"q"}]> : tensor<8xf32>
  return
}
