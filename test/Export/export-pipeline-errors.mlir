// RUN: split-file %s %t
// RUN: mpmd-opt %t/params.mlir -mpmd-export-pipeline='fail-on-param-transfers=true param-transfer-pattern=weights' -verify-diagnostics
// RUN: mpmd-opt %t/reshards.mlir -mpmd-export-pipeline=fail-on-reshard-only-fragments=true -verify-diagnostics
// RUN: mpmd-opt %t/backward.mlir -mpmd-export-pipeline=fail-on-backward-deps=true -verify-diagnostics
// RUN: mpmd-opt %t/inferred.mlir -mpmd-export-pipeline -verify-diagnostics
// RUN: mpmd-opt %t/tolerated.mlir -mpmd-export-pipeline=fail-on-inferred-fragments=false -verify-diagnostics
// RUN: mpmd-opt %t/origin.mlir -mpmd-export-pipeline -verify-diagnostics

//--- params.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func @main(%w: !m1 loc("weights[0]")) -> !m2 attributes {topology = #topology} {
  // expected-error@+1 {{cross-mesh transfer of a parameter}}
  %0 = mpmd.transfer %w : (!m1) -> !m2
  %1 = mpmd.fragment<mesh="m2", origin=["f"]> (%0) (%x: tensor<4xf32>) {
    %2 = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (!m2) -> !m2
  return %1 : !m2
}

//--- reshards.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @main(%a: !m1) -> !m1 attributes {topology = #topology} {
  // expected-warning@+2 {{Inferred fragment has not been merged (inferred by uniquify)}}
  // expected-error@+1 {{Detected reshard-only fragment 'p0_inferred.main'}}
  return %a : !m1
}

//--- backward.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func @main(%a: !m2) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m2", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %2 = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (!m2) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1
  // expected-error@+1 {{Detected backward dependency in a forward-only pipeline: "p0_f.main" mesh="m2" is read by "p1_g.main" mesh="m1"}}
  %3 = mpmd.fragment<mesh="m1", origin=["g"]> (%1) (%x: tensor<4xf32>) {
    %2 = stablehlo.abs %x : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (!m1) -> !m1
  return %3 : !m1
}

//--- inferred.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @main(%a: !m1) -> !m1 attributes {topology = #topology} {
  // expected-error@+1 {{Inferred fragment has not been merged (inferred by test)}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%a) {mpmd.inferred_by = ["test"]} (%x: tensor<4xf32>) {
    %2 = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

//--- tolerated.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @main(%a: !m1) -> !m1 attributes {topology = #topology} {
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by test)}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%a) {mpmd.inferred_by = ["test"]} (%x: tensor<4xf32>) {
    %2 = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

//--- origin.mlir
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m1_x = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@m, [{"x"}]>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
sdy.mesh @m = <["x"=2]>
func.func @main(%a: !m1) -> !m1_x attributes {topology = #topology} {
  // expected-error@+1 {{Internal error: 'p0_f.main' does nothing but reshard}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m1) -> !m1_x
  return %0 : !m1_x
}
