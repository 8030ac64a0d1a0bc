// RUN: mpmd-opt %s -mpmd-call-inline=erase-callees=true | FileCheck %s
// RUN: mpmd-opt %s -mpmd-call-inline="erase-callees=true mark-nested-locations=false" -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=LOC

!t = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func public @main
// CHECK-NOT:     mpmd.call
// CHECK-COUNT-2: mpmd.fragment
// LOC-LABEL: func public @main
// LOC:         stablehlo.abs %{{.*}} loc("body")
// LOC:         loc(callsite("fragment" at "call"))
func.func public @main(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.call @called(%x) : (!m) -> !m loc("call")
  %1 = mpmd.call @called(%0) : (!m) -> !m
  %2 = mpmd.call @called_otherwise(%1) : (!m) -> !m
  %3 = func.call @called_otherwise(%2) : (!m) -> !m
  return %3 : !m
}

// CHECK-NOT: @called(
func.func private @called(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.abs %a : !t loc("body")
    mpmd.return %1 : !t
  } : (!m) -> !m loc("fragment")
  return %0 : !m
}

// CHECK: func private @called_otherwise
func.func private @called_otherwise(%x: !m) -> !m attributes {topology = #topology} {
  return %x : !m
}

// CHECK: func private @never_called
func.func private @never_called(%x: !m) -> !m attributes {topology = #topology} {
  return %x : !m
}

// A copy of the call in @calls is still there.
// CHECK-LABEL: func @keeps_what_a_copy_calls
// CHECK-NEXT:    mpmd.call @called_by_callee
func.func @keeps_what_a_copy_calls(%x: !t) -> !t {
  %0 = mpmd.call @calls(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK-NOT: @calls(
func.func private @calls(%x: !t) -> !t {
  %0 = mpmd.call @called_by_callee(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK: func private @called_by_callee
func.func private @called_by_callee(%x: !t) -> !t {
  return %x : !t
}
