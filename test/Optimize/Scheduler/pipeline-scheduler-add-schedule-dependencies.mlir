// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleH1 add-schedule-dependencies=true" | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// The relation says nothing of the last weight gradient.
// CHECK-LABEL: func @orders_weight_gradients_as_the_plan_does
func.func @orders_weight_gradients_as_the_plan_does(%x: !m1) -> (!m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK: call_counter = 0 : ui32}
  // CHECK: call_counter = 0 : ui32, split_keep_transferred}
  // CHECK: call_counter = 1 : ui32}
  // CHECK: call_counter = 1 : ui32, split_keep_transferred}
  // CHECK: call_counter = 0 : ui32, split_drop_transferred}
  // CHECK: call_counter = 2 : ui32}
  // CHECK: call_counter = 2 : ui32, split_keep_transferred}
  // CHECK: call_counter = 1 : ui32, split_drop_transferred}
  // CHECK: call_counter = 2 : ui32, split_drop_transferred}
  %f0 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f1 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 1 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 1 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 2 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 2 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %f0, %i0, %w0, %f1, %i1, %w1, %f2, %i2, %w2 : !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1
}

// Where a stage is on another mesh than in the plan, only the relation holds.
// CHECK-LABEL: func @leaves_other_pipelines_to_the_relation
func.func @leaves_other_pipelines_to_the_relation(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: call_counter = 1 : ui32, split_drop_transferred
  // CHECK: call_counter = 0 : ui32, split_drop_transferred
  %0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=0> (%x) {call_counter = 1 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
