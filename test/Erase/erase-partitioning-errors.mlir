// RUN: mpmd-opt %s -split-input-file -verify-diagnostics -mpmd-erase-partitioning

func.func @reports_reduction_without_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot be computed on one device: StableHLO has no op of kind or for 'tensor<4xf32>'}}
  %0 = mpmd.reduce<or> %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_reduction_of_foreign_type(%x: tensor<4xindex>) -> tensor<4xindex> {
  // expected-error@+1 {{StableHLO has no op of kind add for 'tensor<4xindex>'}}
  %0 = mpmd.reduce<add> %x, %x : (tensor<4xindex>, tensor<4xindex>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

func.func @reports_index_that_cannot_count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot become a while: its index has type 'i64'; expected tensor<ui32> or tensor<i32>}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: i64) {
    mpmd.return %a : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_index_with_a_sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot become a while: its index has type 'tensor<si32>'; expected tensor<ui32> or tensor<i32>}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<si32>) {
    mpmd.return %a : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @callee() -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @reports_calls_of_more_operands_than_arguments(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{cannot become a call: it has 1 operands and 1 results, expected as many as @callee has}}
  %0 = mpmd.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @read(tensor<4xf32>, vector<4xf32>) -> tensor<4xf32>

func.func @reports_value_that_no_while_carries(%x: tensor<4xf32>, %v: vector<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot become a while: it carries or reads a value of type 'vector<4xf32>'; expected tensors of StableHLO element types, memrefs of them, and tokens}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    %1 = func.call @read(%a, %v) : (tensor<4xf32>, vector<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

!axis = tensor<2x!quant.uniform<i8:f32:0, {2.0:1,3.0}>>

func.func @reports_reduction_of_values_quantized_per_axis(%x: !axis) -> !axis {
  // expected-error@+1 {{StableHLO has no op of kind max for}}
  %0 = mpmd.reduce<max> %x, %x : (!axis, !axis) -> !axis
  return %0 : !axis
}
