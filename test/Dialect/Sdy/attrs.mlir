// RUN: mpmd-opt %s | FileCheck %s

// CHECK: sdy.mesh @two_axes = <["r"=2, "c"=4]>
sdy.mesh @two_axes = <["r"=2,"c"=4]>
// CHECK: sdy.mesh @other_device_order = <["r"=3, "c"=2], device_ids=[0, 2, 4, 1, 3, 5]>
sdy.mesh @other_device_order = <["r"=3, "c"=2],device_ids = [0,2,4,1,3,5]>
// CHECK: sdy.mesh @empty = <[]>
sdy.mesh @empty = <[]>
// CHECK: sdy.mesh @maximal = <[], device_ids=[3]>
sdy.mesh @maximal = <[], device_ids=[3]>
// CHECK: sdy.mesh @maximal_0 = <[], device_ids=[0]>
sdy.mesh @maximal_0 = <[], device_ids=[0]>
// CHECK: sdy.mesh @written_in_full = <["x"=1]> {kept}
sdy.mesh @written_in_full = #sdy.mesh<["x"=1]> {kept}

#alias = #sdy.sharding<@two_axes, [{"c"}]>
#mesh = #sdy.mesh<["r"=2]>

// CHECK-LABEL: func.func private @shardings
func.func private @shardings() attributes {
  // CHECK-SAME: a.sub_axes_open_and_priority = #sdy.sharding<@m, [{"r", "c":(1)2}, {"c":(2)2, ?}p1, {?}, {}, {?}p20]>
  a.sub_axes_open_and_priority = #sdy.sharding<@m, [{"r","c":(1)2}, {"c":(2)2,?}p1, {?}, {}, {?}p20]>,
  // CHECK-SAME: b.rank_0 = #sdy.sharding<@m, []>
  b.rank_0 = #sdy.sharding<@m, []>,
  // CHECK-SAME: c.inlined_mesh = #sdy.sharding<mesh<["r"=2]>, [{"r"}]>
  c.inlined_mesh = #sdy.sharding<mesh<["r"=2]>, [{"r"}]>,
  // CHECK-SAME: d.inlined_alias = #sdy.sharding<mesh<["r"=2]>, [{"r"}]>
  d.inlined_alias = #sdy.sharding<mesh #mesh, [{"r"}]>,
  // CHECK-SAME: e.lists_in_any_order = #sdy.sharding<@m, [{?}], replicated={"r"}, unreduced={"c":(2)2}>
  e.lists_in_any_order = #sdy.sharding<@m, [{?}], unreduced = {"c":(2)2}, replicated = {"r"}>,
  // CHECK-SAME: f.empty_lists = #sdy.sharding<@m, []>
  f.empty_lists = #sdy.sharding<@m, [], replicated={}, unreduced=max{}>,
  // CHECK-SAME: g.reduced_by_max = #sdy.sharding<@m, [], unreduced=max{"r"}>
  g.reduced_by_max = #sdy.sharding<@m, [], unreduced=max{"r"}>,
  // CHECK-SAME: h.reduced_by_min = #sdy.sharding<@m, [], unreduced=min{"r"}>
  h.reduced_by_min = #sdy.sharding<@m, [], unreduced=min{"r"}>,
  // CHECK-SAME: i.reduced_by_sum = #sdy.sharding<@m, [], unreduced={"r"}>
  i.reduced_by_sum = #sdy.sharding<@m, [], unreduced=sum{"r"}>,
  // CHECK-SAME: j.no_equals_sign = #sdy.sharding<@m, [], unreduced={"r"}>
  j.no_equals_sign = #sdy.sharding<@m, [], unreduced{"r"}>
}

// CHECK-LABEL: func.func private @lists
func.func private @lists() attributes {
  // CHECK-SAME: a.none = #sdy.sharding_per_value<[]>
  a.none = #sdy.sharding_per_value<[]>,
  // CHECK-SAME: b.stripped_full_and_alias = #sdy.sharding_per_value<[<@m, []>, <@m, [{}]>, <@two_axes, [{"c"}]>]>
  b.stripped_full_and_alias = #sdy.sharding_per_value<[<@m, []>, #sdy.sharding<@m, [{}]>, #alias]>,
  // CHECK-SAME: c.manual = #sdy<manual_axes{"r", "c"}>
  c.manual = #sdy<manual_axes{"r","c"}>,
  // CHECK-SAME: d.no_manual = #sdy<manual_axes{}>
  d.no_manual = #sdy<manual_axes{}>,
  // CHECK-SAME: e.axes = #sdy<axis_ref_list{"r", "c":(1)2}>
  e.axes = #sdy<axis_ref_list{"r","c":(1)2}>,
  // CHECK-SAME: f.axes_per_dim = #sdy<list_of_axis_ref_lists[{"r"}, {}]>
  f.axes_per_dim = #sdy<list_of_axis_ref_lists[{"r"},{}]>,
  // CHECK-SAME: g.moves = #sdy<all_to_all_param_list[{"c"}: 0->1, {"r"}: 1->0]>
  g.moves = #sdy<all_to_all_param_list[{"c"}:0->1,{"r"}: 1->0]>,
  // CHECK-SAME: h.edges = #sdy.propagation_edges<[{step-2 = [{"c" = operand-1 -> [operand-0, result-0]}]}]>
  h.edges = #sdy.propagation_edges<[{step-2 = [{"c" = operand-1 -> [operand-0, result-0]}]}]>,
  // CHECK-SAME: i.edges_in_two_steps = #sdy.propagation_edges<[{step-9223372036854775807 = [{"c":(1)2 = result-0 -> [operand-0]}, {"c":(1)2 = result-0 -> [operand-1]}]}, {step-0 = [{"c" = operand--1 -> [operand-0]}]}]>
  i.edges_in_two_steps = #sdy.propagation_edges<[{step-9223372036854775807 = [{"c":(1)2=result-0->[operand-0]}, {"c":(1)2 = result - 0 -> [operand-01]}]}, {step-0 = [{"c" = operand--1 -> [operand-0]}]}]>
}

// CHECK-LABEL: func.func private @rules
func.func private @rules() attributes {
  // CHECK-SAME: a.all_parts = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k} need_replication={i} permutation={j} blocked_propagation={i}, custom>
  a.all_parts = #sdy.op_sharding_rule<([i,k],[k,j])->([i,j]){i=12,j=4,k=8}reduction={k}need_replication={i}permutation={j}blocked_propagation={i},custom>,
  // CHECK-SAME: b.no_factors = #sdy.op_sharding_rule<([], [])->([])>
  b.no_factors = #sdy.op_sharding_rule<([], [])->([])>,
  // CHECK-SAME: c.empty_list = #sdy.op_sharding_rule<([ij])->([i, j]) {i=2, j=3}, custom>
  c.empty_list = #sdy.op_sharding_rule<([ij])->([i, j]) {i=2, j=3} reduction={}, custom>,
  // CHECK-SAME: d.many_factors = #sdy.op_sharding_rule<([i, z_1])->([ijz_1, z_12]) {i=2, j=3, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=3}>
  d.many_factors = #sdy.op_sharding_rule<([i, z_1])->([ijz_1, z_12]) {i=2, j=3, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=3}>
}
