// RUN: mpmd-opt %s -mpmd-retarget-shardings=warn=false -verify-diagnostics | FileCheck %s

sdy.mesh @mesh = <["x"=2]>
// CHECK: func @loses_an_axis_in_silence
// CHECK-SAME: #sdy.sharding<@b, [{}, {}]>
func.func @loses_an_axis_in_silence(
    %b: !mpmd.mesh_tensor<"b", tensor<8x8xf32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=3]>>>} {
  return
}
