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

#endif
