// RUN: mpmd-opt %s -mpmd-mark-offloaded-input-output -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The use that was created last comes first.
func.func @reports_users_that_read_different_kinds(
    // expected-error-re@+2 {{Memory kind mismatch between users of arg 0: <<NULL ATTRIBUTE>> vs "pinned_host" for users {{.*}}return{{.*}} vs {{.*}}mpmd.fragment}}
    // expected-error@+1 {{Memory kind mismatch between arg 0 and users: "pinned_host" vs <<NULL ATTRIBUTE>>}}
    %a: !m {mhlo.memory_kind = "pinned_host"}) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{Memory kind mismatch between result 1 and defining op: <<NULL ATTRIBUTE>> vs "pinned_host"}}
  return %0, %a : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Even of one side.
func.func @reports_users_that_name_the_device_differently(
    // expected-error-re@+1 {{Memory kind mismatch between users of arg 0: <<NULL ATTRIBUTE>> vs "device" for users}}
    %a: !m) -> (!m {mhlo.memory_kind = "device"}, !m) attributes {topology = #topology} {
  return %a, %a : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_argument_that_is_returned_in_another_kind(
    // expected-error@+1 {{Memory kind mismatch between arg 1 and users: <<NULL ATTRIBUTE>> vs "pinned_host"}}
    %a: !m, %b: !m) -> (!m {mhlo.memory_kind = "pinned_host"}) attributes {topology = #topology} {
  // expected-error@+1 {{Memory kind mismatch between result 0 and defining op: "pinned_host" vs <<NULL ATTRIBUTE>>}}
  return %b : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_every_result_that_fragments_make_elsewhere(%a: !m) -> (!m {mhlo.memory_kind = "pinned_host"}, !m, !m {mhlo.memory_kind = "pinned_host"}) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %x, %h : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer %0#0 : (!m) -> !m
  // expected-error@+3 {{Memory kind mismatch between result 0 and defining op: "pinned_host" vs <<NULL ATTRIBUTE>>}}
  // expected-error@+2 {{Memory kind mismatch between result 1 and defining op: <<NULL ATTRIBUTE>> vs "pinned_host"}}
  // expected-error@+1 {{Memory kind mismatch between result 2 and defining op: "pinned_host" vs <<NULL ATTRIBUTE>>}}
  return %0#0, %0#1, %1 : !m, !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_operand_that_is_marked_already(%a: !m {mhlo.memory_kind = "pinned_host"}) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{operand #0 has the memory kind "device" already; fragments must not be marked before}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{mhlo.memory_kind = "device"}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_placement_without_place(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    // expected-error@+1 {{@annotate_device_placement needs a string `_xla_buffer_placement` in `mhlo.frontend_attributes`}}
    %h = stablehlo.custom_call @annotate_device_placement(%x) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %h : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
