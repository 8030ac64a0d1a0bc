// What custom calls do goes into schedule.json and the table if it is given;
// else they are listed.

// RUN: split-file %s %t
// RUN: meshwright partition %t/program.mlir --config %t/config.json -o %t/out >%t/table 2>&1
// RUN: FileCheck %s --check-prefix=NOTE --input-file %t/table
// RUN: FileCheck %s --check-prefix=NONE --input-file %t/out/schedule.json
// NOTE-DAG: 1 custom calls and loops of unknown work are not in FLOPs: custom calls flash_attention
// NOTE-DAG: note: the work of custom calls flash_attention is unknown, and counts as 0 in schedule.json and the table; give it with --cost 'NAME=flops:EXPRESSION'
// NONE: "flops": 0,

// RUN: meshwright partition %t/program.mlir --config %t/config.json -o %t/out \
// RUN:   --cost 'flash_attention=flops:4*b*h' --cost 'other=flops:1' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TABLE --implicit-check-not=note --implicit-check-not=custom
// RUN: FileCheck %s --check-prefix=FLOPS --input-file %t/out/schedule.json
// TABLE: m1 1 1 256
// FLOPS: "flops": 256,

// The same from the configuration, which the command's option goes before.
// RUN: meshwright partition %t/program.mlir --config %t/config.json -o %t/out \
// RUN:   --set 'mpmd_custom_costs=flash_attention=flops:b*h; other=flops:1' >/dev/null
// RUN: FileCheck %s --check-prefix=QUARTER --input-file %t/out/schedule.json
// QUARTER: "flops": 64,

// RUN: not meshwright partition %t/program.mlir --config %t/config.json -o %t/no \
// RUN:   --cost 'flash_attention=work:b' 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: options.mpmd_custom_costs: --cost 'flash_attention=work:b': expected "flops:" or "bytes:" and a formula, got "work:b"
// RUN: not ls %t/no

//--- config.json
{"topology": {"m1": {"x": 1}}, "assignment": {"f": "m1"}}
//--- program.mlir
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<8x8xf32>) {
    %1 = stablehlo.custom_call @flash_attention(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    mpmd.return %1 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
