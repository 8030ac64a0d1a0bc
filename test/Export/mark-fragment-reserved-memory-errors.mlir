// RUN: mpmd-opt %s -mpmd-mark-fragment-reserved-memory -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_each_other_op(%a: !m) -> (!m, tensor<4xf32>) attributes {topology = #topology} {
  // expected-error@+1 {{a function must consist of mpmd.fragment, mpmd.transfer and func.return}}
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%i: !m, %n: tensor<ui32>) {
    mpmd.return %i : !m
  } : !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{a function must consist of mpmd.fragment, mpmd.transfer and func.return}}
  %2 = mpmd.unassign %a : (!m) -> tensor<4xf32>
  return %1, %2 : !m, tensor<4xf32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<?xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// expected-error@+1 {{memory of a value of type '!mpmd.mesh_tensor<"m", tensor<?xf32>>' is not known; its shape must be static}}
func.func @reports_unknown_size(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<?xf32>) {
    mpmd.return %x : tensor<?xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"elsewhere", tensor<4xf32>, sharding=<@unknown, [{"y"}]>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// expected-error@+1 {{is not known; its sharding must fit a mesh of the program}}
func.func @reports_unknown_mesh(%a: !m) attributes {topology = #topology} {
  return
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@grid, [{"x"}, {}]>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @grid = <["x"=2]>

// expected-error@+1 {{is not known; its sharding must fit a mesh of the program}}
func.func @reports_sharding_of_another_rank(%a: !m) attributes {topology = #topology} {
  return
}
