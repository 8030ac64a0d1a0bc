// RUN: mpmd-opt %s | FileCheck %s

!m1_4 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2_4 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m1_split = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
!m1_host = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @named_computation_prints_origin_then_arguments
func.func @named_computation_prints_origin_then_arguments(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.named_computation<"f"> (%arg0) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[A]]
  // CHECK-NEXT:   mpmd.return %[[N]], %[[A]] : tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0:2 = mpmd.named_computation<"f">(%x) (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    mpmd.return %n, %a : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: return %[[R]]#0, %[[R]]#1
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @named_computation_prints_count_escapes_and_hides_name
func.func @named_computation_prints_count_escapes_and_hides_name() {
  // CHECK-NEXT: mpmd.named_computation<"a\22b"(3)> () {kept} () {
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: } : () -> ()
  mpmd.named_computation<"a\22b"(3)> () {kept, name = "hidden"} () {
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @named_computation_takes_tokens
func.func @named_computation_takes_tokens(%t: !stablehlo.token) -> !stablehlo.token {
  // CHECK-NEXT: mpmd.named_computation<"f"(1)> (%arg0) (%{{.*}}: !stablehlo.token) {
  %0 = mpmd.named_computation<"f"(1)> (%t) (%a: !stablehlo.token) {
    mpmd.return %a : !stablehlo.token
  } : (!stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}

// CHECK-LABEL: func @named_tensor_prints_name_without_blanks
func.func @named_tensor_prints_name_without_blanks(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: mpmd.named_tensor %arg0 name="acts" {kept} : tensor<4xf32>
  %0 = mpmd.named_tensor %x name = "acts" {kept} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @assign_and_unassign_print_origin_in_dictionary
func.func @assign_and_unassign_print_origin_in_dictionary(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {kept, origin = "f"} %arg0 : (tensor<4xf32>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  %0 = mpmd.assign {origin = "f", kept} %x : (tensor<4xf32>) -> !m1_4
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "g"} %[[A]] : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> tensor<4xf32>
  %1 = mpmd.unassign {origin = "g"} %0 : (!m1_4) -> tensor<4xf32>
  // CHECK-NEXT: %[[H:.*]] = mpmd.assign %[[U]] : (tensor<4xf32>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
  %2 = mpmd.assign %1 : (tensor<4xf32>) -> !m1_host
  // CHECK-NEXT: mpmd.unassign %[[H]] :
  %3 = mpmd.unassign %2 : (!m1_host) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func @fragment_prints_whole_header
func.func @fragment_prints_whole_header(%x: !m1_4, %y: !m1_4) -> !m1_4 attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.fragment<mesh="m1", origin=["f", "g"(2)], stage=4, in_shardings=[<@grid, [{"x"}]>, <@grid, [{?}]>], out_shardings=[<@grid, [{}]>]> (%arg0, %arg1) {call_counter = 9 : ui32} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[B]]
  // CHECK-NEXT:   mpmd.return %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  %0 = mpmd.fragment<mesh="m1", origin=["f","g"(2)], stage=4, in_shardings=[<@grid, [{"x"}]>, <@grid, [{?}]>], out_shardings=[<@grid, [{}]>]> (%x, %y) {call_counter = 9 : ui32} (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s = stablehlo.add %a, %b : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m1_4, !m1_4) -> !m1_4
  return %0 : !m1_4
}

// CHECK-LABEL: func @fragment_elides_absent_header_parts
func.func @fragment_elides_absent_header_parts() attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> () () {
  mpmd.fragment<mesh="m1", origin=[]> () () { mpmd.return } : () -> ()
  // CHECK: mpmd.fragment<mesh="m1", origin=[], stage=-1> () () {
  mpmd.fragment<mesh="m1", origin=[], stage=-1 : i64> () () { mpmd.return } : () -> ()
  // CHECK: mpmd.fragment<mesh="m1", origin=[], in_shardings=[]> () () {
  mpmd.fragment<mesh="m1", origin=[], in_shardings=[]> () () { mpmd.return } : () -> ()
  // CHECK: mpmd.fragment<mesh="m1", origin=[], stage=1, out_shardings=[]> () () {
  mpmd.fragment<mesh="m1", origin=[], stage=1, out_shardings=[]> () () { mpmd.return } : () -> ()
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]> () () {
  mpmd.fragment<mesh="m1", origin=["f"(0)],> () () { mpmd.return } : () -> ()
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"], stage=2> () () {
  mpmd.fragment<mesh="m1", origin=["f"(-3)], stage=2,> () () { mpmd.return } : () -> ()
  return
}

// CHECK-LABEL: func @fragment_may_change_sharding_and_pass_tokens
func.func @fragment_may_change_sharding_and_pass_tokens(%x: !m1_4, %t: !stablehlo.token) -> (!m1_split, !stablehlo.token) attributes {topology = #topology} {
  // CHECK: } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, !stablehlo.token) -> (!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>, !stablehlo.token)
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %t) (%a: tensor<4xf32>, %b: !stablehlo.token) {
    mpmd.return %a, %b : tensor<4xf32>, !stablehlo.token
  } : (!m1_4, !stablehlo.token) -> (!m1_split, !stablehlo.token)
  return %0#0, %0#1 : !m1_split, !stablehlo.token
}

// CHECK-LABEL: func @fragment_without_values_may_name_an_unknown_mesh
func.func @fragment_without_values_may_name_an_unknown_mesh() {
  // CHECK-NEXT: mpmd.fragment<mesh="none", origin=[]> () () {
  mpmd.fragment<mesh="none", origin=[]> () () { mpmd.return } : () -> ()
  return
}

// CHECK-LABEL: func @fragment_call_prints_attributes_after_operands
func.func @fragment_call_prints_attributes_after_operands(%x: !m1_4) -> !m1_4 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment_call<mesh="m1", origin=["f", "g"(1)]> @p0_f(%arg0) {remat} : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  %0 = mpmd.fragment_call<mesh="m1", origin=["f", "g"(1)]> @p0_f(%x) {remat} : (!m1_4) -> !m1_4
  return %0 : !m1_4
}
func.func @p0_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func @transfer_prints_attributes_before_operand
func.func @transfer_prints_attributes_before_operand(%x: !m1_4) -> !m2_4 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer {kept} %arg0 : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m2", tensor<4xf32>>
  %0 = mpmd.transfer {kept} %x : (!m1_4) -> !m2_4
  return %0 : !m2_4
}

