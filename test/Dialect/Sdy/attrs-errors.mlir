// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{axis size must be at least 1, got 0 for axis "r"}}
sdy.mesh @axis_of_size_0 = <["r"=0]>

// -----

// expected-error@+1 {{duplicate axis name "r"}}
sdy.mesh @axis_twice = <["r"=2, "r"=4]>

// -----

// expected-error@+1 {{device id must be non-negative, got -1}}
sdy.mesh @negative_id = <["r"=2], device_ids=[-1, 0]>

// -----

// expected-error@+1 {{mesh without axes has more than one device id}}
sdy.mesh @two_ids_without_axes = <[], device_ids=[0, 1]>

// -----

// expected-error@+1 {{product of axis sizes must match the number of device ids, got 4 and 2}}
sdy.mesh @too_few_ids = <["r"=2, "c"=2], device_ids=[1, 0]>

// -----

// expected-error@+1 {{sorted device ids must be 0 to 1}}
sdy.mesh @gap_in_ids = <["r"=2], device_ids=[2, 0]>

// -----

// expected-error@+1 {{device ids are already sorted; omit them}}
sdy.mesh @sorted_ids = <["r"=2], device_ids=[0, 1]>

// -----

// expected-error@+1 {{mesh has more devices than fit 64 bits}}
sdy.mesh @too_large = <["r"=4294967296, "c"=4294967296]>

// -----

// expected-error@+1 {{expecting priority in format 'p<number>', got: q1}}
func.func private @priority_with_other_letter() attributes {a = #sdy.sharding<@m, [{"r"}q1]>}

// -----

// expected-error@+1 {{expecting priority in format 'p<number>', got: p}}
func.func private @priority_without_number() attributes {a = #sdy.sharding<@m, [{"r"}p]>}

// -----

// expected-error@+1 {{priorities with leading zeros are not allowed, got: p01}}
func.func private @priority_with_leading_zero() attributes {a = #sdy.sharding<@m, [{"r"}p01]>}

// -----

// expected-error@+1 {{expecting integer priority of at most 64 bits, got: p9223372036854775808}}
func.func private @priority_too_large() attributes {a = #sdy.sharding<@m, [{"r"}p9223372036854775808]>}

// -----

// expected-error@+1 {{expected '}'}}
func.func private @open_not_last() attributes {a = #sdy.sharding<@m, [{?, "r"}]>}

// -----

// expected-error@+1 {{expected '}'}}
func.func private @open_without_comma() attributes {a = #sdy.sharding<@m, [{"r" ?}]>}

// -----

// expected-error@+1 {{expected string}}
func.func private @ends_in_comma() attributes {a = #sdy.sharding<@m, [{"r",}]>}

// -----

// expected-error@+1 {{expected a mesh: a symbol, or mesh<}}
func.func private @mesh_as_string() attributes {a = #sdy.sharding<"m", [{"r"}]>}

// -----

// expected-error@+1 {{expected valid named axis list}}
func.func private @unknown_list() attributes {a = #sdy.sharding<@m, [], reduced={"r"}>}

// -----

// expected-error@+1 {{expected valid named axis list}}
func.func private @list_missing() attributes {a = #sdy.sharding<@m, [], >}

// -----

// expected-error@+1 {{expected valid named axis list}}
func.func private @list_twice() attributes {a = #sdy.sharding<@m, [], replicated={"r"}, replicated={"c"}>}

// -----

// expected-error@+1 {{unknown reduction kind 'avg', expected sum, max or min}}
func.func private @unknown_reduction() attributes {a = #sdy.sharding<@m, [], unreduced=avg{"r"}>}

// -----

// expected-error@+1 {{expecting factor symbols from 'i' to 'z', received 'a' in 'ia'}}
func.func private @factor_before_i() attributes {a = #sdy.op_sharding_rule<([ia])->([i]) {i=2}>}

// -----

// expected-error@+1 {{expecting positive integer without leading zeros after 'z_' in 'z_0'}}
func.func private @factor_z_0() attributes {a = #sdy.op_sharding_rule<([z_0])->([i]) {i=2}>}

// -----

// expected-error@+1 {{expecting positive integer without leading zeros after 'z_' in 'z_9223372036854775807'}}
func.func private @factor_that_cannot_be_counted() attributes {a = #sdy.op_sharding_rule<([z_9223372036854775807])->([i]) {i=2}>}

// -----

// expected-error@+1 {{expected 'j', received 'k'}}
func.func private @factor_sizes_out_of_order() attributes {a = #sdy.op_sharding_rule<([i])->([i]) {i=2, k=3, j=4}>}

// -----

// expected-error@+1 {{expecting a single factor symbol}}
func.func private @two_factors_in_list() attributes {a = #sdy.op_sharding_rule<([ij])->([i]) {i=2, j=3} reduction={ij}>}

// -----

// expected-error@+1 {{expected '>'}}
func.func private @lists_out_of_order() attributes {a = #sdy.op_sharding_rule<([i])->([i]) {i=2} permutation={i} reduction={i}>}

// -----

// expected-error@+1 {{expected 'custom'}}
func.func private @not_custom() attributes {a = #sdy.op_sharding_rule<([i])->([i]) {i=2}, special>}

// -----

// expected-error@+2 {{expected 'operand' or 'result', got 'input'}}
// expected-error@+1 {{failed to parse}}
func.func private @edge_of_input() attributes {a = #sdy.propagation_edges<[{step-2 = [{"c" = input-1 -> [result-0]}]}]>}

// -----

// expected-error@+1 {{propagation has no step, expected at least one}}
func.func private @edges_without_steps() attributes {a = #sdy.propagation_edges<[]>}

// -----

// expected-error@+1 {{step 2 of propagation has no edge, expected at least one}}
func.func private @step_without_edges() attributes {a = #sdy.propagation_edges<[{step-2 = []}]>}

// -----

// expected-error@+1 {{step of propagation must be non-negative, got -2}}
func.func private @negative_step() attributes {a = #sdy.propagation_edges<[{step--2 = [{"c" = operand-1 -> [operand-0]}]}]>}

// -----

// expected-error@+1 {{step 2 of propagation is duplicated; list each step once}}
func.func private @step_twice() attributes {a = #sdy.propagation_edges<[{step-2 = [{"c" = operand-1 -> [operand-0]}]}, {step-2 = [{"d" = operand-1 -> [operand-0]}]}]>}

// -----

// expected-error@+1 {{edge of axis "c" from operand-1 has no target, expected at least one}}
func.func private @edge_without_targets() attributes {a = #sdy.propagation_edges<[{step-2 = [{"c" = operand-1 -> []}]}]>}

// -----

// expected-error@+1 {{edge of axis "c" from operand-1 goes to itself}}
func.func private @edge_to_its_source() attributes {a = #sdy.propagation_edges<[{step-2 = [{"c" = operand-1 -> [operand-0, operand-1]}]}]>}

// -----

// expected-error@+1 {{edge of axis "c":(1)2 from operand-1 goes to result-0 twice}}
func.func private @edge_to_a_target_twice() attributes {a = #sdy.propagation_edges<[{step-2 = [{"c":(1)2 = operand-1 -> [result-0, result-0]}]}]>}

// -----

// expected-error@+1 {{expected integer value}}
sdy.mesh @empty_list_of_device_ids = <["r"=2], device_ids=[]>
