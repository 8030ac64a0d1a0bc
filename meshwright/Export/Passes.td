//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_EXPORT_PASSES_TD
#define MESHWRIGHT_EXPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToFragmentCallsPass
    : Pass<"mpmd-lower-to-fragment-calls", "::mlir::ModuleOp"> {
  let summary = "Turns fragments into calls of one function per computation";
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
           "Print what each mesh will run.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments lowered">,
    Statistic<"numFunctions", "num-functions", "Distinct computations">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::mpmd::MpmdDialect",
                           "::mlir::sdy::SdyDialect"];
}

def MarkInputOutputWithLayoutsPass
    : Pass<"mpmd-mark-input-output-with-layouts", "::mlir::func::FuncOp"> {
  let summary = "Tells fragments the layouts of what enters and leaves";
  let description = [{
    Spreads `mhlo.layout_mode` of function arguments and results to the
    `arg_attrs` and `res_attrs` of the fragments that read and make them.

    ```mlir
    func.func @f(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!m {mhlo.layout_mode = "auto"})
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (...)
    // becomes
    func.func @f(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!m {mhlo.layout_mode = "auto"})
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{mhlo.layout_mode = "{0,1}"} ], res_attrs = [{mhlo.layout_mode = "auto"} ]} (...)
    ```

    Acts on entry points. No attribute stands for the default layout, also as
    the outcome. An argument that is also returned gets the layout demanded
    there; values have the default layout if they go to a CPU mesh, with a
    warning if they should not, and if they are `"auto"` but more than one
    program sees them. A result without use is `"auto"`. Layouts pass through
    other transfers. Reports values that are returned with two layouts. All
    fragments get `res_attrs`, and `arg_attrs` if an operand was reached. Cost:
    linear in the uses of arguments and results, and of transfers of them.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MarkOffloadedInputOutputPass
    : Pass<"mpmd-mark-offloaded-input-output", "::mlir::func::FuncOp"> {
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
    signature. Cost: linear in the operands, and in what is looked through for
    each result.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
