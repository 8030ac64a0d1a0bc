// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @not_a_rule(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{should have a sharding rule of the form #sdy.op_sharding_rule as "sdy.sharding_rule", got 1}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = 1 : i32} : tensor<8x8xf32>
  return
}

// -----

func.func @no_results(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{must have at least one result to have a sharding rule}}
  sdy.sharding_group %x group_id=0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @too_many_operands(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{number of operands and mappings must match: 1 != 2}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @too_many_results(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{number of results and mappings must match: 1 != 2}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], [i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{operand - expected a ranked tensor with a static shape, got 'tensor<?x8xf32>'}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<?x8xf32>
  return
}

// -----

func.func @wrong_rank(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{operand 1 - mapping rank must match: 1 != 2}}
  %0 = stablehlo.add %x, %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @unknown_factor(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{result - factor index 2 in dimension 1 is out of range, the rule has 2 factors}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @factor_twice_in_tensor(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{operand - cannot reuse factors for the same tensor, factor index 0 comes again in dimension 1}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, ij])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @factor_of_size_1_among_others(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{operand - dimension 1 can't have a factor of size 1 if it has multiple factors}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=8, j=8, k=1}>} : tensor<8x8xf32>
  return
}

// -----

func.func @unused_factor(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{has a factor of size 3 at index 2 that isn't used in operand and result mappings}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8, k=3}>} : tensor<8x8xf32>
  return
}

// -----

func.func @unsorted_list(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{blocked_propagation factors: indices of special factors must be sorted}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} blocked_propagation={j, i}>} : tensor<8x8xf32>
  return
}

// -----

func.func @factor_twice_in_list(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{permutation factors: indices of special factors must be unique}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} permutation={i, i}>} : tensor<8x8xf32>
  return
}

// -----

func.func @list_with_unknown_factor(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{need_replication factors: index must be less than 2, got 2}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} need_replication={k}>} : tensor<8x8xf32>
  return
}

// -----

func.func @factor_in_two_lists(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{a factor can only be in one of the reduction, need_replication or permutation factors}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} need_replication={i} permutation={i}>} : tensor<8x8xf32>
  return
}

// -----

func.func @reduction_factor_in_result(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{reduction factor cannot be in result mappings, got factor index 0}}
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} reduction={i}>} : tensor<8x8xf32>
  return
}

// -----

func.func @factor_below_0(%x: tensor<8xf32>) {
  // expected-error@+1 {{has a factor of size -9223372036854775808 at index 0, expected none below 0}}
  %0 = stablehlo.custom_call @f(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=-9223372036854775808}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
