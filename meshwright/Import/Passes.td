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

def ExpandCompositesWithEffectsPass
    : Pass<"mpmd-expand-composites-with-effects", "::mlir::ModuleOp"> {
  let summary = "Calls decompositions that draw or act on the world";
  let description = [{
    Replaces each composite whose decomposition has effects by a call of that
    function, so that the effects can be seen where they happen once it is
    inlined.

    ```mlir
    %0 = stablehlo.composite "noise" %x {decomposition = @draw} : (T) -> T
    func.func private @draw(%x: T) -> T { … stablehlo.rng … }
    // becomes
    %0 = func.call @draw(%x) : (T) -> T
    ```

    Acts on modules; requires nothing. Leaves alone: composites without effects,
    and those whose decomposition has no body. Cost: linear.
  }];
  let statistics = [
    Statistic<"numComposites", "num-composites", "Composites replaced">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
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

def InferMeshAssignMeshFuncLeavesPass
    : Pass<"mpmd-infer-mesh-assign-mesh-func-leaves", "::mlir::ModuleOp"> {
  let summary = "Assigns outputs and unused values to meshes";
  let description = [{
    Assigns what no assign would reach otherwise: outputs and unused inputs of
    entry points, results that nobody uses, operands of broadcasts and reduces.
    A value goes to a mesh where it can be had, one where it is used already if
    there is one; a value that can be had anywhere and is not used goes to the
    first mesh. Unused arguments and results of callees get a use set.

    ```mlir
    %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
    return %0 : tensor<4xf32>
    // becomes
    %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
    %1 = mpmd.assign {origin = "inferred_out"} %0 : (tensor<4xf32>) -> !m2
    return %1 : !m2
    ```

    Ops without tensor results are wrapped into a fragment on each mesh of their
    src set, on the first one only if they are pure or have effects. DEPARTURE:
    the reference repeats effects on each mesh.

    Requires src sets that are not empty, or `infer-transfers`. Drops the use
    sets of computations, barriers and function arguments, which are stale
    afterwards. Leaves src sets alone, and ops in regions of computations.
    Cost: linear in the size of the program.
  }];
  let options = [
    Option<"inferTransfers", "infer-transfers", "bool", /*default=*/"false",
           "Put values that can be had nowhere on the first mesh.">,
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of values without mesh at which to fail; -1 for no limit.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def InferMeshAssignUsingInputOutputConstraintsPass
    : Pass<"mpmd-infer-mesh-assign-using-input-output-constraints",
           "::mlir::ModuleOp"> {
  let summary = "Puts constrained pairs of inputs and outputs on one mesh";
  let description = [{
    For each constraint, in order, chooses a mesh on which the input is used and
    the output is used or can be had, and assigns both to it. Without such a
    mesh nothing happens.

    ```mlir
    // constraints=0:0
    func.func @f(%p: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %p : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    func.func @f(%p: !m2) -> !m2 {
      %u = mpmd.unassign {origin = "io_constraint_in"} %p : (!m2) -> tensor<4xf32>
      %0 = stablehlo.sine %u : tensor<4xf32>
      %1 = mpmd.assign {origin = "io_constraint_out"} %0 : (tensor<4xf32>) -> !m2
      return %1 : !m2
    }
    ```

    Acts on entry points. Requires use sets and src sets, or mesh types on input
    or output. Leaves all sets as they are. Cost: linear in the number of
    constraints and of the uses of the inputs.
  }];
  let options = [
    ListOption<"constraints", "constraints",
               "::mlir::mpmd::InputOutputConstraint",
               "Pairs input:output to be put on one mesh.">,
    Option<"verboseLogging", "verbose-logging", "bool", /*default=*/"false",
           "Log the choice for each constraint.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InferMeshConvertReduceOpsPass
    : Pass<"mpmd-infer-mesh-convert-reduce-ops", "::mlir::func::FuncOp"> {
  let summary = "Turns sums across meshes into mpmd.reduce";
  let description = [{
    Converts ops marked with `mpmd.reduce` by mpmd-infer-mesh-populate-src-set,
    all of them or those behind an `mpmd.reduce<none>`. Operands that are
    reduces of the same kind are replaced by their operands.

    ```mlir
    %2 = stablehlo.add %0, %1 {mpmd.reduce = #mpmd.reduction<add>}
    %3 = stablehlo.add %2, %0 {mpmd.reduce = #mpmd.reduction<add>}
    // becomes
    %3 = mpmd.reduce<add> %0, %1, %0
    ```

    A reduce of a concatenation of pieces becomes an mpmd.reduce of the reshaped
    pieces. The new op keeps `mpmd.src_set` and no other attribute.

    Acts on any function; requires src sets. Leaves alone: marked ops that may
    not be converted. Cost: linear in the size of the program.
  }];
  let options = [
    Option<"inferCrossMeshReductions", "infer-cross-mesh-reductions", "bool",
           /*default=*/"false", "Convert every op that is marked.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def InferMeshFinalizePass
    : Pass<"mpmd-infer-mesh-finalize", "::mlir::ModuleOp"> {
  let summary = "Resolves the assigns that mesh inference has left";
  let description = [{
    Types the inputs of entry points by their assigns, then replaces assigns of
    unassigned values: in the same memory of a mesh by the value, elsewhere by a
    transfer. Values of several meshes are computed or sent around in mesh
    order. What an entry point returns stays in the memory that it is in unless
    its assign names another.

    ```mlir
    %1 = mpmd.unassign %0 : (!m1) -> tensor<4xf32>
    %2 = mpmd.assign %1 : (tensor<4xf32>) -> !m3
    %3 = mpmd.assign %1 : (tensor<4xf32>) -> !m2
    // becomes
    %3 = mpmd.transfer %0 : (!m1) -> !m2
    %2 = mpmd.transfer %3 : (!m2) -> !m3
    ```

    Requires mpmd-infer-mesh-rewrite-using-analysis. Transfers are added for
    inputs of entry points, broadcasts and reduces, for other values only with
    `infer-transfers`. Removes dead code in the whole module and the sets of all
    MPMD functions; then no assign, unassign, broadcast or op without mesh may
    be left. Cost: that of greedy rewriting, linear in practice.
  }];
  let options = [
    Option<"inferTransfers", "infer-transfers", "bool", /*default=*/"false",
           "Add a transfer wherever a value is needed on another mesh.">,
    Option<"copyBetweenMemories", "copy-between-memories", "bool",
           /*default=*/"false",
           "Copy an argument that is needed in several memories.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def InferMeshPopulateSrcSetPass
    : Pass<"mpmd-infer-mesh-populate-src-set", "::mlir::ModuleOp"> {
  let summary = "Finds the meshes where values can be had";
  let description = [{
    Propagates forwards, by intersection, from unassigns and inputs: an op can
    be placed where all its operands can be had. Inputs of entry points can be
    had wherever they are used, and a value that is transferred also where it is
    transferred to. The result is `mpmd.src_set`; none means anywhere.

    ```mlir
    %1 = mpmd.unassign %f : (!m1) -> tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>
    // becomes
    %1 = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1">} %f
    %2 = stablehlo.sine %1 {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
    ```

    A reduction whose operands have no mesh in common is marked with
    `mpmd.reduce` and gets the union of their sets; so does one of the same kind
    that follows. Requires use sets. Leaves the program alone otherwise.
    Cost: linear in the size of the program; a callee is walked again if a call
    changes the sets of its arguments.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InferMeshPopulateUseSetPass
    : Pass<"mpmd-infer-mesh-populate-use-set", "::mlir::ModuleOp"> {
  let summary = "Finds the meshes where values are needed";
  let description = [{
    Propagates backwards, by union, from assigns: an op is needed where its
    results are. The result is `mpmd.use_set`, in use-list order, with the
    origins of the assigns as labels; sets that are there already are extended.

    ```mlir
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2 = mpmd.assign {origin = "f"} %1 : (tensor<4xf32>) -> !m1
    // becomes
    %1 = stablehlo.sine %0 {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f"]>}
    %2 = mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f"]>, origin = "f"} %1
    ```

    Starts at entry points and follows calls. Broadcasts and reduces need
    nothing of their operands. Requires nothing; leaves the program alone
    otherwise. Cost: linear in the size of the program; a callee is walked again
    if a call needs its results on more meshes.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InferMeshRewriteUsingAnalysisPass
    : Pass<"mpmd-infer-mesh-rewrite-using-analysis", "::mlir::ModuleOp"> {
  let summary = "Puts every op into fragments where it is used";
  let description = [{
    From the last op to the first: an op that a single fragment uses moves into
    it, an op that a few use is cloned into each, any other gets fragments of
    its own, one per mesh.

    ```mlir
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2 = mpmd.assign %1 : (tensor<4xf32>) -> !m1
    // becomes, with the use of %2 reading %4 by way of an unassign
    %3 = mpmd.assign %0 : (tensor<4xf32>) -> !m1
    %4 = mpmd.fragment<mesh="m1", origin=[]> (%3) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} (%arg: tensor<4xf32>) {
      %5 = stablehlo.sine %arg : tensor<4xf32>
      mpmd.return %5 : tensor<4xf32>
    } : (!m1) -> !m1
    ```

    Arguments and results of callees that are used on several meshes get copies
    at the end of the list, at the positions given by `mpmd.copies`.

    Requires use sets and that every leaf is assigned. Leaves inputs of entry
    points to mpmd-infer-mesh-finalize, together with assigns of unassigned
    values. Cost: linear in the size of the program and of what is cloned.
  }];
  let options = [
    Option<"maxClones", "max-clones", "int", /*default=*/"1",
           "Number of fragments into which an op is cloned that is not cheap.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InferMeshValidateNoAdditionalTransfersNeededPass
    : Pass<"mpmd-infer-mesh-validate-no-additional-transfers-needed",
           "::mlir::ModuleOp"> {
  let summary = "Reports values that are needed where they cannot be had";
  let description = [{
    Fails if the use set of an op, assign or argument is not within its src set,
    and reports the last one of each chain of such ops. Also reports results
    that one call passes to another of the same function but that are needed on
    other meshes than the argument.

    ```mlir
    %1 = mpmd.unassign %f : (!m1) -> tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>           // reported
    %3 = mpmd.assign %2 : (tensor<4xf32>) -> !m2     // reported
    ```

    Requires use sets and src sets. Changes nothing if it succeeds; otherwise
    `mpmd.visited_failure` marks what failed. Cost: linear in the size of the
    program, and again for each error.
  }];
  let options = [
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of errors after which to stop; -1 for no limit.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InferMeshValidateSrcSetNotEmptyPass
    : Pass<"mpmd-infer-mesh-validate-src-set-not-empty", "::mlir::ModuleOp"> {
  let summary = "Reports values that can be had on no mesh";
  let description = [{
    Fails if the src set of an op or argument is empty, or if a reduction across
    meshes was not converted, and reports the first one of each chain.

    ```mlir
    %3 = stablehlo.power %on_m1, %on_m2 {mpmd.src_set = #mpmd.meshes_with_origins<>}  // reported
    %4 = stablehlo.sine %3 {mpmd.src_set = #mpmd.meshes_with_origins<>}
    ```

    Requires src sets. Changes nothing. Cost: linear in the size of the program,
    and again for each error.
  }];
  let options = [
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of errors after which to stop; -1 for no limit.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InlineNestedCallsPass
    : Pass<"mpmd-inline-nested-calls", "::mlir::ModuleOp"> {
  let summary = "Dissolves calls in functions that are called";
  let description = [{
    Schedules order the calls of one level. A call of a function that makes calls
    itself becomes a copy of that function, if it has no `call_counter` and is in
    no loop; else the function takes in what it calls, with the functions that
    those call. So what is computed gets the outermost counter on the way to it.

    ```mlir
    // in @main
    %0 = mpmd.call @f(%x) : (T) -> T
    // in @f
    %0 = mpmd.call @g(%x) {call_counter = 1 : ui32} : (T) -> T
    %1 = stablehlo.tanh %0 : T
    // becomes, in @main,
    %0 = mpmd.call @g(%x) {call_counter = 1 : ui32} : (T) -> T
    %1 = stablehlo.tanh %0 : T
    ```

    Calls and fragments in a copy get the discardable attributes of the call.
    Requires calls that end. Fails if the copies would have more than
    `max-inlined-ops` operations. Erases private functions that only dissolved
    calls referred to. Leaves alone: calls of functions that call nothing, and
    `func.call`. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Fail rather than copy more operations.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls dissolved">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
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
    Where a named computation returns the result of an op without operands, with
    one result and without effects, clones that op behind the computation and
    lets all users but `func.return` read the clone.

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

def ReportPlacementPass
    : Pass<"mpmd-report-placement", "::mlir::ModuleOp"> {
  let summary = "Says which large inputs inference brought elsewhere";
  let description = [{
    Emits remarks on MPMD entry functions behind mesh inference:

    - inputs that named computations read on some meshes, and that an operation
      without a name reads on another one;
    - state (an input of which a result has the type) that no named computation
      reads, if one mesh has more than its share of it.

    ```mlir
    // remark: an operation without a name brings inputs to mesh "a", on which no
    // named computation reads them: w[1] (16384 bytes, read by "g" on mesh "b")
    func.func @main(%w0: !a, %w1: !a) {
      %t = mpmd.transfer %w1 : (!a) -> !b
      mpmd.fragment<mesh="b", origin=["g"]> (%t) ...
      mpmd.fragment<mesh="a", origin=[]> (%w0, %w1) ...
    ```

    Passes over scalars, integers, and what is small beside all inputs. Changes
    nothing. Cost: linear in the reads of inputs.
  }];
  let options = [
    Option<"inputAssignment", "input-assignment", "IndexAssignment",
           /*default=*/"", "Meshes of arguments that the user chose: "
           "index@mesh, with commas between them.">,
  ];
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

def SplitConditionalsPass
    : Pass<"mpmd-split-conditionals", "::mlir::ModuleOp"> {
  let summary = "Lets each mesh choose its own part of a state";
  let description = [{
    A conditional outside of named computations is one operation, which inference
    puts on one mesh. Where its results belong on different meshes, there will be
    one conditional per mesh, and the predicate travels.

    ```mlir
    // %w0, %g0 on m1; %w1, %g1 on m2
    %r:2 = "stablehlo.if"(%ok) ({ (%w0 - %g0, %w1 - %g1) }, { (%w0, %w1) })
    // becomes
    %p = mpmd.broadcast %ok
    %0 = "stablehlo.if"(%p) ({ %w0 - %g0 }, { %w0 })  // assigned to m1
    %1 = "stablehlo.if"(%p) ({ %w1 - %g1 }, { %w1 })  // assigned to m2
    ```

    A result belongs where it would be if all branches stood in line. What parts
    share runs before the conditional if it is cheap (element by element,
    reductions, changes of shape), and so do cheap sums across meshes; what else
    they share becomes a part of its own. Parts with effects stay one. Acts on
    MPMD functions with several meshes, on conditionals in branches, too. Leaves
    alone conditionals with one place and those that return tokens, and loops.
    Copies the module to look at it if it has a conditional with several results.
    Cost: linear.
  }];
  let statistics = [
    Statistic<"numSplit", "num-split", "Conditionals split">,
  ];
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

def VerifyPlacementPass
    : Pass<"mpmd-verify-placement", "::mlir::func::FuncOp"> {
  let summary = "Checks that every computation and value has a mesh";
  let description = [{
    The contract between import and the phases after it. In an entry function
    every operation is a fragment, a fragment call, a transfer or the return,
    and every argument and result is a mesh tensor or a token.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>  // error: no mesh
    ```

    Acts on entry functions that are MPMD functions; changes nothing. Reports
    every operation that is not placed, with a note at each operand that is.
    Cost: linear in the operations of the function body.
  }];
}

def VerifyProgramPass : Pass<"mpmd-verify-program", "::mlir::ModuleOp"> {
  let summary = "Refuses programs that import cannot take";
  let description = [{
    The contract between those who write programs and import. Reports

    - calls, `func.call` or `mpmd.call`, that are recursive;
    - an `mpmd.call` of something else than a function of one block with as many
      arguments and results, and one that runs inside another region than that of
      a loop, where a function that makes it is called there;
    - calls of which inlining, or loops of which unrolling, would make more than
      `max-inlined-ops` operations;
    - unregistered operations with regions, and regions nested deeper than 1000.

    ```mlir
    func.func private @f() {
      call @f() : () -> ()  // error: recursive
      return
    }
    ```

    Changes nothing. Cost: linear.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "How many operations inlining may make of calls.">,
  ];
}

#endif
