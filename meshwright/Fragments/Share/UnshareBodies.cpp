//===- UnshareBodies.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What reads or prints a program between two phases need not know that
// fragments share bodies:
//
//   fragment (%x) (%a) {%r = custom_call @mpmd.shared_body(%a); return %r}
//   // becomes
//   fragment (%x) (%a) {%r = sine %a; return %r}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/SharedBodies.h"

#define GEN_PASS_DEF_UNSHAREBODIESPASS
#include "meshwright/Fragments/Share/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct UnshareBodiesPass
    : mpmd::impl::UnshareBodiesPassBase<UnshareBodiesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    numFragments += unshareBodies(getOperation(), rewriter);
  }
};
} // namespace
