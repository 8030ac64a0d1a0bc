// RUN: mpmd-opt %s -sdy-propagation-pipeline | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=4]>

// Each call shards the function in its own way; calls that agree share one.

// CHECK-LABEL: func @main
// CHECK-SAME:    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK-NEXT: call @outer(%{{.*}}) {kept, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
  %0 = call @outer(%x) {kept} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: call @[[CLONE:[a-z_0-9]+]](%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>}
  %1 = call @outer(%y) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: call @[[CLONE]](%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>}
  %2 = call @outer(%1) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %2 : tensor<8x16xf32>, tensor<8x16xf32>
}
func.func private @outer(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = call @inner(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func private @inner(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.cosine %x : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK: func private @inner(%{{.*}}: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
// CHECK-NEXT: stablehlo.cosine {{.*}}[{"x"}, {}]
// CHECK: func private @outer(%{{.*}}: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
// CHECK-NEXT: call @inner(
// CHECK: func private @[[INNER:[a-z_0-9]+]](%{{.*}}: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
// CHECK-NEXT: stablehlo.cosine {{.*}}[{}, {"y"}]
// CHECK: func private @[[CLONE]](%{{.*}}: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
// CHECK-NEXT: call @[[INNER]](
// CHECK-NOT: func
