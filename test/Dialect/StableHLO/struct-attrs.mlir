// RUN: mpmd-opt %s | FileCheck %s

// CHECK-LABEL: func @fields_in_any_order
// CHECK-SAME:    my.a = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
func.func @fields_in_any_order() attributes {my.a = #stablehlo.dot<rhs_contracting_dimensions = [0], lhs_contracting_dimensions = [1],>} {
  return
}

// CHECK-LABEL: func @empty_fields_are_left_out
// CHECK-SAME:    my.a = #stablehlo.gather<>}
func.func @empty_fields_are_left_out() attributes {my.a = #stablehlo.gather<offset_dims = [], index_vector_dim = 0>} {
  return
}

// CHECK-LABEL: func @scatter_fields
// CHECK-SAME:    my.a = #stablehlo.scatter<update_window_dims = [0, 1], index_vector_dim = 2>}
func.func @scatter_fields() attributes {my.a = #stablehlo.scatter<index_vector_dim = 2, update_window_dims = [0, 1]>} {
  return
}

// CHECK-LABEL: func @short_convolution
// CHECK-SAME:    my.a = #stablehlo.conv<[1, b, f, 0]x[o, i, 0, 1]->[f, 0, 1, b]>}
func.func @short_convolution() attributes {my.a = #stablehlo.conv<[1, b, f, 0]x[o, i, 0, 1]->[f, 0, 1, b]>} {
  return
}

// CHECK-LABEL: func @long_convolution_prints_short
// CHECK-SAME:    my.a = #stablehlo.conv<[f, b]x[i, o]->[f, b]>}
func.func @long_convolution_prints_short() attributes {my.a = #stablehlo.conv<raw input_batch_dimension = 1, output_batch_dimension = 1, kernel_output_feature_dimension = 1>} {
  return
}

// CHECK-LABEL: func @long_convolution_of_colliding_positions
// CHECK-SAME:    my.a = #stablehlo.conv<raw input_batch_dimension = 4, input_feature_dimension = 0, input_spatial_dimensions = [], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [], output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = []>}
func.func @long_convolution_of_colliding_positions() attributes {my.a = #stablehlo.conv<raw input_batch_dimension = 4>} {
  return
}

// CHECK-LABEL: func @channel_in_any_order
// CHECK-SAME:    my.a = #stablehlo.channel_handle<handle = 5, type = 2>}
func.func @channel_in_any_order() attributes {my.a = #stablehlo.channel_handle<type = 2, handle = 5>} {
  return
}

// CHECK-LABEL: func @algorithm_of_eight_bit_floats
// CHECK-SAME:    my.a = #stablehlo.dot_algorithm<lhs_precision_type = f8E5M2, rhs_precision_type = f8E3M4, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>}
func.func @algorithm_of_eight_bit_floats() attributes {my.a = #stablehlo.dot_algorithm<lhs_precision_type = f8E5M2, rhs_precision_type = f8E3M4, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>} {
  return
}

// CHECK-LABEL: func @mesh_with_device_ids
// CHECK-SAME:    my.a = #stablehlo.mesh<axes=[<name = "p", size = 2>, <name = "q", size = 1>], device_ids=dense<[1, 0]> : tensor<2xi64>>}
func.func @mesh_with_device_ids() attributes {my.a = #stablehlo.mesh<axes=[<name = "p", size = 2>, <name = "q", size = 1>], device_ids=dense<[1, 0]> : tensor<2xi64>>} {
  return
}

// CHECK-LABEL: func @axes_of_inline_mesh
// CHECK-SAME:    my.a = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "p", size = 4>]>, axes = [#stablehlo.axis_ref<name = "p", sub_axis_info = (2)2>]>}
func.func @axes_of_inline_mesh() attributes {my.a = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "p", size = 4>]>, axes = [#stablehlo.axis_ref<name = "p", sub_axis_info = (2)2>]>} {
  return
}

// As by jaxlib, though there it is read after an error.
// CHECK-LABEL: func @bounds_without_a_list
// CHECK-SAME:    my.a = #stablehlo.bounds<>, my.b = #stablehlo.bounds<>}
func.func @bounds_without_a_list() attributes {my.a = #stablehlo.bounds, my.b = #stablehlo.bounds<>} {
  return
}
