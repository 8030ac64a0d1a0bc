//===- ReduceProgram.cpp - Fewer operations, the same mistake -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's `reduction-tree` takes ranges of operations away. In a step of
// training, where nearly everything reads what is before it and the end
// returns it all, no large range can go. So this pass cuts edges first, and
// sweeps up:
//
//   functions    those that nothing calls
//   results      the entry function returns less
//   operations   what reads an operation reads one of its operands, an
//                argument, which costs no line, or zeros
//   calls        a call is replaced by the body of its callee, or callers and
//                callees agree on less
//   regions      named computations, branches and loops are replaced by what
//                is in them, or take and return less
//   returns      the entry function returns what comes earlier
//   arguments    the entry function takes less
//   attributes   those that no operation must have
//
// Each step lists its candidates and tries to do without all of them, then
// without halves, quarters and so on down to one by one; what the script still
// finds interesting stays. Rounds are repeated until one changes nothing.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "ReductionSteps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Reducer/Tester.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace meshwright;

static constexpr ReductionStep kSteps[] = {
    dropFunctions, dropResults,   dropOpsForArguments, dropOpsForZeros,
    narrowCallees, inlineCalls,   inlineRegions,       narrowRegions,
    returnEarlier, dropArguments, dropAttributes};

/// Removes what nothing reads any more.
static LogicalResult sweep(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  for (auto func : module.getOps<func::FuncOp>())
    (void)runRegionDCE(rewriter, func->getRegions());
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createSymbolDCEPass());
  return passes.run(module);
}

namespace {
struct ReduceProgramPass
    : PassWrapper<ReduceProgramPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceProgramPass)

  ReduceProgramPass() = default;
  ReduceProgramPass(const ReduceProgramPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "mpmd-reduce-program"; }
  StringRef getDescription() const final {
    return "Makes a program small that stays interesting for a script";
  }

  void runOnOperation() override {
    tester = Tester(script, *scriptArguments);
    if (!isInteresting(getOperation())) {
      getOperation().emitError()
          << "the program is not interesting as it is: the script " << script
          << " must exit with 1 for it, and with 0 for one that does not show "
             "what you look for";
      return signalPassFailure();
    }
    bool hasChanged = true;
    while (hasChanged) {
      hasChanged = false;
      for (ReductionStep step : kSteps)
        hasChanged |= minimize(step);
    }
  }

private:
  bool isInteresting(ModuleOp module) const {
    return tester.isInteresting(module).first == Tester::Interestingness::True;
  }

  /// Replaces the program by one without the candidates from `begin` to `end`,
  /// if that is interesting.
  bool tryWithout(ReductionStep step, unsigned begin, unsigned end) {
    OwningOpRef<ModuleOp> candidate = getOperation().clone();
    Candidates candidates(begin, end);
    step(*candidate, candidates);
    // What an attempt does wrong is not the user's concern.
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    if (failed(sweep(*candidate)) || failed(verify(*candidate)) ||
        OperationEquivalence::isEquivalentTo(
            *candidate, getOperation(),
            OperationEquivalence::IgnoreLocations) ||
        !isInteresting(*candidate))
      return false;
    getOperation().getBodyRegion().takeBody(candidate->getBodyRegion());
    getOperation()->setAttrs(candidate->getOperation()->getAttrDictionary());
    return true;
  }

  unsigned count(ReductionStep step) {
    Candidates none(0, 0);
    step(getOperation(), none);
    return none.getCount();
  }

  bool minimize(ReductionStep step) {
    bool hasChanged = false;
    unsigned count = this->count(step);
    for (unsigned size = count; size > 0; size /= 2) {
      // From the end, where nothing is read by much.
      for (unsigned end = count; end > 0;) {
        unsigned begin = end > size ? end - size : 0;
        if (tryWithout(step, begin, end)) {
          hasChanged = true;
          count = this->count(step);
        }
        end = std::min(begin, count);
      }
    }
    return hasChanged;
  }

  Tester tester;
  Option<std::string> script{*this, "test",
                             llvm::cl::desc("What tells interesting programs: "
                                            "exits with 1 for them.")};
  ListOption<std::string> scriptArguments{
      *this, "test-arg", llvm::cl::desc("What it gets before the file.")};
};
} // namespace

void meshwright::registerReduceProgramPass() {
  PassRegistration<ReduceProgramPass>();
}
