// RUN: mpmd-opt %s -mpmd-call-inline=erase-callees=true -allow-unregistered-dialect | FileCheck %s

!t = tensor<4xf32>

// What an op of an unknown dialect refers to is unknown, so that callees stay.
// CHECK-LABEL: func @keeps_callees_next_to_unknown_regions
// CHECK-NEXT:    "test.region"
// CHECK-NOT:     mpmd.call
func.func @keeps_callees_next_to_unknown_regions(%x: !t) -> !t {
  "test.region"() ({
    "test.done"() : () -> ()
  }) : () -> ()
  %0 = mpmd.call @called(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK: func private @called
func.func private @called(%x: !t) -> !t {
  return %x : !t
}
