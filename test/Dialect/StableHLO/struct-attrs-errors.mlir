// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{duplicate `lhs_batching_dimensions` entry}}
func.func @field_is_given_once() attributes {my.a = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_batching_dimensions = [0]>} {
  return
}

// -----

// expected-error@+1 {{expected one of: `offset_dims`, `collapsed_slice_dims`}}
func.func @field_is_known() attributes {my.a = #stablehlo.gather<offsets = [0]>} {
  return
}

// -----

// expected-error@+1 {{expected one of: `update_window_dims`}}
func.func @field_of_scatter_is_known() attributes {my.a = #stablehlo.scatter<offset_dims = [0]>} {
  return
}

// -----

// expected-error@+1 {{expected '['}}
func.func @list_field_takes_list() attributes {my.a = #stablehlo.gather<offset_dims = 0>} {
  return
}

// -----

// expected-error@+1 {{unexpected dimension `x`}}
func.func @conv_letter_is_known() attributes {my.a = #stablehlo.conv<[b, x]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{`b` is given twice}}
func.func @conv_letter_is_given_once() attributes {my.a = #stablehlo.conv<[b, b]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{`f` is not specified}}
func.func @conv_letter_is_not_missing() attributes {my.a = #stablehlo.conv<[b, 0]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{spatial dimension 0 is given twice}}
func.func @conv_number_is_given_once() attributes {my.a = #stablehlo.conv<[b, 0, 0, f]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{unexpected dimension -1}}
func.func @conv_number_is_not_negative() attributes {my.a = #stablehlo.conv<[b, -1, f]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{expected spatial dimension 0 is not specified}}
func.func @conv_number_is_not_missing() attributes {my.a = #stablehlo.conv<[b, 1, f]x[i, o]->[b, f]>} {
  return
}

// -----

// expected-error@+1 {{not known to be supported}}
func.func @algorithm_is_known() attributes {my.a = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 2, allow_imprecise_accumulation = false>} {
  return
}

// -----

// expected-error@+1 {{not known to be supported}}
func.func @algorithm_has_single_components() attributes {my.a = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 2, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} {
  return
}

// -----

// expected-error@+1 {{not known to be supported}}
func.func @algorithm_is_precise() attributes {my.a = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>} {
  return
}

// -----

// expected-error@+1 {{axis "y" not found in mesh}}
func.func @axis_is_in_mesh() attributes {my.a = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>]>, axes = [#stablehlo.axis_ref<name = "y">]>} {
  return
}

// -----

// expected-error@+1 {{expected a #stablehlo.axis_ref}}
func.func @axes_of_mesh_are_references() attributes {my.a = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[]>, axes = [3]>} {
  return
}

// -----

// expected-error@+1 {{mesh must be a flat symbol reference or a #stablehlo.mesh}}
func.func @mesh_is_symbol_or_mesh() attributes {my.a = #stablehlo.replica_group_mesh_axes<mesh = "m", axes = []>} {
  return
}
