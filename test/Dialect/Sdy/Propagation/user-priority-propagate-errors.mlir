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

// -----

// expected-error@+1 {{module has no main function; expected a single function, or one called @main, that does not have the attribute mpmd.shared_body}}
module {
  func.func private @main(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
    return %a : tensor<4xf32>
  }
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  // expected-error@+1 {{is in a function with the attribute mpmd.shared_body, where shardings do not propagate through it; run mpmd-unshare-bodies before}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    %1 = stablehlo.sine %b : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
sdy.mesh @mesh = <["x"=2]>

func.func @reports_sharding_of_fragment_on_another_axis(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{sharding of result 0: unknown axis name: "y"}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@mesh, [{"y"}]>]> (%a) (%x: tensor<8xf32>) {
    mpmd.return %x : tensor<8xf32>
  } : (!m) -> !m
  return %0 : !m
}
