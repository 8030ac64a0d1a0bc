// RUN: split-file %s %t
// RUN: mpmd-opt %t/main.mlir '-mpmd-apply-configuration=function=other topology={<<"m": <["x"=2]>>>}' -verify-diagnostics
// RUN: mpmd-opt %t/donate.mlir '-mpmd-apply-configuration=topology={<<"m": <["x"=2]>>>} donate=1' -verify-diagnostics
// RUN: mpmd-opt %t/largest.mlir '-mpmd-apply-configuration=topology={<<"m": <["x"=2]>>>} donate=9223372036854775807' -verify-diagnostics
// RUN: mpmd-opt %t/unlisted.mlir '-mpmd-apply-configuration=topology={<<"m": <["x"=2]>>>} donate=1' -verify-diagnostics
// RUN: not mpmd-opt %t/topology.mlir '-mpmd-apply-configuration=topology=m' 2>&1 | FileCheck %s
// RUN: not mpmd-opt %t/topology.mlir '-mpmd-apply-configuration=topology={<<"m": <["x"=2]>>>"open}' 2>&1 | FileCheck %s

//--- main.mlir
// expected-error@+1 {{function: no function @other with a body in this program}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

//--- donate.mlir
// expected-error@+1 {{donate: argument 1 does not exist; @main has 1 arguments}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- largest.mlir
// expected-error@+1 {{donate: argument 9223372036854775807 does not exist; @main has 1 arguments}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- unlisted.mlir
// expected-error@+1 {{argument 0 of @main is donated by the program, but "donate" does not list it; add it, or leave "donate" out}}
func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- topology.mlir
// CHECK: error: topology: expected the part after #mpmd.topology
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
