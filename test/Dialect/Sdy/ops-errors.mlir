// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @mesh_in_function() {
  // expected-error@+1 {{expects parent op 'builtin.module'}}
  sdy.mesh @grid = <["r"=2]>
  return
}

// -----

func.func @constraint_on_unknown_mesh(%x: tensor<12xf32>) {
  // expected-error@+1 {{'sdy.sharding_constraint' op unknown mesh: @nowhere}}
  %0 = sdy.sharding_constraint %x <@nowhere, [{}]> : tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @new_unreduced_axis_by_max(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}) {
  %0 = sdy.propagation_barrier %x allowed_direction=NONE : tensor<12xf32>
  // expected-error@+1 {{newly unreduced axis "r" must keep reduction kind sum, got max}}
  %1 = sdy.sharding_constraint %0 <@grid, [{}], unreduced=max{"r"}> : tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @other_reduction_kind(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{}], unreduced=max{"r"}>}) {
  %0 = sdy.reshard %x <@grid, [{}], unreduced=max{"r"}> : tensor<12xf32>
  // expected-error@+1 {{unreduced axis "r" must keep reduction kind max, got sum}}
  %1 = sdy.reshard %x <@grid, [{}], unreduced={"r"}> : tensor<12xf32>
  return
}

// -----

func.func @barrier_both_ways(%x: tensor<12xf32>) {
  // expected-error@+1 {{cannot have `BOTH` as its direction}}
  %0 = sdy.propagation_barrier %x allowed_direction=BOTH : tensor<12xf32>
  return
}

// -----

func.func @edge_of_dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{expected a value of static shape, got 'tensor<?xf32>'}}
  %0 = sdy.data_flow_edge %x : tensor<?xf32>
  return
}

// -----

func.func @edge_beside_other_use(%x: tensor<12xf32>) {
  // expected-error@+1 {{expected the operand of an edge to have a single user, it has 2}}
  %0 = sdy.data_flow_edge %x : tensor<12xf32>
  %1 = stablehlo.sine %x : tensor<12xf32>
  return
}

// -----

func.func @edge_of_sdy_op(%x: tensor<12xf32>) {
  // expected-note@+1 {{sdy op defining the operand of the edge}}
  %0 = sdy.propagation_barrier %x allowed_direction=NONE : tensor<12xf32>
  // expected-error@+1 {{expected the operand of an edge not to be defined by an sdy op}}
  %1 = sdy.data_flow_edge %0 : tensor<12xf32>
  return
}

// -----

func.func @edge_on_unknown_mesh(%x: tensor<12xf32>) {
  // expected-error@+1 {{'sdy.data_flow_edge' op unknown mesh: @nowhere}}
  %0 = sdy.data_flow_edge %x sharding=<@nowhere, [{}]> : tensor<12xf32>
  return
}

// -----

func.func @function_edge_of_op(%x: tensor<12xf32>) {
  %0 = stablehlo.sine %x : tensor<12xf32>
  // expected-error@+1 {{expected the operand to be an argument of a function or a result of a call}}
  %1 = sdy.func_data_flow_edge %0 : tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_with_unknown_mesh(%x: tensor<12xf32>) {
  // expected-error@+1 {{operand - unknown mesh: @nowhere}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@nowhere, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={} (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_with_unknown_axis_of_result(%x: tensor<12xf32>) {
  // expected-error@+1 {{result - unknown axis name: "q"}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{"q"}]>] manual_axes={} (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_with_missing_result(%x: tensor<12xf32>) {
  // expected-error@+1 {{number of op results and region results must match, but the op has 1 and the region 0}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={} (%y: tensor<12xf32>) {
    sdy.return
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_after_free_axis(%x: tensor<16xf32>) {
  // expected-error@+1 {{operand sharding at index 0 must have all manual axes before the free ones, but in dimension 0 manual axis "r" comes after free axis "c"}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"c", "r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r"} (%y: tensor<8xf32>) {
    sdy.return %y : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_axes_do_not_divide(%x: tensor<10xf32>) {
  // expected-error@+1 {{operand dimension size 10 is not divisible by the manual axes size 4}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"c"}]>] out_shardings=[<@grid, [{"c"}]>] manual_axes={"c"} (%y: tensor<2xf32>) {
    sdy.return %y : tensor<2xf32>
  } : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_with_global_type_in_body(%x: tensor<12xf32>) {
  // expected-error@+1 {{expected local shape 'tensor<6xf32>', actual local shape 'tensor<12xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r"} (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @line = <["r"=2]>
func.func @manual_on_two_meshes(%x: tensor<12xf32>) {
  // expected-error@+1 {{all in and out shardings must be bound to the same mesh}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@line, [{"r"}]>] manual_axes={"r"} (%y: tensor<6xf32>) {
    sdy.return %y : tensor<6xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @unknown_manual_axis(%x: tensor<12xf32>) {
  // expected-error@+1 {{unknown manual axis: "q"}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r", "q"} (%y: tensor<6xf32>) {
    sdy.return %y : tensor<6xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
func.func @manual_twice(%x: tensor<12xf32>) {
  // expected-note@+1 {{made manual here}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r"} (%y: tensor<6xf32>) {
    // expected-error@+1 {{axis "r" is already manual in a parent sdy.manual_computation}}
    %1 = sdy.manual_computation(%y) in_shardings=[<@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>] manual_axes={"r"} (%z: tensor<3xf32>) {
      sdy.return %z : tensor<3xf32>
    } : (tensor<6xf32>) -> tensor<6xf32>
    sdy.return %1 : tensor<6xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @named_with_other_argument_type(%x: tensor<12xf32>) {
  // expected-error@+1 {{block argument types 'tensor<6xf32>' must match the operand types 'tensor<12xf32>'}}
  %0 = sdy.named_computation<"f">(%x) (%y: tensor<6xf32>) {
    sdy.return %y : tensor<6xf32>
  } : (tensor<12xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @named_with_other_result_type(%x: tensor<12xf32>) {
  // expected-error@+1 {{returned types 'tensor<12xf32>' must match the result types 'tensor<6xf32>'}}
  %0 = sdy.named_computation<"f">(%x) (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @named_with_too_few_shardings(%x: tensor<12xf32>) {
  // expected-error@+1 {{in_shardings shardings don't match number of values: 0 shardings vs 1 values}}
  %0 = sdy.named_computation<"f">(%x) in_shardings=[] (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @constant_of_another_type_than_its_value() {
  // expected-error@+1 {{'sdy.constant' op failed to verify that the result has the type of the value}}
  %0 = "sdy.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<3xi32>
  return
}

// -----

func.func @returns_too_little(%x: tensor<12xf32>) -> tensor<12xf32> {
  // expected-error@+1 {{'sdy.return' op ends function @returns_too_little and must return 1 values of types ('tensor<12xf32>'), got 0 of types ()}}
  sdy.return
}

// -----

func.func @returns_another_type(%x: tensor<12xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{must return 1 values of types ('tensor<6xf32>'), got 1 of types ('tensor<12xf32>')}}
  sdy.return %x : tensor<12xf32>
}

// -----

func.func @reports_computation_that_returns_nothing(%a: tensor<4xf32>) {
  // expected-error@+1 {{'sdy.named_computation' op expects a non-empty block}}
  sdy.named_computation<"f">(%a) (%b: tensor<4xf32>) {
  } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @reports_manual_computation_without_body() {
  // expected-error@+1 {{'sdy.manual_computation' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  } : () -> ()
  return
}
