// RUN: mpmd-opt %s -split-input-file -sdy-propagate-to-func-results | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// CHECK-SAME:    -> tensor<8xf32> {
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK-LABEL: func private @takes_shardings_of_returned_values
// CHECK-SAME:    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>})
func.func private @takes_shardings_of_returned_values(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32>) {
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : tensor<8xf32>
  return %x, %0 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func private @keeps_sharding_where_returned_value_has_none
// CHECK-SAME:    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
func.func private @keeps_sharding_where_returned_value_has_none(%x: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @only_function_is_the_main_one
// CHECK-SAME:    -> tensor<8xf32> {
func.func @only_function_is_the_main_one(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main() {
  return
}

// Nothing else says what a function returns.
// CHECK-LABEL: func private @ends_in_another_return
// CHECK-SAME:    -> tensor<8xf32> {
// CHECK-NEXT:    stablehlo.return
func.func private @ends_in_another_return(%x: tensor<8xf32>) -> tensor<8xf32> {
  stablehlo.return
}
