// RUN: mpmd-opt %s -sdy-remove-unused-symbols | FileCheck %s

// CHECK-NOT: @unused
func.func private @unused() {
  return
}

// CHECK: func private @used
func.func private @used() {
  return
}

// CHECK: func @public
func.func @public() {
  // CHECK-NEXT: call @used
  call @used() : () -> ()
  return
}
