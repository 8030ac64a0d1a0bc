// RUN: mpmd-opt %s --mpmd-share-bodies="for-propagation min-ops=1" --split-input-file | FileCheck %s

// Shardings come to a shared body through operands and results, and from constraints in
// it: what constrains a constraint or leaves partial sums, what carries some, and ops that
// nothing uses, stay.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @main
// CHECK-COUNT-2: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK-COUNT-2: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body_0], has_side_effect = true}
// CHECK-COUNT-2: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body_1]
// CHECK-NOT: custom_call @mpmd.shared_body
// CHECK: func private @shared_body(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: stablehlo.sine %[[X]]
// CHECK: func private @shared_body_0(%[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: sdy.sharding_constraint %[[Y]]
// CHECK: func private @shared_body_1(%[[Z:.*]]: tensor<4xf32>)
// CHECK-NEXT: stablehlo.optimization_barrier %[[Z]]
// CHECK-NOT: func private
func.func @main(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%2) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["f"]> (%3) (%a: tensor<4xf32>) {
    %s = stablehlo.optimization_barrier %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %5 = mpmd.fragment<mesh="m", origin=["f"]> (%4) (%a: tensor<4xf32>) {
    %s = stablehlo.optimization_barrier %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %6 = mpmd.fragment<mesh="m", origin=["f"]> (%5) (%a: tensor<4xf32>) {
    %s = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %7 = mpmd.fragment<mesh="m", origin=["f"]> (%6) (%a: tensor<4xf32>) {
    %s = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %8 = mpmd.fragment<mesh="m", origin=["f"]> (%7) (%a: tensor<4xf32>) {
    %d = stablehlo.abs %a : tensor<4xf32>
    %s = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %9 = mpmd.fragment<mesh="m", origin=["f"]> (%8) (%a: tensor<4xf32>) {
    %d = stablehlo.abs %a : tensor<4xf32>
    %s = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %10 = mpmd.fragment<mesh="m", origin=["f"]> (%9) (%a: tensor<4xf32>) {
    %c = sdy.sharding_constraint %a <@mesh, [{?}]> : tensor<4xf32>
    %s = sdy.sharding_constraint %c <@mesh, [{"x"}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %11 = mpmd.fragment<mesh="m", origin=["f"]> (%10) (%a: tensor<4xf32>) {
    %c = sdy.sharding_constraint %a <@mesh, [{?}]> : tensor<4xf32>
    %s = sdy.sharding_constraint %c <@mesh, [{"x"}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %12 = mpmd.fragment<mesh="m", origin=["f"]> (%11) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %13 = mpmd.fragment<mesh="m", origin=["f"]> (%12) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %13 : !m
}
sdy.mesh @mesh = <["x"=2]>

// -----

// Meshes of several shapes: shardings move from one to another inside of bodies.

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=4]>>>

// CHECK-LABEL: func @main
// CHECK-NOT: shared_body
func.func @main(%arg0: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}

// -----

// The only function would not be the main one any more.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @step
// CHECK-NOT: shared_body
func.func @step(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %1 : !m
}
