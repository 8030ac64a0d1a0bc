//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_EXPORT_PASSES_TD
#define MESHWRIGHT_EXPORT_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def AlignBetweenMeshesPass : MpmdProgramPass<"mpmd-align-between-meshes"> {
  let summary = "Gives equal inferred fragments of several meshes one program";
  let description = [{
    Gives inferred fragments of several meshes that compute the same, such as
    the updates of stages, the same results in the same order. An array is
    returned by all of them or by none; a scalar that only some return, such as
    the count of an optimizer or the zero that a sum of losses starts from, is
    returned by all. What one of them computes on scalars only, independently of
    the rest, such as the mean of losses, becomes a fragment before it.

    ```mlir
    %0:2 = fragment<"m0", []> (%x, %n) {%c = %n + 1; return %x * %c, %c}
    %1:2 = fragment<"m1", []> (%l, %y, %m) {%c = %m + 1; return %l / 4, %y * %c}
    // becomes
    %0:2 = fragment<"m0", []> (%x, %n) {mpmd.keeps_scalars} {… return %x * %c, %c}
    %2   = fragment<"m1", []> (%l) {return %l / 4}
    %1:2 = fragment<"m1", []> (%y, %m) {mpmd.keeps_scalars} {… return %y * %c, %c}
    ```

    Compares the axes of meshes, the types and marks of operands and results,
    and the ops in order. `mpmd.keeps_scalars` has
    `mpmd-mark-aliasing-and-donation` leave scalars alone: one mesh may still
    have to send what another has received.

    Acts on MPMD functions that are entry points, after layouts are marked and before
    aliases are. Inlines shared bodies that each mesh calls at most
    once. Leaves alone: user fragments, fragments that no other mesh has, and those that
    are one program already, but for `mpmd.keeps_scalars`. Cost: linear in what inferred
    fragments compute.
  }];
  let statistics = [
    Statistic<"numAligned", "num-aligned", "Fragments with aligned results">,
    Statistic<"numSplit", "num-split",
              "Fragments whose scalars were split off">,
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
  let summary = "Fuses forward and backward fragments that a schedule overlaps";
  let description = [{
    Fuses a forward and a backward fragment that a schedule runs in one step, so
    that the compiler of the device overlaps the collectives of one with the
    computation of the other. The scheduler has marked both with the number of
    their pair and 0 or 1; a backward may consist of two halves.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {F} {mpmd.overlap = array<i64: 3, 0>}
    %1 = fragment<"m", ["g"(1)]> (%y) {B} {mpmd.overlap = array<i64: 3, 1>}
    // becomes
    %0:2 = fragment<"m", ["f", "g"(1)]> (%x, %y) {F; B} {mpmd.overlapped = [
      {origin = ["f"], results = 1}, {origin = ["g"(1)], results = 1} ]}
    ```

    Acts on the fragments that are directly in MPMD functions, and removes all
    marks. The fused fragment has the origins of both, the stage if both have
    the same one, and no call counter. Fragments of a mesh keep their order,
    except late halves, and so do effects; other ops move as far as necessary.

    Leaves apart, with a remark of category `overlap`: fragments that are not
    adjacent on their mesh, a second part that depends on the first, halves with
    effects of other fragments between theirs, pairs without collectives, and
    pairs that would make the program end later because one part waits for the
    other, or other fragments for the results of one part.

    The late half of a split backward stays a separate fragment if the program
    ends earlier that way, since the results of the pair are then available
    sooner. Where a device is known, the late half may also wait, with up to
    seven others, until its mesh is idle, or be fused with an unpaired fragment,
    whose collectives it then overlaps.

    Durations come from the cost model of the device; without one, work is
    counted in operations, and the shorter part is assumed to be hidden. Reports
    an error for pairs of several meshes, and for fragments that are not one
    forward and one backward. Cost: linear in the distinct bodies, plus on each
    mesh a logarithm for each op and use.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true",
           "Fuse the pairs; if false, only remove their marks.">,
    Option<"onlyWithCollectives", "only-with-collectives", "bool",
           /*default=*/"true",
           "Leave pairs apart that have no collectives.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "Device of the meshes: a known name or a file.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "Costs of custom calls, separated by semicolons.">,
  ];
  let statistics = [
    Statistic<"numPairs", "num-pairs", "Pairs that became one fragment">,
    Statistic<"numApart", "num-apart", "Pairs that stay apart">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def DelayReceivesPass
    : Pass<"mpmd-delay-receives", "::mlir::func::FuncOp"> {
  let summary = "Delays transfers until the target mesh has memory for the values";
  let description = [{
    Delays transfers between meshes where the target would otherwise hold more
    than `bound` bytes of received values that its next fragment does not read.

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

    The bound is for each fragment of a mesh: while it runs, the mesh holds no
    more than this many bytes that only later fragments read.

    - A number is the same bound for all.
    - With `0`, a value is sent when the last fragment before its reader has
      ended.
    - `auto` lets values arrive as early as the peak memory of the mesh remains
      that with `0`: the bound of a fragment is this peak less what the mesh holds
      while it runs.

    A transfer that could start earlier by its data flow gets `mpmd.delayed`. It
    then starts where it is in the order of the mesh, not before. The pass runs
    after buffers were marked, and does not move a transfer past a fragment that
    reuses the memory of its operand.

    Acts on MPMD functions that are entry points, and keeps the order of
    fragments. Leaves alone: values that no fragment of the target reads, values
    that are passed on, and transfers to a mesh of hosts. Remarks of category
    `receive` count what waits on each mesh. Cost: ops times meshes.
  }];
  let options = [
    Option<"bound", "bound", "::meshwright::TextOption", /*default=*/"",
           "Bytes per device for values received before they are needed, "
           "such as 100MB, 0 or auto; if empty, nothing is delayed.">,
  ];
  let statistics = [
    Statistic<"numDelayed", "num-delayed", "Transfers delayed">,
  ];
}

def OffloadActivationsPass
    : Pass<"mpmd-offload-activations", "::mlir::ModuleOp"> {
  let summary = "Offloads activations to host memory";
  let description = [{
    Moves results of forward fragments that their backward reads much later to
    host memory, and brings them back in time.

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

    Runs after buffers were marked, and leaves marks and programs as they are.
    The program is timed by the cost model of the device, whose link to the host
    takes one value at a time in each direction. With a bound, a mesh offloads
    as much as it takes to stay below it: the values that are unread for
    longest, provided that they reach the host in time and are back before their
    backward. With `auto`, each mesh has the smallest bound that it can meet.

    A transfer back has `mpmd.delayed`: it starts when the fragments before it
    have ended. A transfer to the host has `mpmd.beside`, the number of
    fragments of its mesh that run meanwhile, if there are any. A value that
    several fragments read is on the host during the longest interval without a
    read. Ops end up in the order in which they start, and `mpmd.start_order` on
    the function says that they are issued in this order.

    A forward that is not needed yet may wait for a transfer to the host if that
    delays no backward. The transfer then has `mpmd.awaited`, and the next
    fragment after those beside it starts when the transfer has ended.

    Returned values are not offloaded. Reports an error for a bound that a mesh
    cannot meet, with the smallest that it can, and if no device is given.
    Remarks of category `offload` give the memory of each mesh with and without
    offloading. Cost: for each bound that is tried, fragments times offloaded
    values; `auto` tries ten.
  }];
  let options = [
    Option<"bound", "bound", "::meshwright::TextOption", /*default=*/"",
           "Memory limit per device, such as 40GB, or auto; if empty, "
           "nothing is offloaded.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "Device of the meshes: a known name or a file.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "Costs of custom calls, separated by semicolons.">,
  ];
  let statistics = [
    Statistic<"numOffloaded", "num-offloaded", "Values offloaded">,
    Statistic<"numDelayed", "num-delayed", "Forward fragments delayed">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def RestoreDuplicateOperandsPass
    : MpmdProgramPass<"mpmd-restore-duplicate-operands"> {
  let summary = "Restores duplicate operands so that scheduling units share a body";
  let description = [{
    Sums over microbatches start from zeros. Simplification merges equal
    operands, so that the unit of the first microbatch would be a separate
    program. It gets the body of the other units of its kind, and each of its
    operands becomes a separate result, whose memory the unit may reuse.

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
    Statistic<"numRestored", "num-restored", "Units given another body">,
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
    are equal, locations aside. The function has the argument and result
    attributes that these lists and the types of the first fragment give, the
    largest `reserved_hbm_bytes`, and a name made of the first fragment's
    origins. Manual computations in it refer to the mesh by the fragment's name
    for it, which is declared if need be. A call keeps origin, location and
    `remat`, and drops all other attributes. If the module has a symbol of the
    wanted name, that is called.

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
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MarkAliasingAndDonationPass
    : MpmdFunctionPass<"mpmd-mark-aliasing-and-donation"> {
  let summary = "Marks donated and aliased operands of fragments";
  let description = [{
    Marks, in `arg_attrs`, each operand of which a fragment is the last reader:
    with the result that can reuse its memory, else as donated.

    ```mlir
    %1 = fragment<"m", ["f"]> (%0, %x) : (!m, !m) -> !m
    // becomes
    %1 = fragment<"m", ["f"]> (%0, %x) {arg_attrs =
        [{tf.aliasing_output = 0 : i32}, {} ]} : (!m, !m) -> !m
    ```

    A result can reuse it if it has the operand's type and `mhlo.layout_mode`,
    is not in host memory according to `res_attrs`, and aliases no earlier
    operand. Arguments of the function take part only if they have
    `jax.buffer_donor`, and are donated, or an integer `tf.aliasing_output`:
    then the result of this fragment that becomes that result of the function
    goes first.

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

    Acts on entry points. A missing attribute means the default layout, before
    and after the pass. An argument that is also returned gets the layout
    required there; values have the default layout if they go to a CPU mesh,
    with a warning if they should not, and if they are `"auto"` but more than
    one program sees them. A result without use is `"auto"`. Layouts pass
    through other transfers. Reports values that are returned with two layouts.
    All fragments get `res_attrs`, and `arg_attrs` if an operand was reached.
    Cost: linear in the uses of arguments and results, and of transfers of them.
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
    broadcasts of dimensions of size 1, changes of sharding and calls; the
    results of an operation with a compute type are in the memory that it names.
    Acts on the fragments directly in entry points, which all get both lists.
    Reports arguments that are read in several kinds of memory, and arguments
    and results of the function that do not agree with what reads or makes them;
    never changes the signature. On modules, since it reads the functions that
    bodies call, which must not change meanwhile. Cost: linear in the operands,
    and in what is looked through for each result.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments",
              "Fragments given lists of memories">,
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
    Statistic<"numFragments", "num-fragments",
              "Fragments stripped of tokens">,
  ];
}

def SliceInUnitsPass : MpmdProgramPass<"mpmd-slice-in-units"> {
  let summary = "Cuts batches in the scheduling units that read the parts";
  let description = [{
    Where an inferred fragment cuts a batch along its first dimension into parts of one
    size for the units of several microbatches, each unit gets the whole batch and the
    first row of its part, and cuts the part itself.

    ```mlir
    %0:2 = fragment<"m", []> (%x) {return %x[0:4], %x[4:8]}
    %1 = fragment<"m", ["f"]> (%0#0) (%a) {call_counter = 0} {return %a * 2}
    %2 = fragment<"m", ["f"]> (%0#1) (%a) {call_counter = 1} {return %a * 2}
    // becomes
    %0:2 = fragment<"m", []> () {return 0, 4}
    %1 = fragment<"m", ["f"]> (%0#0, %x) (%i, %b) {call_counter = 0}
      {return dynamic_slice(%b, %i) * 2}
    %2 = fragment<"m", ["f"]> (%0#1, %x) (%i, %b) {call_counter = 1}
      {return dynamic_slice(%b, %i) * 2}
    ```

    Acts on MPMD functions that are entry points. Leaves alone: parts along other
    dimensions, of several sizes, that anything but units which are alike reads, of
    anything but arguments of the program that are not donated, or whose rows the
    devices of the mesh divide among themselves. Cost: linear in the operands and
    results of fragments.
  }];
  let options = [
    Option<"minParts", "min-parts", "int64_t", "2",
           "Cut batches of at least this many parts; there is a kernel for each.">,
  ];
  let statistics = [
    Statistic<"numParts", "num-parts", "Parts that units cut themselves">,
  ];
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
  let summary = "Reports parameters that are transferred between meshes";
  let description = [{
    Reports each inter-mesh transfer whose location, or whose operand's
    location, has a name that contains the pattern.

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
