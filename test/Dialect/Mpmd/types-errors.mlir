// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{expected ','}}
func.func private @tensor_type_is_required(!mpmd.mesh_tensor<"m1">)

// -----

// expected-error@+1 {{expected attribute value}}
func.func private @mesh_name_is_a_string(!mpmd.mesh_tensor<m1, tensor<4xf32>>)

// -----

// expected-error@+1 {{invalid kind of type specified}}
func.func private @tensor_is_ranked(!mpmd.mesh_tensor<"m1", tensor<*xf32>>)

// -----

// expected-error@+1 {{expected 'memory_kind'}}
func.func private @other_keyword(!mpmd.mesh_tensor<"m1", tensor<4xf32>, layout="a">)

// -----

// expected-error@+1 {{expected '<'}}
func.func private @sharding_is_no_string(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding="x">)

// -----

// expected-error@+1 {{expected '>'}}
func.func private @comma_before_memory_kind(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{}]> memory_kind="device">)

// -----

// expected-error@+1 {{expected 'memory_kind'}}
func.func private @dangling_comma_after_sharding(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{}]>, >)

// -----

// expected-error@+1 {{expected '>'}}
func.func private @nothing_after_memory_kind(!mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="device", >)

// -----

// expected-error@+1 {{expected '>'}}
func.func private @memory_kind_comes_last(!mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="device", sharding=<@mesh, [{}]>>)

// -----

// expected-error@+1 {{expected attribute value}}
func.func private @memory_kind_is_a_string(!mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind=device>)

// -----

// expected-error@+1 {{unbalanced '<' character in pretty dialect name}}
func.func private @brackets_balance(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{}]>)
