// RUN: sed 's/ALIAS/1 : i32/' %s > %t.mlir
// RUN: not meshwright simulate %t.mlir --device h100 2>&1 | FileCheck %s -DGIVEN='1 : i32'
// RUN: sed 's/ALIAS/-1 : i32/' %s > %t.mlir
// RUN: not meshwright simulate %t.mlir --device h100 2>&1 | FileCheck %s -DGIVEN='-1 : i32'
// RUN: sed 's/ALIAS/36893488147419103232 : i128/' %s > %t.mlir
// RUN: not meshwright simulate %t.mlir --device h100 2>&1 \
// RUN:   | FileCheck %s -DGIVEN='36893488147419103232 : i128'
// RUN: sed 's/ALIAS/0 : i32/' %s > %t.mlir
// RUN: meshwright simulate %t.mlir --device h100 | FileCheck %s --check-prefix=RESULT
// RESULT: critical path

// CHECK: {{.*}}:[[#@LINE+5]]:{{.*}}error: cannot be run: argument 0 has tf.aliasing_output = [[GIVEN]], expected an index below the number of its results, 1
func.func @main(%x: !mpmd.mesh_tensor<"m1", tensor<8xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<8xf32>> attributes {topology = #mpmd.topology<<"m1": <["x"=1]>>>} {
  %0 = mpmd.fragment_call<mesh="m1", origin=[]> @p0_f(%x) : (!mpmd.mesh_tensor<"m1", tensor<8xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<8xf32>>
  return %0 : !mpmd.mesh_tensor<"m1", tensor<8xf32>>
}
func.func @p0_f(%x: tensor<8xf32> {tf.aliasing_output = ALIAS}) -> tensor<8xf32> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