// CHECK-LABEL: func @call_takes_tensors_and_mesh_tensors
func.func @call_takes_tensors_and_mesh_tensors(%x: !m1_4, %y: tensor<4xf32>) -> (!m1_4, tensor<4xf32>) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @body(%arg0, %arg1) {call_counter = 1 : ui32} : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, tensor<4xf32>) -> (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, tensor<4xf32>)
  %0:2 = mpmd.call @body(%x, %y) {call_counter = 1 : ui32} : (!m1_4, tensor<4xf32>) -> (!m1_4, tensor<4xf32>)
  return %0#0, %0#1 : !m1_4, tensor<4xf32>
}
func.func private @body(%x: !m1_4, %y: tensor<4xf32>) -> (!m1_4, tensor<4xf32>) attributes {topology = #topology} {
  return %x, %y : !m1_4, tensor<4xf32>
}

// A counter that is no integer is the user's own attribute.
// CHECK-LABEL: func @call_ignores_counter_that_is_no_integer
func.func @call_ignores_counter_that_is_no_integer() {
  // CHECK-NEXT: mpmd.call @plain() {call_counter = "one"} : () -> ()
  mpmd.call @plain() {call_counter = "one"} : () -> ()
  return
}
func.func @plain() {
  return
}

// CHECK-LABEL: func private @private_caller_without_topology_may_call
func.func private @private_caller_without_topology_may_call() {
  // CHECK-NEXT: mpmd.call @plain() : () -> ()
  mpmd.call @plain() : () -> ()
  return
}

