//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_FRAGMENTS_SHARE_PASSES_TD
#define MESHWRIGHT_FRAGMENTS_SHARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LiftArgumentConstraintsPass
    : Pass<"mpmd-lift-argument-constraints", "::mlir::ModuleOp"> {
  let summary = "Moves constraints on arguments out of shared bodies";
  let description = [{
    A constraint that closes the sharding of a fragment's argument holds for all
    readers of the argument. It moves from the shared body into each fragment
    that calls it.

    ```mlir
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %2 = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    func.func private @shared_body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
      %c = sdy.sharding_constraint %a <@g, [{"x"} ]> : tensor<4xf32>
      ...
    // becomes
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %c = sdy.sharding_constraint %x <@g, [{"x"} ]> : tensor<4xf32>
      %2 = stablehlo.custom_call @mpmd.shared_body(%c) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    func.func private @shared_body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
      ...
    ```

    Leaves alone: constraints that others of the argument contradict, open ones,
    and those of arguments that have a sharding. The shared body is inlined into
    fragments that use such an argument differently, or in which other arguments
    have shardings than in the first fragment. Cost: linear in calls and in the
    ops of functions.
  }];
  let statistics = [
    Statistic<"numLifted", "num-lifted",
              "Constraints moved out of functions">,
    Statistic<"numInlined", "num-inlined",
              "Fragments with the body inlined again">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def ShareBodiesPass : Pass<"mpmd-share-bodies", "::mlir::ModuleOp"> {
  let summary = "Shares equal bodies of fragments";
  let description = [{
    Fragments with equal bodies, such as those of a stage for all microbatches,
    refer to one private function, so that later passes visit their ops once.

    ```mlir
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %2 = stablehlo.sine %x : tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    // becomes, if other fragments have this body,
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %2 = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    ```

    Each function takes what it reads and returns each value that it computes
    once; everything else that a fragment returns stays in the fragment.
    Existing functions are narrowed in the same way, and ops that merging has
    added around their calls move into them. Locations of ops are those of the
    first fragment, as they will be when fragments become calls.

    Leaves alone: bodies with effects, those of fewer than `min-ops` ops, those
    that return an argument twice, and fragments with tokens. With
    `for-propagation`, which is for programs with a function `@main` on meshes of
    the same axes, also bodies with shardings or ops of dialect sdy other than
    constraints. Cost: linear in the size of the program.
  }];
  let options = [
    Option<"forPropagation", "for-propagation", "bool", /*default=*/"false",
           "Make only functions that shardings can propagate through.">,
    Option<"inCallees", "in-callees", "bool", /*default=*/"false",
           "Also make functions of the bodies in callees that are called "
           "several times.">,
    Option<"minOps", "min-ops", "unsigned", /*default=*/"8",
           "Minimum number of ops in a shared body.">,
  ];
  let statistics = [
    Statistic<"numBodies", "num-bodies", "Functions created">,
    Statistic<"numFragments", "num-fragments", "Fragments that call them">,
    Statistic<"numNarrowed", "num-narrowed", "Functions narrowed">,
    Statistic<"numInlined", "num-inlined",
              "Fragments with the body inlined again">,
    Statistic<"numErased", "num-erased", "Unused functions erased">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def SinkArgumentConstraintsPass
    : Pass<"mpmd-sink-argument-constraints", "::mlir::ModuleOp"> {
  let summary = "Moves constraints on arguments into shared bodies";
  let description = [{
    The inverse of `mpmd-lift-argument-constraints`, once shardings have
    propagated: constraints on operands of shared bodies move into the bodies,
    so that later passes find all ops of a fragment in one place.

    ```mlir
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %c = sdy.sharding_constraint %x <@g, [{"x"} ]> : tensor<4xf32>
      %2 = stablehlo.custom_call @mpmd.shared_body(%c) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    // becomes
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %2 = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!m) -> !m
    ```

    The shared body is inlined into fragments whose constraints differ from
    those of the first fragment with this body, or are read elsewhere. Cost:
    linear in calls and their operands.
  }];
  let statistics = [
    Statistic<"numSunk", "num-sunk", "Constraints moved into functions">,
    Statistic<"numInlined", "num-inlined",
              "Fragments with the body inlined again">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def UnshareBodiesPass : Pass<"mpmd-unshare-bodies", "::mlir::ModuleOp"> {
  let summary = "Inlines shared bodies into fragments";
  let description = [{
    The inverse of `mpmd-share-bodies`: replaces each call by the ops of its
    function, and erases the functions.

    ```mlir
    %2 = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %2 = stablehlo.sine %x : tensor<4xf32>
    ```

    Cost: linear in the size of the result.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments",
              "Fragments with an inlined body">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
