// RUN: mpmd-opt %s -mpmd-introduce-transfers -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_transfer_from_host(%x: !m1 {mhlo.memory_kind = "pinned_host"}) -> !m2 attributes {topology = #topology} {
  %0 = mpmd.unassign %x : (!m1) -> tensor<4xf32>
  // expected-error@+1 {{Transfers from host with attributes are not allowed; put the memory kind into the type}}
  %1 = mpmd.assign %0 : (tensor<4xf32>) -> !m2
  return %1 : !m2
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>, memory_kind="unpinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_unknown_memory(%x: !m1) -> !m2 attributes {topology = #topology} {
  %0 = mpmd.unassign %x : (!m1) -> tensor<4xf32>
  // expected-error@+1 {{memory kind must be either "pinned_host" or "device", found "unpinned_host"}}
  %1 = mpmd.assign %0 : (tensor<4xf32>) -> !m2
  return %1 : !m2
}
