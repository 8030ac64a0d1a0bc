// RUN: mpmd-opt %s -split-input-file -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1"),FragmentInfo(origins=["w"],stage=1,mesh_name="m1")],target=FragmentInfo(origins=["w","u"],stage=1,call_counter=4,mesh_name="m1")),FragmentMergeRule(sources=[FragmentInfo(origins=["a","b"(1)],call_counter=0,split_type=kKeepTransferred,mesh_name="m1"),FragmentInfo(origins=["u","w"],stage=1,call_counter=4,mesh_name="m1"),FragmentInfo(origins=["n"],mesh_name="")],target=FragmentInfo(origins=["all"],split_type=kDropTransferred,mesh_name="m1"))' | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// At first the merged fragment is before %1, which it reads; sorting puts it after.
// CHECK-LABEL: func @merges_and_sorts
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_and_sorts(%x: !m1, %y: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[V:.*]] = mpmd.fragment<mesh="m1", origin=["v"]> (%[[Y]])
  // CHECK:      %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["w", "u"], stage=1> (%[[X]], %[[V]]) {call_counter = 4 : ui32} (%[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[R:.*]] = stablehlo.abs %[[P]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.cosine %[[Q]]
  // CHECK-NEXT:   mpmd.return %[[R]], %[[S]]
  // CHECK:      return %[[M]]#0, %[[V]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["w"], stage=1> (%x) {remat} (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["v"]> (%y) (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["u"]> (%1) (%p: tensor<4xf32>) {
    %r = stablehlo.cosine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Three fragments that match one source; unconnected ones merge in program
// order, at the place of the first.
// CHECK-LABEL: func @merges_all_fragments_with_one_description
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @merges_all_fragments_with_one_description(%x: !m1) -> (!m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=["w", "u"], stage=1> (%[[X]]) {call_counter = 4 : ui32}
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK:      %[[O:.*]] = mpmd.fragment<mesh="m1", origin=["other"]>
  // CHECK:      return %[[M]]#0, %[[M]]#1, %[[O]], %[[M]]#2
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %o = mpmd.fragment<mesh="m1", origin=["other"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.cosine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %o, %2 : !m1, !m1, !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The target of the first rule, sorted, is a source of the second. The origins
// of the other source are sorted in the rule, not in the program.
// CHECK-LABEL: func @merges_what_rules_have_made
func.func @merges_what_rules_have_made(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["all"]> (%{{.*}}) {split_drop_transferred}
  // CHECK-COUNT-1: mpmd.return
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["b"(1), "a"]> (%x) {call_counter = 0 : ui32, split_keep_transferred, split_drop_transferred} (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["w"], stage=1> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.cosine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// One match alone; other meshes, stages and counters; a source without mesh.
// CHECK-LABEL: func @leaves_fragments_alone_that_match_nothing
func.func @leaves_fragments_alone_that_match_nothing(%x: !m1, %y: !m2) -> (!m1, !m1, !m2, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["u"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["w"]>
  // CHECK: mpmd.fragment<mesh="m2", origin=["w"], stage=1>
  // CHECK: mpmd.fragment<mesh="m1", origin=["u"]> {{.*}}call_counter = 0 : ui32
  // CHECK: mpmd.fragment<mesh="m1", origin=["n"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["n"]>
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["w"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m2", origin=["w"], stage=1> (%y) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m2) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) {call_counter = 0 : ui32} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=["n"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %5 = mpmd.fragment<mesh="m1", origin=["n"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2, %3, %4, %5 : !m1, !m1, !m2, !m1, !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Constants keep their places.
// CHECK-LABEL: func @erases_dead_ops_whether_or_not_a_rule_matches
func.func @erases_dead_ops_whether_or_not_a_rule_matches(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %t = mpmd.transfer %x : (!m1) -> !m2
  %0 = mpmd.fragment<mesh="m2", origin=["dead"]> (%t) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m2) -> !m2
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%p: tensor<4xf32>) {
    %dead = stablehlo.abs %p : tensor<4xf32>
    %n = stablehlo.negate %p : tensor<4xf32>
    %k0 = stablehlo.constant dense<1.0> : tensor<4xf32>
    %k1 = stablehlo.constant dense<1.0> : tensor<4xf32>
    %a = stablehlo.add %n, %k0 : tensor<4xf32>
    %b = stablehlo.add %a, %k1 : tensor<4xf32>
    mpmd.return %b : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}

// -----

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: stablehlo.abs
  %0 = stablehlo.abs %x : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The target has neither the stage of the one nor the mark of the other.
// CHECK-LABEL: func @removes_what_the_target_does_not_have
func.func @removes_what_the_target_does_not_have(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["all"]> (%{{.*}}) {split_drop_transferred} (
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["a", "b"(1)]> (%x) {call_counter = 0 : ui32, split_keep_transferred} (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["w", "u"], stage=1> (%0) {call_counter = 4 : ui32, mpmd.inferred_by = ["a"]} (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Callees are merged in as well. The producer has two operands, so those of the
// merged fragment are its own, then the new ones of the consumer.
// CHECK-LABEL: func private @orders_operands_by_producer
// CHECK-SAME:    (%[[A:.*]]: !mpmd{{.*}}, %[[B:.*]]: !mpmd{{.*}}, %[[C:.*]]: !mpmd
func.func private @orders_operands_by_producer(%a: !m1, %b: !m1, %c: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["w", "u"], stage=1> (%[[A]], %[[B]], %[[C]]) {call_counter = 4 : ui32} (%[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.subtract %[[P]], %[[Q]]
  // CHECK-NEXT:   %[[D:.*]] = stablehlo.divide %[[R]], %[[S]]
  // CHECK-NEXT:   %[[E:.*]] = stablehlo.power %[[D]], %[[P]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[E]]
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[M]]#1, %[[T]]
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%a, %b) (%p: tensor<4xf32>, %q: tensor<4xf32>) {
    %s = stablehlo.subtract %p, %q : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  %t = mpmd.transfer %0 : (!m1) -> !m2
  %1 = mpmd.fragment<mesh="m1", origin=["w"], stage=1> (%c, %0, %a) (%p: tensor<4xf32>, %q: tensor<4xf32>, %r: tensor<4xf32>) {
    %d = stablehlo.divide %p, %q : tensor<4xf32>
    %e = stablehlo.power %d, %r : tensor<4xf32>
    mpmd.return %e : tensor<4xf32>
  } : (!m1, !m1, !m1) -> !m1
  return %1, %t : !m1, !m2
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @leaves_other_blocks_alone
// CHECK:         origin=["u"]
// CHECK:         cf.br
// CHECK:         origin=["w"]
func.func @leaves_other_blocks_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  cf.br ^bb1(%0 : !m1)
^bb1(%y: !m1):
  %1 = mpmd.fragment<mesh="m1", origin=["w"], stage=1> (%y) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}
