// RUN: mpmd-opt %s -mpmd-validate-no-inferred-fragments -verify-diagnostics | FileCheck %s
// RUN: mpmd-opt %s -mpmd-validate-no-inferred-fragments=fail-on-inferred-fragments=false -verify-diagnostics | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @warns_of_fragments_that_may_have_no_neighbour
// CHECK-COUNT-7: mpmd.inferred_by
func.func @warns_of_fragments_that_may_have_no_neighbour() attributes {topology = #topology} {
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by uniquify)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["uniquify"]} () { mpmd.return } : () -> ()
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by infer_mesh_wrap_meshless_ops)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} () { mpmd.return } : () -> ()
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by extract_reshards)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["extract_reshards"]} () { mpmd.return } : () -> ()
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by infer_mesh_wrap_resultless_ops)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_resultless_ops"]} () { mpmd.return } : () -> ()
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by infer_mesh_convert_reduce_ops)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_convert_reduce_ops"]} () { mpmd.return } : () -> ()
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by introduce_transfers)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["introduce_transfers"]} () { mpmd.return } : () -> ()
  // One of them is enough.
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by other, uniquify)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["other", "uniquify"]} () { mpmd.return } : () -> ()
  return
}

func.func @accepts_user_fragments(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
