//===- ValidateNoInferredFragments.cpp ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An inferred fragment costs a launch of its own, and should have been merged
// into one of the user's by now. Some passes make fragments that not every
// program gives a place to merge into; of these it only warns.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define GEN_PASS_DEF_VALIDATENOINFERREDFRAGMENTSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The passes whose fragments may stay.
static constexpr StringLiteral kTolerated[] = {
    "extract_reshards",
    "infer_mesh_convert_reduce_ops",
    "infer_mesh_wrap_meshless_ops",
    "infer_mesh_wrap_resultless_ops",
    "introduce_transfers",
    "uniquify",
};

static SmallVector<StringRef> getInferredBy(FragmentOp fragment) {
  SmallVector<StringRef> passes;
  if (auto list = fragment->getAttrOfType<ArrayAttr>(kInferredByAttr))
    for (Attribute entry : list)
      if (auto name = dyn_cast<StringAttr>(entry))
        passes.push_back(name.getValue());
  return passes;
}

namespace {
struct ValidateNoInferredFragmentsPass
    : mpmd::impl::ValidateNoInferredFragmentsPassBase<
          ValidateNoInferredFragmentsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    func.walk<WalkOrder::PreOrder>([&](FragmentOp fragment) {
      if (isInferredFragment(fragment) && failed(validate(fragment)))
        signalPassFailure();
      return WalkResult::skip(); // No fragment inside a fragment.
    });
  }

private:
  LogicalResult validate(FragmentOp fragment) {
    SmallVector<StringRef> passes = getInferredBy(fragment);
    if (passes.empty())
      return fragment.emitError()
             << "Internal error: inferred fragment is missing the attribute `"
             << kInferredByAttr << "`, which names the pass that made it";
    bool tolerated = llvm::any_of(passes, [](StringRef pass) {
      return llvm::is_contained(kTolerated, pass);
    });
    bool fails = failOnInferredFragments && !tolerated;
    meshwright::DiagnosticArguments arguments;
    for (StringRef pass : passes)
      arguments.emplace_back("inferred_by", pass.str());
    meshwright::identify(
        (fails ? fragment.emitError() : fragment.emitWarning())
            << "Inferred fragment has not been merged (inferred by "
            << llvm::join(passes, ", ") << ")",
        "not_merged", arguments);
    return failure(fails);
  }
};
} // namespace
