// RUN: echo '{"topology": {"m1": {"x": 2}, "m2": {"x": 2}}, "assignment": {"encoder": "m1", "decoder": "m2"}}' > %t.json
// RUN: meshwright explain-sharding %s --config %t.json --value="result 0" | FileCheck %s

// From one mesh to another,
// in and out of fragments.
// CHECK: result 0 of @main:
// CHECK-NEXT: dimension 0 by "x", from argument 0 of @main, {{.*}}:18:17
// CHECK-NEXT: into argument 0 of mpmd.fragment on mesh "m1", {{.*}}
// CHECK-NEXT: stablehlo.sine, {{.*}}:20:10: operand 0 to result 0
// CHECK-NEXT: into result 0 of mpmd.fragment on mesh "m1", {{.*}}:19:8
// CHECK-NEXT: mpmd.transfer, {{.*}}: operand 0 to result 0
// CHECK-NEXT: into argument 0 of mpmd.fragment on mesh "m2", {{.*}}
// CHECK-NEXT: stablehlo.tanh, {{.*}}:24:10: operand 0 to result 0
// CHECK-NEXT: into result 0 of mpmd.fragment on mesh "m2", {{.*}}:23:8
// CHECK-NEXT: func.return of @main: to result 0

sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = mpmd.named_computation<"encoder"> (%x) (%a: tensor<8x4xf32>) {
    %2 = stablehlo.sine %a : tensor<8x4xf32>
    mpmd.return %2 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = mpmd.named_computation<"decoder"> (%0) (%a: tensor<8x4xf32>) {
    %2 = stablehlo.tanh %a : tensor<8x4xf32>
    mpmd.return %2 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
