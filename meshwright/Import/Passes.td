//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_PASSES_TD
#define MESHWRIGHT_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def CopyTopologyFromMainPass
    : Pass<"mpmd-copy-topology-from-main", "::mlir::ModuleOp"> {
  let summary = "Makes the functions that an MPMD function calls MPMD functions";
  let description = [{
    Gives each target of an `mpmd.call` in a function with a topology that
    topology, in place of any other, and makes it private.

    ```mlir
    func.func @main(%x: T) -> T attributes {topology = #t} {
      %0 = mpmd.call @layer(%x) : (T) -> T
      return %0 : T
    }
    func.func @layer(%x: T) -> T {...}
    // becomes
    func.func private @layer(%x: T) -> T attributes {topology = #t} {...}
    ```

    One sweep in module order: callees of a callee are reached if it stands
    behind its caller. Leaves alone: targets of `func.call` and functions that
    nobody calls. Cost: linear.
  }];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls whose callee got a topology">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def EnforceInputOutputEquishardingPass
    : Pass<"mpmd-enforce-input-output-equisharding", "::mlir::func::FuncOp"> {
  let summary = "Sends results to where the arguments are that they become";
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
               "Pairs input:output of values to be placed alike.">,
  ];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers of results inserted">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def GenerateSdyMeshesFromTopologyPass
    : Pass<"mpmd-generate-sdy-meshes-from-topology", "::mlir::ModuleOp"> {
  let summary = "Replaces the sdy meshes by those of the topology";
  let description = [{
    For programs with different meshes, whose axes are named `MESH_AXIS`.
    Creates an `sdy.mesh` per mesh of the topology at the start of the module
    and makes each sharding refer to the mesh that its axes name. A sharding
    without axes in its dimensions refers to `@empty_mesh`, which is created and
    added to the topology where there is none.

    ```mlir
    sdy.mesh @all = <["gpu_x"=2, "cpu_y"=4]>
    // a sharding of @all over "gpu_x", one of @all over nothing
    // becomes
    sdy.mesh @empty_mesh = <[]>
    sdy.mesh @gpu = <["gpu_x"=2]>
    sdy.mesh @cpu = <["cpu_y"=4]>
    // a sharding of @gpu over "gpu_x", one of @empty_mesh over nothing
    ```

    Uses the topology of the first MPMD function, and reports if there is none;
    reports axes without prefix, axes of two meshes in one sharding, and names
    that are taken. Leaves alone: empty and maximal meshes and the shardings
    without axes on them; types. Cost: linear, each distinct sharding once.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::sdy::SdyDialect"];
}

def InlineNestedUserExposedOpsPass
    : Pass<"mpmd-inline-nested-user-exposed-ops", "::mlir::func::FuncOp"> {
  let summary = "Dissolves named ops inside named computations";
  let description = [{
    Inlines named computations that are nested in others, and replaces nested
    named tensors, broadcasts and reduces by their (first) operand.

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
           "Meshes of names: name@mesh or name@mesh/stage, with commas between "
           "them.">,
  ];
  let statistics = [
    Statistic<"numInlined", "num-inlined",
              "Named computations and tensors dissolved">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InsertNamelessCloneOfNegligibleOpsPass
    : Pass<"mpmd-insert-nameless-clone-of-negligible-ops",
           "::mlir::func::FuncOp"> {
  let summary = "Gives users of a returned constant a copy of their own";
  let description = [{
    Where a named computation returns the result of an op without operands and
    with one result, clones that op behind the computation and lets all users
    but `func.return` read the clone.

    ```mlir
    %r = mpmd.named_computation<"f"> () () {
      %c = stablehlo.constant dense<3.0> : T
      mpmd.return %c : T
    } : () -> T
    %0 = stablehlo.negate %r : T
    return %r, %0 : T, T
    // inserts behind %r, and lets %0 read
    %c = stablehlo.constant dense<3.0> : T
    ```

    One clone per result, used or not. Acts on distributed functions; leaves the
    computation as it is. Cost: linear.
  }];
  let statistics = [
    Statistic<"numClones", "num-clones", "Ops cloned">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
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
    Dead code disappears. Cost: linear for a bounded number of meshes.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MapInputOutputToMeshPass
    : Pass<"mpmd-map-input-output-to-mesh", "::mlir::ModuleOp"> {
  let summary = "Puts arguments and results of the program on meshes";
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
           /*default=*/"", "Meshes of arguments: index@mesh, with commas "
           "between them.">,
    Option<"outputAssignment", "output-assignment", "IndexAssignment",
           /*default=*/"", "Meshes of results: index@mesh, with commas between "
           "them.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MapNamedOpsToMpmdOpsPass
    : Pass<"mpmd-map-named-ops-to-mpmd-ops", "::mlir::func::FuncOp"> {
  let summary = "Makes named computations fragments on their meshes";
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
           "Meshes of names: name@mesh or name@mesh/stage, with commas between "
           "them.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments created">,
    Statistic<"numTensors", "num-tensors", "Named tensors assigned">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def SimplifyNamedComputationsPass
    : Pass<"mpmd-simplify-named-computations", "::mlir::func::FuncOp"> {
  let summary = "Frees named computations of values they do not need";
  let description = [{
    Drops duplicate operands and results, results that are operands, and unused
    results of named computations. Before that, takes values out of
    optimization barriers that stand between an argument and the return.

    ```mlir
    %r:3 = mpmd.named_computation<"f"> (%x, %x) (%a: T, %b: T) {
      %s = stablehlo.add %a, %b : T
      mpmd.return %s, %b, %s : T, T, T
    } : (T, T) -> (T, T, T)
    // becomes, with %x in place of %r#1 and %r in place of %r#2
    %r = mpmd.named_computation<"f"> (%x) (%a: T) {
      %s = stablehlo.add %a, %a : T
      mpmd.return %s : T
    } : (T) -> T
    ```

    Acts on distributed functions. Keeps results of ops that are not pure; does
    not merge equal ops. A computation that changes keeps its origin and loses
    its other attributes. Cost: linear in the size of what changes.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def ValidateNamedOpsInMpmdFuncPass
    : Pass<"mpmd-validate-named-ops-in-mpmd-func", "::mlir::func::FuncOp"> {
  let summary = "Reports named ops that no topology applies to";
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
