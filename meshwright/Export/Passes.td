//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_EXPORT_PASSES_TD
#define MESHWRIGHT_EXPORT_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def AlignBetweenMeshesPass : MpmdProgramPass<"mpmd-align-between-meshes"> {
  let summary = "Makes one program of what several meshes compute alike";
  let description = [{
    Gives inferred fragments of several meshes that compute the same, such as the
    updates of stages, the same results in the same order. An array is returned by
    all of them or by none; a scalar that only some return, such as the count of an
    optimizer, is returned by all. What one of them does with scalars alone, apart
    from all else, such as the mean of losses, becomes a fragment before it.

    ```mlir
    %0:2 = fragment<"m0", []> (%x, %n) {%c = %n + 1; return %x * %c, %c}
    %1:2 = fragment<"m1", []> (%l, %y, %m) {%c = %m + 1; return %l / 4, %y * %c}
    // becomes
    %0:2 = fragment<"m0", []> (%x, %n) {mpmd.keeps_scalars} {… return %x * %c, %c}
    %2   = fragment<"m1", []> (%l) {return %l / 4}
    %1:2 = fragment<"m1", []> (%y, %m) {mpmd.keeps_scalars} {… return %y * %c, %c}
    ```

    Compared are the axes of meshes, the types and marks of operands and results, and
    the ops in their order. `mpmd.keeps_scalars` has `mpmd-mark-aliasing-and-donation`
    leave scalars alone: one mesh may still have to send what another has received.

    Acts on MPMD functions that are entry points, after layouts are marked and before
    aliases are. Inlines shared bodies that each mesh calls at most
    once. Leaves alone: user fragments, fragments that no other mesh has, and those that
    are one program already, but for `mpmd.keeps_scalars`. Cost: linear in what inferred
    fragments compute.
  }];
  let statistics = [
    Statistic<"numAligned", "num-aligned", "Fragments that got other results">,
    Statistic<"numSplit", "num-split", "Fragments that lost their scalars">,
  ];
}

def CopyConstantsPass : DistributedFunctionPass<"mpmd-copy-constants"> {
  let summary = "Copies constants into the fragments that read them";
  let description = [{
    Where a fragment reads, directly or through transfers, a constant that
    another fragment returns, copies the constant to the front of its body.

    ```mlir
    %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
      %c = stablehlo.constant dense<1.5> : !l
      mpmd.return %c : !l
    } : () -> !m1
    %1 = mpmd.transfer %0 : (!m1) -> !m2
    %2 = mpmd.fragment<mesh="m2", origin=["f"]> (%1) (%a: !l) {
      %3 = stablehlo.abs %a : !l
      mpmd.return %3 : !l
    } : (!m2) -> !m2
    // becomes, in the last fragment
    %2 = mpmd.fragment<mesh="m2", origin=["f"]> (%1) (%a: !l) {
      %c = stablehlo.constant dense<1.5> : !l
      %3 = stablehlo.abs %c : !l
      mpmd.return %3 : !l
    } : (!m2) -> !m2
    ```

    Acts on the fragments that are directly in a distributed function. Takes
    one step: a fragment that gets a constant from one that merely passes it on
    is left alone. Operands, results and attributes stay as they are, so
    `mpmd-fragment-dce` should follow.
  }];
  let statistics = [
    Statistic<"numConstants", "num-constants", "Constants copied">,
  ];
}

def DelayInferredFragmentsPass
    : MpmdProgramPass<"mpmd-delay-inferred-fragments"> {
  let summary = "Moves inferred fragments to their first reader";
  let description = [{
    Moves each inferred fragment that is read right before the first op that
    reads it, so that its results do not wait in memory.

    ```mlir
    %0 = fragment<"m", []> (%x)
    %1 = fragment<"m", ["g"]> (%y)
    %2 = fragment<"m", ["f"]> (%0, %1)
    // becomes
    %1 = fragment<"m", ["g"]> (%y)
    %0 = fragment<"m", []> (%x)
    %2 = fragment<"m", ["f"]> (%0, %1)
    ```

    Acts on the fragments that are directly in an MPMD function that is an
    entry point, from the last to the first: two that move before one op change
    places. Leaves alone: user fragments, and fragments that nothing reads. Cost:
    linear.
  }];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Fragments moved later">,
  ];
}

