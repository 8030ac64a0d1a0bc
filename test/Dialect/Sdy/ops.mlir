// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK: sdy.mesh @grid = <["r"=2, "c"=4]>
// GENERIC: "sdy.mesh"() <{mesh = #sdy.mesh<["r"=2, "c"=4]>, sym_name = "grid"}> : () -> ()
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @constraint
func.func @constraint(%x: tensor<12x8xf32>, %t: !stablehlo.token) {
  // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  // GENERIC: "sdy.sharding_constraint"(%{{.*}}) <{sharding = #sdy.sharding<@grid, [{"r"}, {?}]>}> {a} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@grid, []> : !stablehlo.token
  %1 = sdy.sharding_constraint %t <@grid, []> : !stablehlo.token
  return
}

// CHECK-LABEL: func @reshard
func.func @reshard(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.reshard %{{.*}} <@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  %0 = sdy.reshard %x <@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @barrier
func.func @barrier(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.propagation_barrier %{{.*}} allowed_direction=NONE {a} : tensor<12x8xf32>
  // GENERIC: "sdy.propagation_barrier"(%{{.*}}) <{allowed_direction = 0 : i32}> {a}
  %0 = sdy.propagation_barrier %x allowed_direction=NONE {a} : tensor<12x8xf32>
  // CHECK-NEXT: allowed_direction=FORWARD :
  %1 = sdy.propagation_barrier %x allowed_direction=FORWARD : tensor<12x8xf32>
  // CHECK-NEXT: allowed_direction=BACKWARD :
  %2 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @group
func.func @group(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.sharding_group %{{.*}} group_id=3 {a} : tensor<12x8xf32>
  // GENERIC: "sdy.sharding_group"(%{{.*}}) <{group_id = 3 : i64}> {a}
  sdy.sharding_group %x group_id=3 {a} : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @constant
func.func @constant() {
  // CHECK-NEXT: sdy.constant {a = 1 : i32} dense<0.000000e+00> : tensor<12x8xf32>
  // GENERIC: "sdy.constant"() <{value = dense<0.000000e+00> : tensor<12x8xf32>}> {a = 1 : i32}
  %0 = sdy.constant {a = 1 : i32} dense<0.0> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.constant dense<[1, 2]> : tensor<2xi64>
  %1 = sdy.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK-NEXT: sdy.constant() <{value = dense<3> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
  %2 = sdy.constant() <{value = dense<3> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// CHECK-LABEL: func @edges
func.func @edges(%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.data_flow_edge %{{.*}} sharding=<@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  %0 = sdy.data_flow_edge %x sharding=<@grid, [{"r"}, {?}]> {a} : tensor<12x8xf32>
  // CHECK-NEXT: sdy.data_flow_edge %{{.*}} : tensor<12x8xf32>
  %1 = sdy.data_flow_edge %y : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @function_edges
func.func @function_edges(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: sdy.func_data_flow_edge %{{.*}} {a} : tensor<12x8xf32>
  %0 = sdy.func_data_flow_edge %x {a} : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @manual
func.func @manual(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"r", "c", ?}, {?}]>] out_shardings=[<@grid, [{"r", ?}, {?}]>] manual_axes={"r"} (%[[Y:.*]]: tensor<6x8xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[Y]]
  // CHECK-NEXT:   sdy.return {b} %[[S]] : tensor<6x8xf32>
  // CHECK-NEXT: } {a} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // GENERIC: "sdy.manual_computation"(%{{.*}}) <{in_shardings = #sdy.sharding_per_value<[<@grid, [{"r", "c", ?}, {?}]>]>, manual_axes = #sdy<manual_axes{"r"}>, out_shardings = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}>
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r", "c", ?}, {?}]>] out_shardings=[<@grid, [{"r", ?}, {?}]>] manual_axes={"r"} (%y: tensor<6x8xf32>) {
    %1 = stablehlo.sine %y : tensor<6x8xf32>
    sdy.return {b} %1 : tensor<6x8xf32>
  } {a} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK: return %[[R]]
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @manual_without_values
func.func @manual_without_values() {
  // CHECK-NEXT: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  // CHECK-NEXT:   sdy.return
  // CHECK-NEXT: } : () -> ()
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @named
func.func @named(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.named_computation<"foo">(%{{.*}}) in_shardings=[<@grid, [{"r"}, {}]>] (%[[Y:.*]]: tensor<12x8xf32>) {
  // CHECK-NEXT:   sdy.return %[[Y]] : tensor<12x8xf32>
  // CHECK-NEXT: } {a} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %0 = sdy.named_computation<"foo">(%x) in_shardings=[<@grid, [{"r"}, {}]>] (%y: tensor<12x8xf32>) {
    sdy.return %y : tensor<12x8xf32>
  } {a} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK-NEXT: sdy.named_computation<"foo">(%{{.*}}) out_shardings=[<@grid, [{"r"}, {}]>] (%{{.*}}: tensor<12x8xf32>) {
  %1 = sdy.named_computation<"foo">(%x) out_shardings=[<@grid, [{"r"}, {}]>] (%y: tensor<12x8xf32>) {
    sdy.return %y : tensor<12x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @collectives
func.func @collectives(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c"}, {}]>}) {
  // CHECK-NEXT: sdy.all_gather [{"c"}, {}] %{{.*}} out_sharding=<@grid, [{}, {}]> {a} : tensor<12x8xf32>
  // GENERIC: "sdy.all_gather"(%{{.*}}) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"c"}, {}]>, out_sharding = #sdy.sharding<@grid, [{}, {}]>}> {a}
  %0 = sdy.all_gather [{"c"}, {}] %x out_sharding=<@grid, [{}, {}]> {a} : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_slice [{}, {"c"}] %{{.*}} out_sharding=<@grid, [{}, {"c"}]> : tensor<12x8xf32>
  %1 = sdy.all_slice [{}, {"c"}] %0 out_sharding=<@grid, [{}, {"c"}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_to_all [{"c"}: 1->0] %{{.*}} out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  %2 = sdy.all_to_all [{"c"}: 1->0] %1 out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.collective_permute %{{.*}} out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_reduce {"r"} %{{.*}} out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  // GENERIC: "sdy.all_reduce"(%{{.*}}) <{out_sharding = #sdy.sharding<@grid, [{"c"}, {}]>, reduction_axes = #sdy<axis_ref_list{"r"}>}> :
  %4 = sdy.all_reduce sum {"r"} %3 out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_reduce max {"r"} %{{.*}}
  // GENERIC: "sdy.all_reduce"(%{{.*}}) <{{{.*}}reduction_op = 1 : i32}>
  %5 = sdy.all_reduce max {"r"} %3 out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.reduce_scatter min [{}, {"r"}] %{{.*}} out_sharding=<@grid, [{"c"}, {"r"}]> : tensor<12x8xf32>
  %6 = sdy.reduce_scatter min [{}, {"r"}] %3 out_sharding=<@grid, [{"c"}, {"r"}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.sharded_to_unreduced [{}, {"r"}] %{{.*}} out_sharding=<@grid, [{"c"}, {}], unreduced={"r"}> : tensor<12x8xf32>
  %7 = sdy.sharded_to_unreduced [{}, {"r"}] %6 out_sharding=<@grid, [{"c"}, {}], unreduced={"r"}> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.replicated_to_unreduced {"r"} %{{.*}} out_sharding=<@grid, [{"c"}, {}], unreduced={"r"}> : tensor<12x8xf32>
  %8 = sdy.replicated_to_unreduced {"r"} %3 out_sharding=<@grid, [{"c"}, {}], unreduced={"r"}> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @shardings_on_ops_and_functions
// CHECK-SAME: (%{{.*}}: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {?}]>}) -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}]>})
func.func @shardings_on_ops_and_functions(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {?}]>})
    -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}]>}) {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8}>}
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8}>} : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// No value may have one sharding.
// CHECK-LABEL: func @manual_computation_of_nothing
func.func @manual_computation_of_nothing() -> tensor<12x8xf32> {
  // CHECK: sdy.manual_computation() in_shardings=[<@[[M:.*]], []>]
  %0 = sdy.manual_computation() in_shardings=[<@grid, []>] out_shardings=[<@grid, [{}, {}]>] manual_axes={} () {
    %1 = stablehlo.constant dense<1.0> : tensor<12x8xf32>
    sdy.return %1 : tensor<12x8xf32>
  } : () -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
