//===- Context.h - What targets have in common ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_CONTEXT_H
#define MESHWRIGHT_FUZZ_SUPPORT_CONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace meshwright::fuzz {

/// A context with all dialects, loaded, and without threads. A new one is made
/// now and then, since types and attributes are never freed: nothing of it may
/// be kept from one input to the next.
mlir::MLIRContext *getContext();
/// Called between inputs.
void renewContext();

/// Says what is wrong with how we took the input, and ends the process so that
/// it is seen.
[[noreturn]] void reportFinding(const llvm::Twine &what);

/// Counts errors, and keeps them from being printed.
class ErrorCount {
public:
  explicit ErrorCount(mlir::MLIRContext *context);
  unsigned get() const { return count; }
  llvm::StringRef first() const { return text; }

private:
  unsigned count = 0;
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace meshwright::fuzz

#endif