// CHECK-LABEL: func @for_prints_counts_sorted_and_result_types
func.func @for_prints_counts_sorted_and_result_types(%x: tensor<4xf32>, %y: tensor<i32>) -> tensor<4xf32> {
  // CHECK-NEXT: %{{.*}}:2 = mpmd.for (%arg0, %arg1) {after, iterations = 6 : ui32, unroll_factor = 3 : ui32, zero} (%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<i32>, %index: tensor<ui32>) {
  %0:2 = mpmd.for (%x, %y) {zero, unroll_factor = 3 : ui32, iterations = 6 : ui32, after} (%a: tensor<4xf32>, %b: tensor<i32>, %i: tensor<ui32>) {
    // CHECK-NEXT: mpmd.for (%[[A]]) {iterations = 2 : ui32} (%{{.*}}: tensor<4xf32>, %index_0: tensor<i32>) {
    %1 = mpmd.for (%a) {iterations = 2 : ui32} (%c: tensor<4xf32>, %j: tensor<i32>) {
      mpmd.return %c : tensor<4xf32>
    // CHECK: } : tensor<4xf32>
    } : tensor<4xf32>
    mpmd.return %1, %b : tensor<4xf32>, tensor<i32>
  // CHECK: } : tensor<4xf32>, tensor<i32>
  } : tensor<4xf32>, tensor<i32>
  return %0#0 : tensor<4xf32>
}

// CHECK-LABEL: func @for_without_operands_has_no_types_after_it
func.func @for_without_operands_has_no_types_after_it() {
  // CHECK-NEXT: mpmd.for () {iterations = 2 : ui32} (%index: tensor<ui32>) {
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }{{ *$}}
  // CHECK-NEXT: return
  mpmd.for () {iterations = 2 : ui32} (%i: tensor<ui32>) {
    mpmd.return
  }
  return
}

// CHECK-LABEL: func @for_holds_fragments_and_calls_and_reads_outer_values
func.func @for_holds_fragments_and_calls_and_reads_outer_values(%x: !m1_4, %y: !m1_4) -> !m1_4 attributes {topology = #topology} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: !m1_4, %i: tensor<ui32>) {
    // CHECK: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}, %arg1)
    %1 = mpmd.fragment<mesh="m1", origin=[]> (%a, %y) (%b: tensor<4xf32>, %c: tensor<4xf32>) {
      %s = stablehlo.add %b, %c : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : (!m1_4, !m1_4) -> !m1_4
    // CHECK: mpmd.call @plain() : () -> ()
    mpmd.call @plain() : () -> ()
    mpmd.return %1 : !m1_4
  } : !m1_4
  return %0 : !m1_4
}

// CHECK-LABEL: func @broadcast_and_reduce
func.func @broadcast_and_reduce(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[B:.*]] = mpmd.broadcast {kept} %arg0 : tensor<4xf32>
  %0 = mpmd.broadcast {kept} %x : tensor<4xf32>
  // CHECK-NEXT: %[[M:.*]] = mpmd.reduce<min> {kept} %[[B]], %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.reduce<min> {kept} %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[N:.*]] = mpmd.reduce<none> %[[M]] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "mpmd.reduce"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// The dialect does not restrict attributes of its name.
// CHECK-LABEL: func @any_attribute_of_the_dialect_may_be_attached
// CHECK-SAME: attributes {mpmd.anything = 1 : i64}
func.func @any_attribute_of_the_dialect_may_be_attached() attributes {mpmd.anything = 1 : i64} {
  return
}

// An argument of a block that is not the first is none of the function.
// CHECK-LABEL: func @transfer_of_an_argument_of_another_block
func.func @transfer_of_an_argument_of_another_block() attributes {topology = #topology} {
  return
// CHECK: ^bb1(%[[X:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
// CHECK-NEXT: mpmd.transfer %[[X]]
^bb1(%x: !m1_4):
  %0 = mpmd.transfer %x : (!m1_4) -> !m2_4
  return
}
