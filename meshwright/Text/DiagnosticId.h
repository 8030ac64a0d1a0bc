//===- DiagnosticId.h - What a diagnostic is about --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A front end may say what the compiler reports in its own terms, with a remedy
// of its own. It goes by an id and arguments, which stay when a text is
// reworded:
//
//   return identify(op.emitError() << "'" << name << "' is not assigned ...",
//                   "unassigned", {{"name", name}});
//
// docs/developing/adding.md lists what a new id needs.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_DIAGNOSTICID_H
#define MESHWRIGHT_TEXT_DIAGNOSTICID_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <utility>

namespace meshwright {

/// Names and values. A name may occur several times.
using DiagnosticArguments =
    llvm::SmallVector<std::pair<llvm::StringRef, std::string>, 4>;

struct DiagnosticId {
  llvm::StringRef id;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>, 4> arguments;
};

/// Gives a diagnostic its id. Its strings are of the context, so that it may
/// wait for those of earlier functions.
void identify(mlir::Diagnostic &diagnostic, llvm::StringRef id,
              const DiagnosticArguments &arguments = {});
mlir::InFlightDiagnostic identify(mlir::InFlightDiagnostic &&diagnostic,
                                  llvm::StringRef id,
                                  const DiagnosticArguments &arguments = {});

/// Nothing for a diagnostic without an id.
std::optional<DiagnosticId> getDiagnosticId(mlir::Diagnostic &diagnostic);

} // namespace meshwright

#endif
