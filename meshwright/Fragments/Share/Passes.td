//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_FRAGMENTS_SHARE_PASSES_TD
#define MESHWRIGHT_FRAGMENTS_SHARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LiftArgumentConstraintsPass
    : Pass<"mpmd-lift-argument-constraints", "::mlir::ModuleOp"> {
  let summary = "Takes constraints of arguments out of shared bodies";
  let description = [{
    A constraint that closes the sharding of a fragment's argument is one of the
    argument itself, for all that reads it. So it leaves the shared body, and is
    in each fragment.

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

    Leaves alone: constraints that others of the argument contradict, open ones, and
    those of arguments that have a sharding. Fragments that do something else with such
    an argument, or of whose arguments others have shardings than in the first fragment,
    get their ops back. Cost: linear in calls and in the ops of functions.
  }];
  let statistics = [
    Statistic<"numLifted", "num-lifted", "Constraints taken out of functions">,
    Statistic<"numInlined", "num-inlined", "Fragments that got their ops back">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def ShareBodiesPass : Pass<"mpmd-share-bodies", "::mlir::ModuleOp"> {
  let summary = "Shares equal bodies of fragments";
  let description = [{
    Fragments with equal bodies, such as those of a stage for all microbatches,
    refer to one private function, so that the passes after this one go through
    their ops once.

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
    once; everything else that a fragment returns stays in the fragment. Functions that
    are there are shortened in the same way, and what merging has added to them
    becomes a part of them. Locations of ops are those of the
    first fragment, as they are in the end where fragments become calls.

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
           "Make one of each body in a function that is called several times.">,
    Option<"minOps", "min-ops", "unsigned", /*default=*/"8",
           "The least number of ops of a body that is worth a function.">,
  ];
  let statistics = [
    Statistic<"numBodies", "num-bodies", "Functions made">,
    Statistic<"numFragments", "num-fragments", "Fragments that call them">,
    Statistic<"numNarrowed", "num-narrowed", "Functions that take or return less">,
    Statistic<"numInlined", "num-inlined", "Fragments that got their ops back">,
    Statistic<"numErased", "num-erased", "Functions that nothing calls">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def SinkArgumentConstraintsPass
    : Pass<"mpmd-sink-argument-constraints", "::mlir::ModuleOp"> {
  let summary = "Puts constraints of arguments into shared bodies";
  let description = [{
    The inverse of `mpmd-lift-argument-constraints`, once shardings have propagated: the
    constraints of what shared bodies read become ops of these, so that what follows
    finds all ops of a fragment together.

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

    Fragments of which not all constraints are those of the first one with this body,
    or are read elsewhere, get their ops back. Cost: linear in calls and their operands.
  }];
  let statistics = [
    Statistic<"numSunk", "num-sunk", "Constraints put into functions">,
    Statistic<"numInlined", "num-inlined", "Fragments that got their ops back">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def UnshareBodiesPass : Pass<"mpmd-unshare-bodies", "::mlir::ModuleOp"> {
  let summary = "Undoes the sharing of bodies";
  let description = [{
    The inverse of `mpmd-share-bodies`: the ops of each function take the place
    of its calls, and the functions go.

    ```mlir
    %2 = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %2 = stablehlo.sine %x : tensor<4xf32>
    ```

    Cost: linear in the size of the result.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments with a body of its own">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
