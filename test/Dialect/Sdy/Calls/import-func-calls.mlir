// RUN: mpmd-opt %s -sdy-import-func-calls=add-data-flow-edges-on-named-computations=false | FileCheck %s
// RUN: mpmd-opt %s -sdy-import-func-calls | FileCheck %s --check-prefix=EDGES

sdy.mesh @mesh = <["x"=2]>

func.func private @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0, %y : tensor<8xf32>, tensor<4x4xf32>
}
func.func private @g(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.cosine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @calls_g(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @g(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @clone(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "g"} {
  return %x : tensor<8xf32>
}
func.func private @external(tensor<8xf32>) -> tensor<8xf32>

// CHECK-LABEL: func @takes_shardings_of_function
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<4x4xf32>)
// EDGES-LABEL: func @takes_shardings_of_function
func.func @takes_shardings_of_function(%x: tensor<8xf32>, %y: tensor<4x4xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[F:.*]]:2 = sdy.named_computation<"f">(%[[X]], %[[Y]])
  // CHECK-SAME:   in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{?}, {?}]>]
  // CHECK-SAME:   out_shardings=[<@mesh, [{?}]>, <@mesh, [{"x"}, {}]>]
  // CHECK-SAME:   (%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[SINE:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   sdy.return %[[SINE]], %[[B]]
  // CHECK-NEXT: } {kept} :
  // CHECK-NEXT: return %[[F]]#0
  // EDGES-NEXT: sdy.named_computation<"f">
  // EDGES-NEXT:   sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"x"}]>
  // EDGES-NEXT:   sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{?}, {?}]>
  // EDGES:      } {kept}
  // EDGES-NEXT: sdy.data_flow_edge %{{.*}}#0
  // EDGES-NEXT: sdy.data_flow_edge %{{.*}}#1
  %0:2 = call @f(%x, %y) {kept} : (tensor<8xf32>, tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func @prefers_shardings_of_call
func.func @prefers_shardings_of_call(%x: tensor<8xf32>, %y: tensor<4x4xf32>) -> tensor<8xf32> {
  // CHECK: out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}, {}]>]
  // CHECK: } : (tensor<8xf32>
  %0:2 = call @f(%x, %y) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{}, {}]>]>} : (tensor<8xf32>, tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func @nests_calls_of_callee
func.func @nests_calls_of_callee(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.named_computation<"calls_g">(%{{.*}}) (%{{.*}}: tensor<8xf32>) {
  // CHECK-NEXT:   sdy.named_computation<"g">(%{{.*}}) (%{{.*}}: tensor<8xf32>) {
  // CHECK-NEXT:     stablehlo.cosine
  %0 = call @calls_g(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @keeps_name_of_original
func.func @keeps_name_of_original(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: } {sdy.original_func_name = "g"} :
  %0 = call @clone(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @leaves_call_of_external_function_alone
func.func @leaves_call_of_external_function_alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @external
  %0 = call @external(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A call of mpmd has to be in a function, or in a loop.
func.func private @distributed(%x: tensor<8xf32>) -> tensor<8xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  return %x : tensor<8xf32>
}
func.func private @calls_distributed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = mpmd.call @distributed(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK-LABEL: func @keeps_call_of_function_with_other_calls
// CHECK-NEXT:    %[[F:.*]] = call @calls_distributed(%arg0)
// CHECK-NEXT:    return %[[F]]
// EDGES-LABEL: func @keeps_call_of_function_with_other_calls
// EDGES-NEXT:    call @calls_distributed(%arg0)
func.func @keeps_call_of_function_with_other_calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @calls_distributed(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What has to be in a function keeps its function.
// CHECK-LABEL: func @keeps_call_of_what_assigns
// CHECK-NEXT:    call @assigns
func.func @keeps_call_of_what_assigns(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @assigns(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @assigns(%x: tensor<8xf32>) -> tensor<8xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.assign %x : (tensor<8xf32>) -> !mpmd.mesh_tensor<"m", tensor<8xf32>>
  %1 = mpmd.unassign %0 : (!mpmd.mesh_tensor<"m", tensor<8xf32>>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @edges_of_a_call(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.func_data_flow_edge %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK-LABEL: func @drops_edges_of_calls
func.func @drops_edges_of_calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.named_computation<"edges_of_a_call">
  // CHECK-NEXT: sdy.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %0 = call @edges_of_a_call(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @ends_otherwise(%x: tensor<8xf32>) -> tensor<8xf32> {
  stablehlo.return %x, %x : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func @keeps_call_of_what_ends_otherwise
func.func @keeps_call_of_what_ends_otherwise(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @ends_otherwise
  %0 = call @ends_otherwise(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @keeps_call_of_what_assigns_in_a_loop
// CHECK-NEXT:    call @assigns_in_a_loop
func.func @keeps_call_of_what_assigns_in_a_loop(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @assigns_in_a_loop(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @assigns_in_a_loop(%x: tensor<8xf32>) -> tensor<8xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<8xf32>, %i: tensor<ui32>) {
    %1 = mpmd.assign %a : (tensor<8xf32>) -> !mpmd.mesh_tensor<"m", tensor<8xf32>>
    %2 = mpmd.unassign %1 : (!mpmd.mesh_tensor<"m", tensor<8xf32>>) -> tensor<8xf32>
    mpmd.return %2 : tensor<8xf32>
  } : tensor<8xf32>
  return %0 : tensor<8xf32>
}
