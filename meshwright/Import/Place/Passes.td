//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_PLACE_PASSES_TD
#define MESHWRIGHT_IMPORT_PLACE_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def EnforceInputOutputEquishardingPass
    : Pass<"mpmd-enforce-input-output-equisharding", "::mlir::func::FuncOp"> {
  let summary = "Transfers results to the types of the arguments they replace";
  let description = [{
    For each constraint `i:o` of an MPMD entry function, in order: if argument
    `i` and result `o` differ in type (mesh, sharding or memory kind), transfers
    the result to the type of the argument.

    ```mlir
    // constraints=0:0
    func.func @f(%x: !p) -> !q {..., return %0 : !q}
    // becomes
    func.func @f(%x: !p) -> !p {..., %1 = mpmd.transfer %0 : (!q) -> !p, return %1 : !p}
    ```

    Compares the types of the signature before the pass, so that two differing
    constraints on one result stack two transfers. Requires indices in range and
    mesh tensors of one global type, and reports anything else. Leaves alone:
    arguments, unconstrained results, other functions. Cost: linear in the
    number of constraints.
  }];
  let options = [
    ListOption<"constraints", "constraints", "InputOutputConstraint",
               "Pairs input:output of values that must have one type.">,
  ];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers of results inserted">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def EraseUnusedCalleeBlockArgumentsPass
    : Pass<"mpmd-erase-unused-callee-block-arguments", "::mlir::ModuleOp"> {
  let summary = "Removes pass-through operands and results of calls";
  let description = [{
    Removes from private MPMD functions the arguments that have no use but in
    the return, with the results that return them, and adapts the calls. Uses of
    a removed result read what the call passed. A callee that is left without
    results and has no effects is erased with its calls.

    ```mlir
    %0:2 = mpmd.call @f(%x, %y) : (!l, !l) -> (!l, !l)
    func.func private @f(%a: !l, %b: !l) -> (!l, !l) attributes {topology = #t} {
      %1 = stablehlo.abs %b : !l
      return %a, %1 : !l, !l
    }
    // becomes, with uses of %0#0 redirected to %x
    %0 = mpmd.call @f(%y) : (!l) -> !l
    func.func private @f(%b: !l) -> !l attributes {topology = #t} {
      %1 = stablehlo.abs %b : !l
      return %1 : !l
    }
    ```

    Leaves alone: entry points, callees none of whose calls has a used result,
    and functions that anything but an `mpmd.call` refers to. Calls keep their
    attributes and locations. Goes over the functions once.
  }];
  let statistics = [
    Statistic<"numArguments", "num-arguments", "Arguments removed">,
    Statistic<"numResults", "num-results", "Results removed">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InlineNestedUserExposedOpsPass
    : DistributedFunctionPass<"mpmd-inline-nested-user-exposed-ops"> {
  let summary = "Inlines named ops inside named computations";
  let description = [{
    Inlines named computations that are nested in others, and replaces nested
    named tensors and broadcasts by their operand, reduces by operations of
    StableHLO that combine their operands.
    DEPARTURE(nested-reduction): the reference takes the first operand for all.

    ```mlir
    %0 = mpmd.named_computation<"outer"> (%x) (%a: T) {
      %1 = mpmd.named_computation<"inner"> (%a) (%b: T) {
        %2 = stablehlo.negate %b : T
        mpmd.return %2 : T
      } : (T) -> T
      mpmd.return %1 : T
    } : (T) -> T
    // becomes
    %0 = mpmd.named_computation<"outer"> (%x) (%a: T) {
      %2 = stablehlo.negate %a : T
      mpmd.return %2 : T
    } : (T) -> T
    ```

    The computation around a nested one or a tensor must be in the assignment.
    If the nested name is, too, mesh and stage must be equal (for a tensor, the
    mesh). Acts on distributed functions; does not fold or remove dead code.
    Cost: linear.
  }];
  let options = [
    Option<"assignment", "assignment", "NameAssignment", /*default=*/"",
           "Meshes of names: name@mesh or name@mesh/stage, separated by "
           "commas.">,
  ];
  let statistics = [
    Statistic<"numInlined", "num-inlined",
              "Named computations and tensors inlined">,
  ];
}

def IntroduceTransfersPass
    : Pass<"mpmd-introduce-transfers", "::mlir::ModuleOp"> {
  let summary = "Turns assigns of unassigned values into transfers";
  let description = [{
    First, an argument of a callee that every call passes from one mesh is
    assigned to that mesh at the start of the callee, if an assign reads it.

    Then rewrites to a fixed point. An assign of an unassigned value is the
    value itself, or a transfer; a value that several meshes need goes from mesh
    to mesh in mesh order. A sum of unassigned values is computed, add by add,
    in fragments on the mesh that the sum is assigned to.

    ```mlir
    %u = mpmd.unassign %v : (!m1) -> T
    %1 = mpmd.assign %u : (T) -> !m3
    %2 = mpmd.assign %u : (T) -> !m2
    // becomes
    %2 = mpmd.transfer %v : (!m1) -> !m2
    %1 = mpmd.transfer %2 : (!m2) -> !m3
    ```

    Leaves alone: assigns of other values, unassigns with other users, sums with
    other terms or with partial sums that are used twice, and assigns in loops
    that would need a transfer. Transfers have the location of the assign.
    Removes dead code. Cost: linear for a bounded number of meshes.
  }];
  let statistics = [
    Statistic<"numAssigns", "num-assigns", "Assigns resolved">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MapInputOutputToMeshPass
    : Pass<"mpmd-map-input-output-to-mesh", "::mlir::ModuleOp"> {
  let summary = "Assigns arguments and results of the program to meshes";
  let description = [{
    Changes the types of the assigned arguments and results of each MPMD entry
    function, unassigns those arguments first thing, and assigns those results
    before the return.

    ```mlir
    // input-assignment=0@m1 output-assignment=0@m2#pinned_host
    func.func @f(%x: T) -> T {
      %0 = stablehlo.negate %x : T
      return %0 : T
    }
    // becomes
    func.func @f(%x: !m1) -> !m2_host {
      %u = mpmd.unassign {origin = "user_in"} %x : (!m1) -> T
      %0 = stablehlo.negate %u : T
      %a = mpmd.assign {origin = "user_out"} %0 : (T) -> !m2_host
      return %a : !m2_host
    }
    ```

    Where a type now has a memory kind, `mhlo.memory_kind` goes. Requires
    indices in range and ranked tensors, and reports anything else. Cost: linear.
  }];
  let options = [
    Option<"inputAssignment", "input-assignment", "IndexAssignment",
           /*default=*/"",
           "Meshes of arguments: index@mesh, separated by commas.">,
    Option<"outputAssignment", "output-assignment", "IndexAssignment",
           /*default=*/"",
           "Meshes of results: index@mesh, separated by commas.">,
  ];
  let statistics = [
    Statistic<"numAssigned", "num-assigned", "Inputs and outputs assigned">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MapNamedOpsToMpmdOpsPass
    : DistributedFunctionPass<"mpmd-map-named-ops-to-mpmd-ops"> {
  let summary = "Replaces named computations by fragments on their meshes";
  let description = [{
    Replaces a named computation by a fragment on the mesh its name is assigned
    to, with assigns of its operands (one per distinct one) and unassigns of its
    results. Replaces a named tensor by an assign and an unassign, or by its
    operand if its name is not assigned.

    ```mlir
    // assignment=enc@m1/2
    %0 = mpmd.named_computation<"enc"(1)> (%x) (%a: T) {...} : (T) -> T
    // becomes
    %a0 = mpmd.assign {origin = "enc"} %x : (T) -> !m1
    %f = mpmd.fragment<mesh="m1", origin=["enc"(1)], stage=2> (%a0) (%a: T) {...} : (!m1) -> !m1
    %0 = mpmd.unassign {origin = "enc"} %f : (!m1) -> T
    ```

    Requires named ops on the top level, tensors without tokens, and meshes of
    the topology; reports anything else, and computations without an entry. Acts
    on distributed functions. Discardable attributes of the computation are
    lost. Cost: linear.
  }];
  let options = [
    Option<"assignment", "assignment", "NameAssignment", /*default=*/"",
           "Meshes of names: name@mesh or name@mesh/stage, separated by "
           "commas.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments created">,
    Statistic<"numTensors", "num-tensors", "Named tensors assigned">,
  ];
}

def ValidateNamedOpsInMpmdFuncPass
    : Pass<"mpmd-validate-named-ops-in-mpmd-func", "::mlir::func::FuncOp"> {
  let summary = "Reports named ops outside of MPMD functions";
  let description = [{
    Reports each named computation and named tensor whose parent is neither an
    op of the mpmd dialect nor a function with a topology.

    ```mlir
    func.func @plain(%x: T) -> T {
      %0 = mpmd.named_tensor %x name="t" : T // reported
      return %0 : T
    }
    ```

    Does not fail: a pipeline goes on. Changes nothing. Cost: linear.
  }];
}

#endif
