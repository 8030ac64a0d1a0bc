// RUN: mpmd-opt %s -mpmd-mark-input-output-with-layouts -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Later positions come first.
func.func @reports_result_returned_with_two_layouts(%a: !m) -> (!m {mhlo.layout_mode = "{0}"}, !m {mhlo.layout_mode = "auto"}, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{Result #2 is also returned as result #0, but with another layout: "default" vs. "{0}"}}
  return %0, %0, %0 : !m, !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_argument_returned_with_two_layouts(%a: !m) -> (!m {mhlo.layout_mode = "{0}"}, !m {mhlo.layout_mode = "{1}"}) attributes {topology = #topology} {
  // expected-error@+1 {{Result #1 is also returned as result #0, but with another layout: "{1}" vs. "{0}"}}
  return %a, %a : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// expected-error@+1 {{Arg #1 is returned as result #0, but with another layout: "{0}" vs. "default"}}
func.func @reports_argument_returned_with_another_layout(%a: !m, %b: !m {mhlo.layout_mode = "{0}"}) -> (!m, !m {mhlo.layout_mode = "auto"}) attributes {topology = #topology} {
  return %b, %b : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!cpu = !mpmd.mesh_tensor<"m/cpu", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"m/cpu": <["x"=2]>>>

func.func @warns_of_layouts_lost_on_cpu_mesh(
    %a: !m {mhlo.layout_mode = "auto"},
    // expected-warning@+1 {{Arg #1 is used in a transfer op to a CPU mesh, which keeps no layout, but has the non-default layout "{0}"; it is forced to the default layout}}
    %b: !m {mhlo.layout_mode = "{0}"}) -> (!m {mhlo.layout_mode = "{1}"}, !m {mhlo.layout_mode = "auto"}, !cpu, !cpu, !cpu, !cpu) attributes {topology = #topology} {
  // expected-warning@+1 {{Result #0 is used in a transfer op to a CPU mesh, which keeps no layout, but has the non-default layout "{1}"; it is forced to the default layout}}
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer %a : (!m) -> !cpu
  %2 = mpmd.transfer %b : (!m) -> !cpu
  %3 = mpmd.transfer %0#0 : (!m) -> !cpu
  %4 = mpmd.transfer %0#1 : (!m) -> !cpu
  return %0#0, %0#1, %1, %2, %3, %4 : !m, !m, !cpu, !cpu, !cpu, !cpu
}
