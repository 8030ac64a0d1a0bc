//===- Programs.h - Reading and printing programs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_PROGRAMS_H
#define MESHWRIGHT_FUZZ_SUPPORT_PROGRAMS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::fuzz {

/// Parses and verifies; none for a program that is rejected with an error.
mlir::OwningOpRef<mlir::ModuleOp> readProgram(llvm::StringRef text);

/// What is printed has to parse and verify, and to print the same again.
/// Returns the text; none with a symbol without a name, which MLIR accepts and
/// cannot write.
std::optional<std::string> checkRoundTrip(mlir::ModuleOp module);

} // namespace meshwright::fuzz

#endif
