// RUN: split-file %s %t
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%0#1 | FileCheck %s --check-prefix=ONE
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%0 | FileCheck %s --check-prefix=ALL
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%x | FileCheck %s --check-prefix=ARG
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%a | FileCheck %s --check-prefix=INNER
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%called#1 | FileCheck %s --check-prefix=CALLED
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%given | FileCheck %s --check-prefix=PASSED
// RUN: meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%1 --json | FileCheck %s --check-prefix=JSON
// RUN: not meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%unread 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: not meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%caled 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%0#2 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not meshwright explain-sharding %t/program.mlir --config %t/config.json --value=%0#x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: mpmd-opt %t/program.mlir --emit-bytecode -o %t/program.mlirbc
// RUN: not meshwright explain-sharding %t/program.mlirbc --config %t/config.json --value=%0 2>&1 | FileCheck %s --check-prefix=BYTECODE

// A result of a named computation is that of its fragment.
// ONE: result 1 of mpmd.fragment on mesh "m1"
// ONE-NEXT: dimension 0 by "x", from argument 0 of @main
// ONE-NOT: of mpmd.fragment on mesh "m1", {{.*}}:{{$}}
// ALL: result 0 of mpmd.fragment on mesh "m1"
// ALL: result 1 of mpmd.fragment on mesh "m1"
// ARG: argument 0 of @main, {{.*}}program.mlir:6:17:
// ARG-NEXT: dimension 0 by "x", which is written there

// Two bodies have an argument of this name.
// INNER: argument 0 of mpmd.fragment on mesh "m1", {{.*}}program.mlir:7:50:
// INNER: argument 0 of mpmd.fragment on mesh "m2", {{.*}}program.mlir:14:50:

// A result of a call is what the callee returns, its argument what is passed.
// CALLED: stablehlo.cosine, {{.*}}program.mlir:3:8:
// CALLED-NOT: of mpmd.fragment on mesh "m1", {{.*}}:{{$}}
// PASSED: stablehlo.exponential, {{.*}}program.mlir:9:10:
// PASSED-NEXT: dimension 0 by "x", from argument 0 of @main

// JSON: "name": "result 0 of mpmd.fragment on mesh \"m2\"",
// JSON: "line": 14,
// JSON: "axis": "\"x\"",
// JSON: "name": "argument 0 of @main",
// JSON: "operation": "mpmd.transfer",
// JSON: "direction": "operand 0 to result 0"

// GONE: program.mlir:6:1: error: value "%unread" was removed before shardings propagate: nothing reads it, or it was merged into another value; name a value that reads it, or one that it is computed from
// UNKNOWN: error: no value of the program is written "%caled"; did you mean "%called"?
// NUMBER: error: value "%0#{{.}}": expected a number of one of the 2 results of %0 after #
// BYTECODE: error: value "%0" has a name of a text, and this program is bytecode, in which values have none; give the program as text

//--- config.json
{"topology": {"m1": {"x": 2}, "m2": {"x": 2}}, "assignment": {"encoder": "m1", "decoder": "m2"}}
//--- program.mlir
sdy.mesh @mesh = <["x"=2]>
func.func private @helper(%given: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.cosine %given : tensor<8x4xf32>
  return %given, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = mpmd.named_computation<"encoder"> (%x) (%a: tensor<8x4xf32>) {
    %2 = stablehlo.sine %a : tensor<8x4xf32>
    %3 = stablehlo.exponential %a : tensor<8x4xf32>
    %unread = stablehlo.negate %a : tensor<8x4xf32>
    %called:2 = func.call @helper(%3) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    mpmd.return %2, %called#1 : tensor<8x4xf32>, tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %1 = mpmd.named_computation<"decoder"> (%0#0) (%a: tensor<8x4xf32>) {
    %2 = stablehlo.tanh %a : tensor<8x4xf32>
    mpmd.return %2 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>
}
