//===- SharedBodies.h - Fragments with one body -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The fragments of a stage compute the same for every microbatch. Where they
// share a body, it is a private function, which is in each of them as a
// custom call:
//
//   %0 = fragment (%x) (%a) {%r = custom_call @mpmd.shared_body(%a)
//                             {called_computations = [@shared_body]}; return %r}
//   func private @shared_body(%a) attributes {mpmd.shared_body} {%r = …; …}
//
// Passes may give such a fragment other ops, operands and results, as they may
// any other. What changes the ops after the call inlines it first, and no call
// has a result that is not used.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_SHAREDBODIES_H
#define MESHWRIGHT_FRAGMENTS_SHAREDBODIES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace mlir::mpmd {

/// The calls of shared bodies in a fragment.
SmallVector<stablehlo::CustomCallOp> getSharedBodyCalls(FragmentOp fragment);

/// The function that has the ops.
func::FuncOp getSharedBody(stablehlo::CustomCallOp call);

/// Shared bodies, in the order of their first call, each with its calls in the order
/// of the program.
using CallsOfBodies =
    llvm::MapVector<func::FuncOp, SmallVector<stablehlo::CustomCallOp>>;

/// Called for each fragment with its function and the calls in it.
using FragmentVisitor =
    llvm::function_ref<void(func::FuncOp func, FragmentOp fragment,
                            ArrayRef<stablehlo::CustomCallOp> calls)>;

/// The functions that calls in a module name.
CallsOfBodies collectSharedBodies(ModuleOp module,
                                  FragmentVisitor visit = nullptr);

/// Whether a fragment that nothing reads may go, and may be repeated, by what its
/// ops do, also those after calls. MLIR's `isPure` knows nothing of these.
bool isPureFragment(FragmentOp fragment);

/// Creates the call of a body, with the operands and result types of it.
stablehlo::CustomCallOp createSharedBodyCall(OpBuilder &builder, Location loc,
                                             func::FuncOp body,
                                             ValueRange operands,
                                             bool hasSideEffect);

/// Puts copies of the ops of shared bodies in place of their calls.
void inlineSharedBodies(FragmentOp fragment, RewriterBase &rewriter);

/// Does so in each of several fragments, on all cores.
void inlineSharedBodiesOfEach(ArrayRef<FragmentOp> fragments);

/// Does so where a result of the fragment is not used: what goes with it is
/// found in the body.
void inlineSharedBodiesIfUnused(FragmentOp fragment, RewriterBase &rewriter);

/// Changes each shared body with its calls. Before, fragments that call several bodies,
/// or one several times, get their ops back: what is done to the calls of one body then
/// takes away no call of another. `change` returns how many fragments it gives their ops
/// back; this returns how many have them.
unsigned changeSharedBodies(
    ModuleOp module, RewriterBase &rewriter,
    llvm::function_ref<unsigned(func::FuncOp body,
                                ArrayRef<stablehlo::CustomCallOp> calls)>
        change);

/// Calls of a body that have something in common.
template <typename T> struct AlikeCalls {
  SmallVector<stablehlo::CustomCallOp> calls;
  std::optional<T> common;
  unsigned numInlined = 0; ///< The others, whose fragments have their ops back.
};

/// The calls for which `find` returns what it returns first, apart from nothing.
template <typename T>
AlikeCalls<T> keepAlikeCalls(
    ArrayRef<stablehlo::CustomCallOp> calls, RewriterBase &rewriter,
    llvm::function_ref<std::optional<T>(stablehlo::CustomCallOp)> find) {
  AlikeCalls<T> alike;
  for (stablehlo::CustomCallOp call : calls) {
    std::optional<T> found = find(call);
    if (!alike.common)
      alike.common = found;
    if (found && found == alike.common) {
      alike.calls.push_back(call);
      continue;
    }
    inlineSharedBodies(cast<FragmentOp>(call->getParentOp()), rewriter);
    ++alike.numInlined;
  }
  return alike;
}

/// Gives all fragments their ops back. Returns how many have had none.
unsigned unshareBodies(ModuleOp module, RewriterBase &rewriter);

/// Erases the functions of a module whose calls are gone, also of bodies that a
/// pass has put back into all fragments. Those that something else names stay.
/// Returns how many are gone.
unsigned eraseUncalledBodies(ModuleOp module);

/// The op that makes a value that a fragment returns; null if none does.
Operation *getDefiningOpInBody(Value value);

} // namespace mlir::mpmd

#endif
