//===- ErrorWatch.h - Errors in spite of a result ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_ERRORWATCH_H
#define MESHWRIGHT_FILES_ERRORWATCH_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace meshwright {

/// Whether errors are emitted while it lives; other handlers still get them. After an
/// attribute or type of a dialect, MLIR's parser reports a string without an end and
/// goes on after it.
class ErrorWatch {
public:
  explicit ErrorWatch(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          seen |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
          return mlir::failure();
        }) {}

  bool hasSeenError() const { return seen; }

private:
  bool seen = false;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace meshwright

#endif
