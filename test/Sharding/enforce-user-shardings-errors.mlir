// RUN: mpmd-opt %s -mpmd-enforce-user-shardings -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

// One warning for arguments and one for results.
func.func @warns_of_first_argument_and_first_result(
    %a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>},
    // expected-warning@+1 {{Sub-axes sharding found for arg 1: #sdy.sharding<@g, [{"x", "y":(1)2}, {}]> will be truncated to #sdy.sharding<@g, [{"x"}, {}]>}}
    %b: !m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {}]>},
    %c: !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {}]>})
    -> (!m, !m {sdy.sharding = #sdy.sharding<@g, [{}, {"y":(1)2}]>}) attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !m
  // expected-warning@+1 {{Sub-axes sharding found for result 1: #sdy.sharding<@g, [{}, {"y":(1)2}]> will be truncated to #sdy.sharding<@g, [{}, {}]>}}
  return %a, %0 : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

func.func @warns_once_per_process(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {}]>})
    -> (!m {sdy.sharding = #sdy.sharding<@g, [{}, {"y":(1)2}]>}) attributes {topology = #topology} {
  return %a : !m
}
