//===- PassRemarks.h - What passes remark on, as diagnostics ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INSPECTION_PASSREMARKS_H
#define MESHWRIGHT_INSPECTION_PASSREMARKS_H

#include "mlir/IR/Diagnostics.h"
#include <optional>

namespace meshwright {

/// While it exists, remarks of passes are diagnostics of their context, hence
/// in the order of the program whichever thread emits them.
class PassRemarks {
public:
  /// `kinds` is a regular expression of merge, absorb, move and so on. Fails
  /// silently if it is none; does nothing if the context has remarks already.
  PassRemarks(mlir::MLIRContext *context, llvm::StringRef kinds);
  ~PassRemarks();
  PassRemarks(const PassRemarks &) = delete;
  PassRemarks &operator=(const PassRemarks &) = delete;

private:
  mlir::MLIRContext *context = nullptr;
};

/// What a remark of a pass is about.
struct RemarkInfo {
  llvm::StringRef kind; ///< merge, absorb, move or remat.
  bool missed;          ///< It says why something was not done.
};

/// Nothing for all other diagnostics.
std::optional<RemarkInfo> getRemarkInfo(mlir::Diagnostic &diagnostic);

} // namespace meshwright

#endif
