// RUN: mpmd-opt %s -split-input-file -sdy-flatten-call-graph | FileCheck %s

// CHECK-LABEL: module @first_call_keeps_function
module @first_call_keeps_function {
  // CHECK: func.func @main
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // CHECK-NEXT: call @f(
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: call @[[CLONE:[a-z_0-9]+]](%{{.*}}) {kept}
    %1 = call @f(%0) {kept} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  // CHECK: func.func private @f(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.sine
  // CHECK: func.func private @[[CLONE]](%{{.*}} attributes {sdy.original_func_name = "f"}
  // CHECK-NEXT: stablehlo.sine
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: module @calls_in_clones_are_separated_too
module @calls_in_clones_are_separated_too {
  // CHECK: func.func @main
  // CHECK-NEXT: call @f(
  // CHECK-NEXT: call @[[F:[a-z_0-9]+]](
  func.func @main() {
    call @f() : () -> ()
    call @f() : () -> ()
    return
  }
  // CHECK: func.func private @f()
  // CHECK-NEXT: call @g()
  func.func private @f() {
    call @g() : () -> ()
    return
  }
  // CHECK: func.func private @g()
  func.func private @g() {
    return
  }
  // CHECK: func.func private @[[F]]() attributes {sdy.original_func_name = "f"}
  // CHECK-NEXT: call @[[G:[a-z_0-9]+]]()
  // CHECK: func.func private @[[G]]() attributes {sdy.original_func_name = "g"}
}

// -----

// CHECK-LABEL: module @public_function_is_left_to_others
module @public_function_is_left_to_others {
  // CHECK: func.func @main
  // CHECK-NEXT: call @[[CLONE:[a-z_0-9]+]]()
  func.func @main() {
    call @other() : () -> ()
    return
  }
  // CHECK: func.func @other() {
  func.func @other() {
    return
  }
  // CHECK: func.func private @[[CLONE]]()
}

// -----

// CHECK-LABEL: module @leaves_external_function_alone
module @leaves_external_function_alone {
  // CHECK: call @external()
  // CHECK-NEXT: call @external()
  func.func @main() {
    call @external() : () -> ()
    call @external() : () -> ()
    return
  }
  func.func private @external()
}

// -----

// CHECK-LABEL: module @knows_itself_what_is_a_clone
module @knows_itself_what_is_a_clone {
  // CHECK-NOT: sdy.original_func_name
  func.func private @g(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
    return %x : tensor<8xf32>
  }
}
