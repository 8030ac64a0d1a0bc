// RUN: mpmd-opt %s -mpmd-validate-no-reshards=fail-on-reshard-only-fragments=true -verify-diagnostics -split-input-file
// RUN: not mpmd-opt %s -mpmd-validate-no-reshards -split-input-file 2>&1 | FileCheck %s

// CHECK: error: Internal error: 'same'
// CHECK: warning: Detected reshard-only fragment 'same'

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["r"=2]>>>

func.func @reports_fragment_that_is_not_inferred(%w: !m) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{Internal error: 'same' does nothing but reshard, but its fragment has an origin: it is not an inferred fragment}}
  %0 = mpmd.fragment_call<mesh="m", origin=["f"]> @same(%w) : (!m) -> !m
  return %0 : !m
}
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return %x : tensor<4xf32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["r"=2]>>>

func.func @reports_each_reshard(%w: !m) -> (!m, !m) attributes {topology = #topology} {
  // expected-error@+1 {{Detected reshard-only fragment 'same'}}
  %0 = mpmd.fragment_call<mesh="m", origin=[]> @same(%w) : (!m) -> !m
  // expected-error@+1 {{Detected reshard-only fragment 'same'}}
  %1 = mpmd.fragment_call<mesh="m", origin=[]> @same(%w) : (!m) -> !m
  return %0, %1 : !m, !m
}
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return %x : tensor<4xf32>
}
