// RUN: mpmd-opt %s -mpmd-slice-in-units | FileCheck %s

!x = tensor<8x3xf32>
!p = tensor<4x3xf32>
!X = !mpmd.mesh_tensor<"m", tensor<8x3xf32>>
!P = !mpmd.mesh_tensor<"m", tensor<4x3xf32>>
!XS = !mpmd.mesh_tensor<"m", tensor<8x3xf32>, sharding=<@mesh, [{}, {"x"}]>>
!PS = !mpmd.mesh_tensor<"m", tensor<4x3xf32>, sharding=<@mesh, [{}, {"x"}]>>
!XR = !mpmd.mesh_tensor<"m", tensor<8x3xf32>, sharding=<@mesh, [{"x"}, {}]>>
!PR = !mpmd.mesh_tensor<"m", tensor<4x3xf32>, sharding=<@mesh, [{"x"}, {}]>>
#topology = #mpmd.topology<<"m": <["x"=1]>>, <"n": <["x"=1]>>>
sdy.mesh @mesh = <["x"=1]>

// The forward and the backward of a microbatch each cut its part; what else the fragment
// returns, and where the batch was an operand already, stays.

// CHECK-LABEL: func @parts
// CHECK:         %[[ONCE:.*]]:3 = mpmd.fragment<mesh="m", origin=[]> () () {
// CHECK-NEXT:      %[[ZERO:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:      %[[ROW0:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT:      %[[ROW4:.*]] = stablehlo.constant dense<4> : tensor<i32>
// CHECK-NEXT:      mpmd.return %[[ROW0]], %[[ZERO]], %[[ROW4]] : tensor<i32>, tensor<4x3xf32>, tensor<i32>
// CHECK-NEXT:    } : () -> (!mpmd.mesh_tensor<"m", tensor<i32>>, !mpmd.mesh_tensor<"m", tensor<4x3xf32>>, !mpmd.mesh_tensor<"m", tensor<i32>>)
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%[[ONCE]]#0, %arg0) {call_counter = 0 : ui32} (%[[ROW:.*]]: tensor<i32>, %[[X:.*]]: tensor<8x3xf32>)
// CHECK-NEXT:      %[[FIRST:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT:      %[[PART:.*]] = stablehlo.dynamic_slice %[[X]], %[[ROW]], %[[FIRST]], sizes = [4, 3]
// CHECK-NEXT:      stablehlo.add %[[PART]], %[[PART]]
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%[[ONCE]]#2, %arg0) {call_counter = 1 : ui32} (%[[ROW:.*]]: tensor<i32>, %[[X:.*]]: tensor<8x3xf32>)
// CHECK:           stablehlo.dynamic_slice %[[X]], %[[ROW]],
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0, %[[ONCE]]#0, %[[ONCE]]#1) {call_counter = 0 : ui32} (%[[X:.*]]: tensor<8x3xf32>, %[[ROW:.*]]: tensor<i32>, %{{.*}}: tensor<4x3xf32>)
// CHECK:           stablehlo.dynamic_slice %[[X]], %[[ROW]],
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0, %[[ONCE]]#2, %{{.*}}) {call_counter = 1 : ui32}
func.func @parts(%x: !X) -> (!P, !P, !P) attributes {topology = #topology} {
  %c:3 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %zero = stablehlo.constant dense<0.0> : !p
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %zero, %1 : !p, !p, !p
  } : (!X) -> (!P, !P, !P)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    %r = stablehlo.add %a, %a : !p
    mpmd.return %r : !p
  } : (!P) -> !P
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#2) {call_counter = 1 : ui32} (%a: !p) {
    %r = stablehlo.add %a, %a : !p
    mpmd.return %r : !p
  } : (!P) -> !P
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x, %c#0, %c#1) {call_counter = 0 : ui32} (%b: !x, %a: !p, %s: !p) {
    %r = stablehlo.add %a, %s : !p
    mpmd.return %r : !p
  } : (!X, !P, !P) -> !P
  %3 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x, %c#2, %2) {call_counter = 1 : ui32} (%b: !x, %a: !p, %s: !p) {
    %r = stablehlo.add %a, %s : !p
    mpmd.return %r : !p
  } : (!X, !P, !P) -> !P
  return %0, %1, %3 : !P, !P, !P
}

// Columns that devices divide, but not rows.

// CHECK-LABEL: func @columns
// CHECK:         mpmd.fragment<mesh="m", origin=[]> () () {
// CHECK:         } : () -> (!mpmd.mesh_tensor<"m", tensor<i32>, sharding=<@mesh, []>>, !mpmd.mesh_tensor<"m", tensor<i32>, sharding=<@mesh, []>>)
func.func @columns(%x: !XS) -> (!PS, !PS) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!XS) -> (!PS, !PS)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!PS) -> !PS
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!PS) -> !PS
  return %0, %1 : !PS, !PS
}

// CHECK-LABEL: func @rows
// CHECK-NOT:     dynamic_slice
// CHECK:         return
func.func @rows(%x: !XR) -> (!PR, !PR) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!XR) -> (!PR, !PR)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!PR) -> !PR
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!PR) -> !PR
  return %0, %1 : !PR, !PR
}

// A part that is sent, or read by one unit alone, keeps all of them as they are.

// CHECK-LABEL: func @sent
// CHECK-NOT:     dynamic_slice
// CHECK:         return
func.func @sent(%x: !X) -> (!P, !P, !mpmd.mesh_tensor<"n", tensor<4x3xf32>>) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!X) -> (!P, !P)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  %2 = mpmd.transfer %c#1 : (!P) -> !mpmd.mesh_tensor<"n", tensor<4x3xf32>>
  return %0, %1, %2 : !P, !P, !mpmd.mesh_tensor<"n", tensor<4x3xf32>>
}

// The last reader of a donated batch may take its memory, and would differ from the others.

// CHECK-LABEL: func @donated
// CHECK-NOT:     dynamic_slice
// CHECK:         return
func.func @donated(%x: !X {jax.buffer_donor = true}) -> (!P, !P) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!X) -> (!P, !P)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  return %0, %1 : !P, !P
}

// CHECK-LABEL: func @alone
// CHECK-NOT:     dynamic_slice
// CHECK:         return
func.func @alone(%x: !X) -> (!P, !P) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:4, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [4:8, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!X) -> (!P, !P)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  return %0, %1 : !P, !P
}

// Columns, or rows in other steps, are no rows one after the other.

// CHECK-LABEL: func @strided
// CHECK-NOT:     dynamic_slice
// CHECK:         return
func.func @strided(%x: !X) -> (!P, !P) attributes {topology = #topology} {
  %c:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !x) {
    %0 = stablehlo.slice %a [0:8:2, 0:3] : (!x) -> !p
    %1 = stablehlo.slice %a [1:8:2, 0:3] : (!x) -> !p
    mpmd.return %0, %1 : !p, !p
  } : (!X) -> (!P, !P)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%c#0) {call_counter = 0 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%c#1) {call_counter = 1 : ui32} (%a: !p) {
    mpmd.return %a : !p
  } : (!P) -> !P
  return %0, %1 : !P, !P
}
