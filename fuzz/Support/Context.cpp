//===- Context.cpp - What targets have in common --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "meshwright/InitDialects.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

static std::unique_ptr<MLIRContext> context;

MLIRContext *fuzz::getContext() {
  if (context)
    return context.get();
  DialectRegistry registry;
  registerAllDialects(registry);
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context.get();
}

void fuzz::renewContext() {
  static unsigned numInputs = 0;
  if (++numInputs % 2000 == 0)
    context.reset();
}

void fuzz::reportFinding(const llvm::Twine &what) {
  llvm::errs() << "FINDING: " << what << "\n";
  std::abort();
}

ErrorCount::ErrorCount(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
            count++ == 0)
          llvm::raw_string_ostream(text)
              << diagnostic.str() << "\n  at " << diagnostic.getLocation();
      }) {}
