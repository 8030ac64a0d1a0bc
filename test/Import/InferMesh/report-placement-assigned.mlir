// RUN: mpmd-opt %s -mpmd-report-placement=input-assignment=1@a,2@a -verify-diagnostics

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// What the user put where it is, is no news.
func.func @is_silent_about_assigned_inputs(%w0: !b, %w1: !a, %m: !a) -> (!a, !b) attributes {topology = #topology} {
  %t = mpmd.transfer %w1 : (!a) -> !b
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%w0, %t) (%x: !t, %y: !t) {
    mpmd.return %x : !t
  } : (!b, !b) -> !b
  %r = mpmd.fragment<mesh="a", origin=[]> (%w1, %m) (%x: !t, %y: !t) {
    %s = stablehlo.add %x, %y : !t
    mpmd.return %s : !t
  } : (!a, !a) -> !a
  return %r, %g : !a, !b
}
