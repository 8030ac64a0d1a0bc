// RUN: mpmd-opt %s -mpmd-validate-named-ops-in-mpmd-func -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-validate-named-ops-in-mpmd-func 2>/dev/null | FileCheck %s

!t = tensor<3xf32>
#topology = #mpmd.topology<<"p": <["d"=3]>>>

// CHECK-LABEL: func @accepts_named_ops_in_mpmd_ops
func.func @accepts_named_ops_in_mpmd_ops(%x: !t) -> !t attributes {topology = #topology} {
  %0 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    %1 = mpmd.named_tensor %a name="t" : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  %2 = mpmd.for (%0) {iterations = 2 : ui32} (%y: !t, %index: tensor<ui32>) {
    %3 = mpmd.named_tensor %y name="t" : !t
    mpmd.return %3 : !t
  } : !t
  return %2 : !t
}

// Only the outer op is reported, and the program is printed all the same.
// CHECK-LABEL: func @reports_computation_in_plain_function
func.func @reports_computation_in_plain_function(%x: !t) -> !t {
  // expected-error@+1 {{Named computations can only be nested in mpmd functions or mpmd ops}}
  %0 = mpmd.named_computation<"g"> (%x) (%a: !t) {
    %1 = mpmd.named_tensor %a name="t" : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @reports_tensor_in_spmd_function
func.func @reports_tensor_in_spmd_function(%x: !t) -> !t attributes {mesh_shape = #sdy.mesh<["d"=3]>} {
  // expected-error@+1 {{Named tensors can only be nested in mpmd functions or mpmd ops}}
  %0 = mpmd.named_tensor %x name="t" : !t
  return %0 : !t
}

// CHECK-LABEL: func @reports_tensor_in_other_region
func.func @reports_tensor_in_other_region(%x: !t, %i: tensor<i32>) -> !t attributes {topology = #topology} {
  %0 = "stablehlo.case"(%i) ({
    // expected-error@+1 {{Named tensors can only be nested in mpmd functions or mpmd ops}}
    %1 = mpmd.named_tensor %x name="t" : !t
    stablehlo.return %1 : !t
  }) : (tensor<i32>) -> !t
  return %0 : !t
}