def FuseOverlappedPairsPass
    : Pass<"mpmd-fuse-overlapped-pairs", "::mlir::ModuleOp"> {
  let summary = "Makes one fragment of the two that a schedule overlaps";
  let description = [{
    Makes one fragment of a forward and a backward that a schedule wants in one step,
    so that the compiler of the device hides the collectives of the one in the
    work of the other. The scheduler has marked the two with the number of their pair
    and 0 or 1; a backward may consist of two halves.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {F} {mpmd.overlap = array<i64: 3, 0>}
    %1 = fragment<"m", ["g"(1)]> (%y) {B} {mpmd.overlap = array<i64: 3, 1>}
    // becomes
    %0:2 = fragment<"m", ["f", "g"(1)]> (%x, %y) {F; B} {mpmd.overlapped = [
      {origin = ["f"], results = 1}, {origin = ["g"(1)], results = 1} ]}
    ```

    Acts on the fragments that are directly in MPMD functions, and removes all marks.
    The fragment has the origins of both, and the stage if both have the same, no call
    counter. Fragments of a mesh but late halves keep their order, and so do effects;
    other ops move as far as it takes. Leaves apart, with a remark of category
    `overlap`: what is not next to each other on its mesh, a second part that needs the
    first, halves between whose effects others come, pairs without collectives, and
    pairs by which the program would end later, as one part waits for the other, or
    others for what one of them computes. Of a backward in two halves the late one stays
    a fragment of its own if the program ends earlier that way, as others get the results
    of the pair before it; where a device is known, it may also wait until its mesh has
    nothing else to do, with up to seven others, or become one fragment with what is in
    no pair, whose collectives it then hides. What takes how long, the cost model says
    of the device; without one, work is in operations, and the shorter part is taken to
    be hidden. Reports an error at pairs of several meshes, and at fragments that are not
    one forward and one backward. Cost: linear in the distinct bodies, and for each mesh
    a logarithm for each op and use.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true",
           "Fuse the pairs; if false, only remove their marks.">,
    Option<"onlyWithCollectives", "only-with-collectives", "bool",
           /*default=*/"true",
           "Leave pairs apart that have no collectives.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "The device of the meshes, the name of one or a file.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "What custom calls do, separated by semicolons.">,
  ];
  let statistics = [
    Statistic<"numPairs", "num-pairs", "Pairs that became one fragment">,
    Statistic<"numApart", "num-apart", "Pairs that stay apart">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def DelayReceivesPass
    : Pass<"mpmd-delay-receives", "::mlir::func::FuncOp"> {
  let summary = "Sends values to other meshes when these have memory for them";
  let description = [{
    Delays transfers between meshes of whose results the target would hold more than a
    bound before the fragments that read them are next.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x)
    %t = transfer %0 -> mesh_tensor<"n", tensor<4xf32>>
    %1 = fragment<"n", ["g"(1)]> (%y)
    %2 = fragment<"n", ["g"]> (%t)
    // becomes
    %0 = fragment<"m", ["f"]> (%x)
    %1 = fragment<"n", ["g"(1)]> (%y)
    %t = transfer %0 {mpmd.delayed} -> mesh_tensor<"n", tensor<4xf32>>
    %2 = fragment<"n", ["g"]> (%t)
    ```

    While a fragment runs, its mesh may hold this many bytes that only later fragments
    read; with `0`, a value is sent when the fragment before its reader has ended, and
    with `auto`, each step has the bytes that it holds less than the peak of the mesh if all
    is received so. A value that could arrive earlier by data flow gets `mpmd.delayed`, and
    its place in the order of the mesh counts. Runs after buffers were marked, and keeps a
    value from moving beyond a fragment that takes over its memory.

    Acts on MPMD functions that are entry points. Leaves alone: values that no fragment of
    the target reads, those that are passed on, and what goes to a mesh of hosts. Keeps the
    order of fragments. Remarks of category `receive` count what waits on each mesh. Cost:
    ops times meshes.
  }];
  let options = [
    Option<"bound", "bound", "::meshwright::TextOption", /*default=*/"",
           "Bytes of each device for what is not needed yet, such as 100MB, 0, or "
           "auto; nothing is done without.">,
  ];
  let statistics = [
    Statistic<"numDelayed", "num-delayed", "Transfers that wait">,
  ];
}

