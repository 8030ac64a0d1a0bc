//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_PREPARE_PASSES_TD
#define MESHWRIGHT_IMPORT_PREPARE_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def CanonicalizePass : Pass<"mpmd-canonicalize"> {
  let summary = "Canonicalizes, and removes blocks that nothing reaches";
  let description = [{
    What `canonicalize` does. Regions are simplified, too, if one of them has
    several blocks; otherwise there is nothing in them that the patterns leave
    and simplifying would remove.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: T) {
      mpmd.return %a : T
    } : (!m) -> !m
    return %0 : !m
    // becomes
    return %x : !m
    ```

    Leaves alone: ops that are read, and that neither patterns nor folding
    change. Cost: that of the patterns.
  }];
  let statistics = [
    Statistic<"numErased", "num-erased", "Ops erased or replaced">,
  ];
}

def CopyTopologyFromMainPass
    : Pass<"mpmd-copy-topology-from-main", "::mlir::ModuleOp"> {
  let summary = "Gives callees the topology of the entry function";
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

    One sweep in module order: callees of a callee are reached if it is
    after its caller. Leaves alone: targets of `func.call` and functions that
    nothing calls. Cost: linear.
  }];
  let statistics = [
    Statistic<"numCalls", "num-calls",
              "Calls whose callee was given a topology">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def FromUnrollToCallCounterPass
    : DistributedFunctionPass<"mpmd-from-unroll-to-call-counter"> {
  let summary = "Turns the unroll counters of calls into call counters";
  let description = [{
    Renames `unroll_counter` on `mpmd.call`, in place of a `call_counter` that
    may be there.

    ```mlir
    %0 = mpmd.call @f(%x) {unroll_counter = 4 : ui32} : (!l) -> !l
    // becomes
    %0 = mpmd.call @f(%x) {call_counter = 4 : ui32} : (!l) -> !l
    ```

    Acts on distributed functions, also in loops. Leaves other ops alone, unless
    `erase-others` says that no pass after this one asks for their iteration:
    ops of two iterations are then equal.
  }];
  let options = [
    Option<"eraseOthers", "erase-others", "bool", /*default=*/"false",
           "Remove the unroll counters of other ops.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls renumbered">,
    Statistic<"numErased", "num-erased", "Unroll counters removed">,
  ];
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
  let statistics = [
    Statistic<"numShardings", "num-shardings",
              "Shardings moved to another mesh">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def InsertNamelessCloneOfNegligibleOpsPass
    : DistributedFunctionPass<"mpmd-insert-nameless-clone-of-negligible-ops"> {
  let summary = "Clones returned constants for their users";
  let description = [{
    Where a named computation returns the result of an op without operands, with
    one result and without effects, clones that op after the computation and
    lets all users but `func.return` read the clone.

    ```mlir
    %r = mpmd.named_computation<"f"> () () {
      %c = stablehlo.constant dense<3.0> : T
      mpmd.return %c : T
    } : () -> T
    %0 = stablehlo.negate %r : T
    return %r, %0 : T, T
    // inserts after %r, and lets %0 read
    %c = stablehlo.constant dense<3.0> : T
    ```

    One clone per result, used or not. Acts on distributed functions; leaves the
    computation as it is. Cost: linear.
  }];
  let statistics = [
    Statistic<"numClones", "num-clones", "Ops cloned">,
  ];
}

def RepeatViewsPass
    : DistributedFunctionPass<"mpmd-repeat-views"> {
  let summary = "Repeats reshapes and transposes in backward computations";
  let description = [{
    Where a named computation reads a result of another one of its name that is
    a view of an operand of that (a reshape, a transpose, or a broadcast of one
    value, also of local pieces in a manual computation), it reads the operand, and
    computes the view itself. So a backward reads weights that its forward has
    reshaped, not a copy for each microbatch.

    Of a result that is the transpose of a value which the forward computes, the
    value itself becomes the result, and its readers transpose it, as products do for
    nothing. The same holds for a reshaped value that is a result as well.

    ```mlir
    %r:2 = mpmd.named_computation<"f"> (%w, %x) (%a: W, %b: X) {
      %v = stablehlo.reshape %a : (W) -> V
      %y = stablehlo.dot_general %b, %v, ...
      mpmd.return %y, %v : Y, V
    } : (W, X) -> (Y, V)
    %g = mpmd.named_computation<"f"(1)> (%r#0, %r#1) (%c: Y, %d: V) {...}
    // becomes
    %r = mpmd.named_computation<"f"> (%w, %x) {...}
    %g = mpmd.named_computation<"f"(1)> (%r, %w) (%c: Y, %e: W) {
      %d = stablehlo.reshape %e : (W) -> V
      ...
    }
    ```

    Acts on distributed functions. Leaves alone: results that other names or the
    function read, for these readers; and pieces of an operand that is not split along
    all axes, since devices may gather it. Cost: linear in what becomes of views.
  }];
  let statistics = [
    Statistic<"numViews", "num-views", "Results recomputed as views">,
    Statistic<"numTransposed", "num-transposed",
              "Results that are transposed where they are read">,
  ];
}

def SimplifyNamedComputationsPass
    : DistributedFunctionPass<"mpmd-simplify-named-computations"> {
  let summary = "Removes unused operands and results of named computations";
  let description = [{
    Drops duplicate operands and results, results that are operands, and unused
    results of named computations. Before that, takes values out of
    optimization barriers that are between an argument and the return.

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
  let statistics = [
    Statistic<"numComputations", "num-computations", "Simplified or erased">,
    Statistic<"numBarriers", "num-barriers", "Barriers with fewer values">,
  ];
}

def SinkNegligibleOpsIntoCallOpPass
    : Pass<"mpmd-sink-negligible-ops-into-call-op", "::mlir::ModuleOp"> {
  let summary = "Moves constants that all calls pass into the callee";
  let description = [{
    If all calls of an MPMD function pass the same value for an argument, and an
    op without operands, with one result and without effects defines it, the op
    is cloned into the function and the argument goes.

    ```mlir
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = mpmd.call @f(%x, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    func.func private @f(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> { use %q }
    // becomes
    %0 = mpmd.call @f(%x) : (tensor<f32>) -> tensor<f32>
    func.func private @f(%p: tensor<f32>) -> tensor<f32> {
      %k = stablehlo.constant dense<2.0> : tensor<f32>
      use %k
    }
    ```

    DEPARTURE(effects-once): Ops that draw random numbers or have side effects
    stay, although the reference sinks them: they would then run in the caller
    and once per call.

    Acts on the MPMD functions of a module, in order. Calls without a used
    result do not count, unless they have effects, and keep their operands,
    unless these would no longer fit the callee. Removes dead code from callers
    of which a call has changed. Leaves alone: ops with other uses. Clones keep
    attributes and locations. Cost: linear in the calls and their operands, plus
    one clean-up of the callers per callee that has changed.
  }];
  let statistics = [
    Statistic<"numArguments", "num-arguments", "Arguments replaced by clones">,
  ];
}

def UnrollForLoopsPass : DistributedFunctionPass<"mpmd-unroll-for-loops"> {
  let summary = "Replaces loops by one copy of their body per iteration";
  let description = [{
    Replaces each `mpmd.for` by copies of its body. Each op directly in a copy
    says in `unroll_counter` which iteration it belongs to, counted over all
    loops of the function, or in a loop with `mpmd.first_counter` from there; the
    loop index becomes a constant, counted from 0 in each loop.

    ```mlir
    %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s, %index) {
      mpmd.return multiply(%s, %index)
    }
    // becomes
    %c = stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
    %0 = stablehlo.multiply %x, %c {unroll_counter = 0 : ui32}
    %c_0 = stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
    %1 = stablehlo.multiply %0, %c_0 {unroll_counter = 1 : ui32}
    ```

    Acts on distributed functions. Requires that loops are not nested and that
    `unroll_factor` is the number of iterations, and reports an error otherwise.
    Attributes of the loop are dropped, those of the body kept. Unused copies
    stay. Cost: linear in the number of ops that are made.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Maximum number of operations to create by unrolling; exceeding "
           "it is an error.">,
  ];
  let statistics = [
    Statistic<"numLoops", "num-loops", "Loops unrolled">,
  ];
}

def VerifyProgramPass : Pass<"mpmd-verify-program", "::mlir::ModuleOp"> {
  let summary = "Checks that a program can be imported";
  let description = [{
    The contract between authors of programs and import. Reports

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
           "Maximum number of operations that inlining and unrolling may "
           "create.">,
  ];
}

#endif
