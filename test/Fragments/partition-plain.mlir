// What only JAX reads is left out of fragments with --plain, and so are the shardings
// of a mesh of one device.

// RUN: split-file %s %t
// RUN: meshwright partition %t/program.mlir --config %t/one.json -o %t/one --plain
// RUN: cat %t/one/fragments/*.mlir | FileCheck %s --implicit-check-not=sdy \
// RUN:   --implicit-check-not='{{(mhlo|jax|tf)[.]}}'
// CHECK-LABEL: module @p0_f.step
// CHECK-NEXT: func.func @main(%[[X:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:   %[[CONST:.*]] = stablehlo.constant
// CHECK-NEXT:   %[[TANH:.*]] = stablehlo.tanh %[[X]] : tensor<4x8xf32>
// CHECK-NEXT:   %[[SUM:.*]] = stablehlo.add %[[TANH]], %[[CONST]]
// CHECK-NEXT:   %[[TWICE:.*]] = stablehlo.multiply %[[SUM]], %[[SUM]]
// CHECK-NEXT:   return %[[TWICE]]

// Locations are in bytecode, and in it alone.
// RUN: meshwright partition %t/program.mlir --config %t/one.json -o %t/bytes --emit-bytecode
// RUN: mpmd-opt --verify-roundtrip=0 --mlir-print-debuginfo %t/bytes/fragments/p0_f.step.mlirbc \
// RUN:   | FileCheck %s --check-prefix=PLACE
// PLACE: loc("user.py":7:3)
// RUN: meshwright partition %t/program.mlir --config %t/one.json -o %t/bytes --emit-bytecode --plain
// RUN: mpmd-opt --verify-roundtrip=0 --mlir-print-debuginfo %t/bytes/fragments/p0_f.step.mlirbc \
// RUN:   | FileCheck %s --check-prefix=NOWHERE --implicit-check-not=user.py
// NOWHERE: stablehlo.tanh {{.*}} loc(#loc)

// On several devices a sharding says what each of them holds.
// RUN: sed 's/"x"=1/"x"=2/; s/!local = tensor<4/!local = tensor<2/' %t/program.mlir >%t/two.mlir
// RUN: meshwright partition %t/two.mlir --config %t/two.json -o %t/two --plain
// RUN: cat %t/two/fragments/*.mlir | FileCheck %s --check-prefix=TWO \
// RUN:   --implicit-check-not='{{(mhlo|jax|tf)[.]}}'
// TWO: sdy.mesh @mesh = <["x"=2]>
// TWO: func.func @main(%{{.*}}: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
// TWO: sdy.manual_computation

// RUN: not meshwright partition %t/program.mlir --config %t/one.json -o - --plain 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STDOUT
// STDOUT: error: --plain is for the files of fragments, and -o - writes none; name a folder
// RUN: not meshwright partition %t/program.mlir --config %t/one.json -o %t/no --until shard \
// RUN:   --portable=1.9.0 2>&1 | FileCheck %s --check-prefix=UNTIL
// UNTIL: error: --portable is for the files of fragments, which are written after the last phase; leave out --until
// RUN: not ls %t/no

//--- one.json
{"topology": {"m1": {"x": 1}}, "assignment": {"f": "m1"}, "donate": [0]}
//--- two.json
{"topology": {"m1": {"x": 2}}, "assignment": {"f": "m1"}, "donate": [0]}
//--- program.mlir
!local = tensor<4x8xf32>
module @step {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main(%x: tensor<4x8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<4x8xf32> {jax.result_info = "result"}) {
    %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4x8xf32>) {
      %1 = stablehlo.tanh %a {mhlo.frontend_attributes = {kind = "fast"}} : tensor<4x8xf32> loc("user.py":7:3)
      %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
      %3 = sdy.constant dense<1.0> : tensor<4x8xf32>
      %4 = stablehlo.add %2, %3 : tensor<4x8xf32>
      %5 = stablehlo.custom_call @annotate_device_placement(%4) {mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %6 = sdy.manual_computation(%5) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
          manual_axes={"x"} (%b: !local) {
        %7 = stablehlo.multiply %b, %b : !local
        sdy.return %7 : !local
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      mpmd.return %6 : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