def OffloadActivationsPass
    : Pass<"mpmd-offload-activations", "::mlir::ModuleOp"> {
  let summary = "Offloads activations to the memory of the host";
  let description = [{
    Sends results of forward fragments that wait long for their backward to the host's
    memory, and brings them back ahead of it.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x)
    …
    %2 = fragment<"m", ["f"(1)]> (%0)
    // becomes
    %0 = fragment<"m", ["f"]> (%x)
    %h = transfer %0 -> mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">
    …
    %d = transfer %h {mpmd.delayed} -> mesh_tensor<"m", tensor<4xf32>>
    …
    %2 = fragment<"m", ["f"(1)]> (%d)
    ```

    Runs after buffers were marked, and leaves marks and programs as they are. The program
    is timed by the cost model of the device, whose link to the host takes one value at a
    time in each direction. With a bound, a mesh sends as much as it needs to stay
    below it: of what is not read for longest, what is on the host by then and back before
    its backward. With `auto`, each mesh has the smallest bound that it can meet. A way
    back has `mpmd.delayed`: it starts when the fragments before it have ended. A way
    there has `mpmd.beside`, if fragments of its mesh run beside it: their number. Of a value
    that several fragments read, it spans the longest time in which none does. Ops are then
    in the order in which they start, and the function has `mpmd.start_order`, which says
    that they are issued in it.

    A forward that is not needed yet may wait for a way there, if no backward becomes later
    by that; the way there has `mpmd.awaited` then, and the next fragment after those beside
    it starts when it has ended.

    What is returned stays. Reports an error at a bound that a mesh does not meet, with
    the smallest that would do, and without a device. Says in remarks of category
    `offload` what each mesh holds with and without. Cost: for each bound that is tried,
    fragments times trips; `auto` tries ten.
  }];
  let options = [
    Option<"bound", "bound", "::meshwright::TextOption", /*default=*/"",
           "Bytes that each device may hold, such as 40GB, or auto; nothing is done "
           "without.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "The device of the meshes, the name of one or a file.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "What custom calls do, separated by semicolons.">,
  ];
  let statistics = [
    Statistic<"numOffloaded", "num-offloaded", "Values that wait on the host">,
    Statistic<"numDelayed", "num-delayed", "Forwards that are later">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def RestoreDuplicateOperandsPass
    : MpmdProgramPass<"mpmd-restore-duplicate-operands"> {
  let summary = "Gives units that read one constant several times the body of others";
  let description = [{
    Sums over microbatches start from zeros. Simplification makes one operand of equal
    ones, so that the unit of the first microbatch would be a program of its own. It
    gets the body of the others of its kind, and each of its operands is a result of
    its own, whose memory the unit may reuse.

    ```mlir
    %z = fragment<"m", []> () {%0 = constant 0; return %0}
    %1:2 = fragment<"m", ["f"(1)]> (%x, %z) (%a, %b) {call_counter = 0}
      {return %a + %b, %a * %b}
    %2:2 = fragment<"m", ["f"(1)]> (%y, %1#0, %1#1) (%a, %b, %c) {call_counter = 1}
      {return %a + %b, %a * %c}
    // becomes
    %z:2 = fragment<"m", []> () {%0 = constant 0; return %0, %0}
    %1:2 = fragment<"m", ["f"(1)]> (%x, %z#0, %z#1) (%a, %b, %c) {call_counter = 0}
      {return %a + %b, %a * %c}
    ```

    Acts on the scheduling units of MPMD functions that are entry points. Leaves alone
    a unit whose duplicate operands are anything but constants that an inferred
    fragment makes, and those that differ in more than duplicate operands. Cost:
    linear in the fragments, and in the bodies of the units that read less than
    others of their kind.
  }];
  let statistics = [
    Statistic<"numRestored", "num-restored", "Units that got another body">,
  ];
}

def DelayTransfersFromCpuPass
    : MpmdProgramPass<"mpmd-delay-transfers-from-cpu"> {
  let summary = "Moves transfers from the host to their first reader";
  let description = [{
    Moves each transfer whose operand is on a mesh of hosts, whose name ends in
    `/cpu`, or by its type in host memory, right before the first op that reads
    its result, so that the result does not wait in device memory.

    ```mlir
    %0 = mpmd.transfer %host
    %1 = fragment<"m", ["g"]> (%y)
    return %1, %0
    // becomes
    %1 = fragment<"m", ["g"]> (%y)
    %0 = mpmd.transfer %host
    return %1, %0
    ```

    Acts on the transfers of MPMD functions that are entry points, from the first
    to the last: two that move before one op keep their order. Leaves alone
    transfers that nothing reads. Cost: linear.
  }];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Transfers moved later">,
  ];
}

def LowerToFragmentCallsPass
    : Pass<"mpmd-lower-to-fragment-calls", "::mlir::ModuleOp"> {
  let summary = "Outlines fragments into one function per distinct body";
  let description = [{
    Makes one function of all fragments that compute the same on one mesh, and
    replaces each fragment by a call of its function.

    ```mlir
    module @jit_step {
      func.func @main(%x: !m) -> !m attributes {topology = #topology} {
        %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
          %1 = stablehlo.sine %a : !l
          mpmd.return %1 : !l
        } : (!m) -> !m
        return %0 : !m
      }
    }
    // becomes
    module @jit_step {
      func.func @main(%x: !m) -> !m attributes {topology = #topology} {
        %0 = mpmd.fragment_call<mesh="m", origin=["f"]> @p0_f.step(%x) : (!m) -> !m
        return %0 : !m
      }
      func.func @p0_f.step(%a: !l) -> !l attributes {mesh_shape = #mesh} {
        %0 = stablehlo.sine %a : !l
        return %0 : !l
      }
    }
    ```

    Fragments share a function if mesh name, `arg_attrs`, `res_attrs` and bodies
    are equal, locations aside. The function has the attributes that these lists
    and the types of the first fragment say, the largest `reserved_hbm_bytes`,
    and a name made of the first fragment's origins. Manual computations in it
    refer to the mesh by the fragment's name for it, which is declared if need
    be. A call keeps origin, location and `remat`; all other attributes go. If
    the module has a symbol of the wanted name, that is called.

    Requires that no fragment is in a loop or has tokens. Leaves alone:
    transfers, existing functions. Cost: linear in the size of the bodies.
  }];
  let options = [
    Option<"verboseLogging", "verbose-logging", "bool", /*default=*/"false",
           "Print the fragments of each mesh.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments lowered">,
    Statistic<"numFunctions", "num-functions", "Distinct computations">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::mpmd::MpmdDialect",
                           "::mlir::sdy::SdyDialect"];
}

def MarkAliasingAndDonationPass
    : MpmdFunctionPass<"mpmd-mark-aliasing-and-donation"> {
  let summary = "Marks donated and aliased operands of fragments";
  let description = [{
    Marks, in `arg_attrs`, each operand that a fragment is the last to read: with
    the result that can have its memory, else as donated.

    ```mlir
    %1 = fragment<"m", ["f"]> (%0, %x) : (!m, !m) -> !m
    // becomes
    %1 = fragment<"m", ["f"]> (%0, %x) {arg_attrs =
        [{tf.aliasing_output = 0 : i32}, {} ]} : (!m, !m) -> !m
    ```

    A result can have it that is of the operand's type and `mhlo.layout_mode`, is
    not in host memory by `res_attrs`, and is not taken by an operand before.
    Arguments of the function take part only if they have `jax.buffer_donor`, and
    are donated, or an integer `tf.aliasing_output`: then the result of this
    fragment that becomes that result of the function goes first.

    Acts on MPMD functions; requires memory kinds and layouts in `arg_attrs` and
    `res_attrs`. Leaves alone: values that any transfer reads, values in host
    memory, results of fragments of origin `hoisted`, scalars that fragments with
    `mpmd.keeps_scalars` read, fragments in loops, `res_attrs`. Fails on an operand that is marked
    already. Cost: linear.
  }];
  let statistics = [
    Statistic<"numAliases", "num-aliases", "Operands that alias a result">,
    Statistic<"numDonations", "num-donations", "Operands that are donated">,
  ];
}

def MarkFragmentReservedMemoryPass
    : MpmdFunctionPass<"mpmd-mark-fragment-reserved-memory"> {
  let summary = "Computes the reserved memory of fragments";
  let description = [{
    Sets `reserved_hbm_bytes` on each fragment: what one device of its mesh holds
    while the fragment runs, its own operands and results aside.

    ```mlir
    // %x and %y: 16 bytes each, %y is not donated
    %0 = fragment<"m", ["f"]> (%x)
    return %0
    // becomes
    %0 = fragment<"m", ["f"]> (%x) {reserved_hbm_bytes = 16 : i64}
    return %0
    ```

    Values live from where they are computed to their last use, if they are used;
    arguments of the function from its start to its end, or to their last use if
    they have `jax.buffer_donor` (a `tf.aliasing_output` counts if it is text).
    Host memory, by types, by `mhlo.memory_kind` of function arguments, in `arg_attrs`
    and in `res_attrs`, does not count. Sizes are those of the local parts.

    Acts on MPMD functions; fails on ops other than fragments and transfers.
    Cost: linear in the number of operands and results.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments marked">,
  ];
}

def MarkInputOutputWithLayoutsPass
    : Pass<"mpmd-mark-input-output-with-layouts", "::mlir::func::FuncOp"> {
  let summary = "Gives fragments the layouts of program inputs and outputs";
  let description = [{
    Propagates `mhlo.layout_mode` of function arguments and results to the
    `arg_attrs` and `res_attrs` of the fragments that read and make them.

    ```mlir
    func.func @f(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!m {mhlo.layout_mode = "auto"})
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (...)
    // becomes
    func.func @f(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!m {mhlo.layout_mode = "auto"})
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{mhlo.layout_mode = "{0,1}"} ], res_attrs = [{mhlo.layout_mode = "auto"} ]} (...)
    ```

    Acts on entry points. A missing attribute means the default layout, also as
    the outcome. An argument that is also returned gets the layout demanded
    there; values have the default layout if they go to a CPU mesh, with a
    warning if they should not, and if they are `"auto"` but more than one
    program sees them. A result without use is `"auto"`. Layouts pass through
    other transfers. Reports values that are returned with two layouts. All
    fragments get `res_attrs`, and `arg_attrs` if an operand was reached. Cost:
    linear in the uses of arguments and results, and of transfers of them.
  }];
  let statistics = [
    Statistic<"numLayouts", "num-layouts", "Layouts of fragments marked">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MarkOffloadedInputOutputPass
    : Pass<"mpmd-mark-offloaded-input-output", "::mlir::ModuleOp"> {
  let summary = "Marks operands and results of fragments in host memory";
  let description = [{
    Writes `mhlo.memory_kind = "pinned_host"` to the entry of an operand in
    `arg_attrs` if its producer, a fragment or a function argument, says so, and
    to that of a result in `res_attrs` if the body puts the value there.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<8xf32>) {
      %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} ...
      mpmd.return %h : tensor<8xf32>
    }
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{} ], res_attrs = [{mhlo.memory_kind = "pinned_host"} ]} ...
    ```

    Looks through barriers, loop bodies, updates of slices, reshapes and
    broadcasts of dimensions of size 1, changes of sharding and calls; an
    operation with a compute type is where that says. Acts on the fragments
    directly in entry points, which all get both lists. Reports arguments that
    are read in several kinds of memory, and arguments and results of the
    function that do not agree with what reads or makes them; never changes the
    signature. On modules, since it reads the functions that bodies call, which
    must not change meanwhile. Cost: linear in the operands, and in what is
    looked through for each result.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments that list memories">,
    Statistic<"numMarked", "num-marked", "Operands and results in host memory">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MergeTransfersPass : MpmdFunctionPass<"mpmd-merge-transfers"> {
  let summary = "Sends several scalars from one fragment to another as one tensor";
  let description = [{
    Where two or more results of a fragment, of one type with at most one
    element, reach another fragment through transfers, the first fragment also
    returns their concatenation, and the second one takes its values out of
    that.

    ```mlir
    %p:2 = fragment<"m1"> (%x) { mpmd.return %a, %b }
    %t0 = mpmd.transfer %p#0 : (!m1) -> !m2
    %t1 = mpmd.transfer %p#1 : (!m1) -> !m2
    %c = fragment<"m2"> (%t0, %t1) (%u, %v) { use %u, %v }
    // becomes
    %p:3 = fragment<"m1"> (%x) { mpmd.return %a, %b, concatenate(%a, %b) }
    %t = mpmd.transfer {concat_transfer} %p#2 : (!m1_2) -> !m2_2
    %t0 = mpmd.transfer %p#0 : (!m1) -> !m2
    %t1 = mpmd.transfer %p#1 : (!m1) -> !m2
    %c = fragment<"m2"> (%t0, %t1, %t) (%u, %v, %w) { use %w[0], %w[1] }
    ```

    Acts on MPMD functions; to be run once. Results that are sharded or in host
    memory do not take part. One concatenation is made per consumer. The old
    transfers, results and operands stay, though nothing may use them any more:
    run fragment deduplication and dead code elimination afterwards. Fragments
    keep all their attributes and locations. Cost: linear in the results of the
    fragments and their uses.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers merged">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def SinkCreateTokenIntoFragmentsPass
    : MpmdFunctionPass<"mpmd-sink-create-token-into-fragments"> {
  let summary = "Makes fragments create the tokens they read";
  let description = [{
    Replaces operands of fragments that are tokens by tokens that the fragments
    create, and removes the tokens they return.

    ```mlir
    %0:2 = fragment<"m", ["f"]> (%t, %x) (%k: !token, %a: !l) {
      %1 = stablehlo.after_all %k : !token
      return %1, %a
    }
    // becomes
    %0 = fragment<"m", ["f"]> (%x) (%a: !l) {
      %k = stablehlo.create_token : !token
      %1 = stablehlo.after_all %k : !token
      return %a
    }
    ```

    Acts on the fragments that are directly in an MPMD function. The lists per
    operand and per result, `arg_attrs`, `in_shardings` and so on, lose the
    entries. Fails if anything but a fragment reads a token of a fragment. Leaves
    alone: tokens that the function creates, its signature. Cost: linear.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments without tokens now">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def ValidateNoBackwardDepsPass
    : MpmdFunctionPass<"mpmd-validate-no-backward-deps"> {
  let summary = "Reports backward dependencies between meshes";
  let description = [{
    Reports each operand of a fragment call that another call computes on a later
    mesh of the topology, if the program is forward-only.

    ```mlir
    %0 = mpmd.fragment_call<mesh="m2", origin=["f"]> @p0_f(%x)
    %1 = mpmd.transfer %0
    // in a topology of m1, m2 a backward dependency:
    %2 = mpmd.fragment_call<mesh="m1", origin=["g"]> @p1_g(%1)
    ```

    With the option, a program that is not forward-only is an error, without it
    goes unchecked. Acts on MPMD functions and changes nothing. Cost: linear.
  }];
  let options = [
    Option<"failOnBackwardDeps", "fail-on-backward-deps", "bool",
           /*default=*/"false", "Fail instead of warning.">,
  ];
}

def ValidateNoInferredFragmentsPass
    : DistributedFunctionPass<"mpmd-validate-no-inferred-fragments"> {
  let summary = "Reports inferred fragments that were not merged";
  let description = [{
    Reports each fragment without an origin, with the passes that made it. One
    that does not name its pass is always an error; one that is made where
    there may be nothing to merge it with is always a warning.

    ```mlir
    // Inferred fragment has not been merged (inferred by uniquify)
    %0 = mpmd.fragment<mesh="m", origin=[]> (%x) {mpmd.inferred_by = ["uniquify"]}
    ```

    Acts on distributed functions and changes nothing. Cost: linear.
  }];
  let options = [
    Option<"failOnInferredFragments", "fail-on-inferred-fragments", "bool",
           /*default=*/"true", "Fail instead of warning.">,
  ];
}

def ValidateNoParamTransfersPass
    : MpmdFunctionPass<"mpmd-validate-no-param-transfers"> {
  let summary = "Reports parameters that go from mesh to mesh";
  let description = [{
    Reports each inter-mesh transfer that has, or whose operand has, a name for
    its location that contains the pattern.

    ```mlir
    func.func @main(%w: !m1 loc("params['transformer/mlp']['b']")) {
      %0 = mpmd.transfer %w : (!m1) -> !m2 // reported
    ```

    Acts on MPMD functions and changes nothing. Cost: linear.
  }];
  let options = [
    Option<"failOnParamTransfers", "fail-on-param-transfers", "bool",
           /*default=*/"false", "Fail instead of warning.">,
    Option<"paramPattern", "param-pattern", "::meshwright::TextOption",
           /*default=*/"\"params['transformer\"",
           "Substring that identifies parameters.">,
  ];
}

def ValidateNoReshardsPass
    : Pass<"mpmd-validate-no-reshards", "::mlir::ModuleOp"> {
  let summary = "Reports functions that only reshard";
  let description = [{
    Reports each fragment call whose callee returns nothing but its arguments,
    with shardings, shapes and names of operands and results. If the call has an
    origin, that is an error in any case.

    ```mlir
    // Detected reshard-only fragment 'p0_inferred.main'
    %0 = mpmd.fragment_call<mesh="m", origin=[]> @p0_inferred.main(%x)
    func.func @p0_inferred.main(%x: !l) -> !l {
      return %x : !l
    }
    ```

    Acts on the distributed functions of a module, whose callees must not change
    meanwhile, and changes nothing. Cost: linear.
  }];
  let options = [
    Option<"failOnReshardOnlyFragments", "fail-on-reshard-only-fragments",
           "bool", /*default=*/"false", "Fail instead of warning.">,
    Option<"ignorePassThrough", "ignore-pass-through", "bool",
           /*default=*/"false",
           "Do not report copies that change no sharding.">,
  ];
}

#endif
