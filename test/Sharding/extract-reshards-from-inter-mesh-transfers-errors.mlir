// RUN: mpmd-opt %s -mpmd-extract-reshards-from-inter-mesh-transfers -verify-diagnostics -split-input-file

!m_host = !mpmd.mesh_tensor<"m", tensor<8xf32>, memory_kind="pinned_host">
!n_host = !mpmd.mesh_tensor<"n", tensor<8xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// Whatever the shardings are.
func.func @reports_every_transfer_from_host_to_host(%a: !m_host) -> (!n_host, !m_host) attributes {topology = #topology} {
  // expected-error@+1 {{Resharding on host not supported}}
  %0 = mpmd.transfer %a : (!m_host) -> !n_host
  // expected-error@+1 {{Resharding on host not supported}}
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}]>]>} %a : (!m_host) -> !m_host
  return %0, %1 : !n_host, !m_host
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

func.func @warns_of_first_resharding_transfer(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}]>}) -> (!n, !n, !n) attributes {topology = #topology} {
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}]>]>} %a : (!m) -> !n
  // expected-warning@+1 {{resharding transfer: the operand and the result are sharded differently, which costs performance}}
  %1 = mpmd.transfer %a : (!m) -> !n
  %2 = mpmd.transfer %a : (!m) -> !n
  return %0, %1, %2 : !n, !n, !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

func.func @warns_once_per_process(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}]>}) -> !m attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !m
  return %0 : !m
}

// -----

// expected-error@+1 {{reshards can only be extracted from a function on several meshes, which has the attribute `topology` instead of `mesh_shape`}}
func.func @reports_spmd_function(%a: tensor<8xf32>) attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return
}

// -----

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// Fragments do not verify their shardings.
func.func @reports_part_of_no_size(%a: !m) -> !n attributes {topology = #topology} {
  // expected-error@+1 {{sharding of result 0: }}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x":(1)0}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m) -> !n
  return %1 : !n
}

// -----

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

func.func @reports_parts_of_more_than_the_axis(%a: !m) -> !n attributes {topology = #topology} {
  // expected-error@+1 {{sharding of result 0: }}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x":(1)4611686018427387904, "x":(1)4}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m) -> !n
  return %1 : !n
}
