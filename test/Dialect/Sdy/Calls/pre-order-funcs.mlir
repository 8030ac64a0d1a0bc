// RUN: mpmd-opt %s -split-input-file -sdy-pre-order-funcs | FileCheck %s

// CHECK-LABEL: module @callers_come_first
module @callers_come_first {
  // CHECK-NEXT: sdy.mesh
  // CHECK-NEXT: func.func @alone
  // CHECK: func.func @main
  // CHECK: func.func private @middle
  // CHECK: func.func private @leaf
  func.func private @leaf() {
    return
  }
  func.func @alone() {
    return
  }
  func.func private @middle() {
    call @leaf() : () -> ()
    return
  }
  func.func @main() {
    call @leaf() : () -> ()
    call @middle() : () -> ()
    return
  }
  sdy.mesh @grid = <["r"=2]>
}

// -----

// CHECK-LABEL: module @keeps_order_of_others
module @keeps_order_of_others {
  // CHECK-NEXT: func.func @b
  // CHECK: sdy.mesh
  // CHECK: func.func @a
  func.func @b() {
    return
  }
  sdy.mesh @grid = <["r"=2]>
  func.func @a() {
    return
  }
}
