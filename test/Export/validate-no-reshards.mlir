// RUN: mpmd-opt %s -mpmd-validate-no-reshards -verify-diagnostics | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<12x8xf32>>
!m_r = !mpmd.mesh_tensor<"m", tensor<12x8xf32>, sharding=<@grid, [{"r"}, {}]>>
!s = !mpmd.mesh_tensor<"m", tensor<i32>, sharding=<@grid, []>>
#topology = #mpmd.topology<<"m": <["r"=2]>>>
sdy.mesh @grid = <["r"=2]>

// CHECK-LABEL: func @shows_shardings_shapes_and_names
// CHECK-NEXT:    mpmd.fragment_call
func.func @shows_shardings_shapes_and_names(%w: !m loc("w")) -> (!m_r {jax.result_info = "out"}) attributes {topology = #topology} {
  // expected-warning@+1 {{Detected reshard-only fragment 'p0_inferred.main', which usually indicates an unexpected reshard. Operands: Replicated <12x8xf32> loc("w"). Results: #sdy.sharding<@grid, [{"r"}, {}]> <12x8xf32> loc("out")}}
  %0 = mpmd.fragment_call<mesh="m", origin=[]> @p0_inferred.main(%w) : (!m) -> !m_r
  return %0 : !m_r
}

// A result returned twice has two names, one that is not returned has none.
func.func @lists_all_operands_and_results(%w: !m_r loc("w"), %s: !s loc("s"("f.py":1:2))) -> (!m_r {jax.result_info = "out"}, !s {jax.result_info = "[0]"}, !s, !s {jax.result_info = "[1]"}) attributes {topology = #topology} {
  // expected-warning@+1 {{Operands: #sdy.sharding<@grid, [{"r"}, {}]> <12x8xf32> loc("w"), #sdy.sharding<@grid, []> <i32> loc("s"("f.py":1:2)). Results: #sdy.sharding<@grid, []> <i32> loc("[1]") loc("[0]"), Replicated <12x8xf32>}}
  %0:2 = mpmd.fragment_call<mesh="m", origin=[]> @swap(%w, %s) : (!m_r, !s) -> (!s, !m)
  return %w, %0#0, %0#0, %0#0 : !m_r, !s, !s, !s
}

func.func @none_returned_counts() attributes {topology = #topology} {
  // expected-warning@+1 {{Detected reshard-only fragment 'nothing', which usually indicates an unexpected reshard. Operands: . Results: }}
  mpmd.fragment_call<mesh="m", origin=[]> @nothing() : () -> ()
  return
}

func.func @accepts_functions_that_compute(%w: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="m", origin=[]> @computes(%w) : (!m) -> !m
  %1 = mpmd.fragment_call<mesh="m", origin=[]> @declared(%w) : (!m) -> !m
  return %0, %1 : !m, !m
}

func.func @p0_inferred.main(%x: tensor<12x8xf32>) -> tensor<12x8xf32> attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return %x : tensor<12x8xf32>
}
func.func @swap(%x: tensor<12x8xf32>, %y: tensor<i32>) -> (tensor<i32>, tensor<12x8xf32>) attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return %y, %x : tensor<i32>, tensor<12x8xf32>
}
func.func @nothing() attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return
}
func.func @computes(%x: tensor<12x8xf32>) -> tensor<12x8xf32> attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  %0 = stablehlo.negate %x : tensor<12x8xf32>
  return %x : tensor<12x8xf32>
}
func.func private @declared(tensor<12x8xf32>) -> tensor<12x8xf32> attributes {mesh_shape = #sdy.mesh<["r"=2]>}
