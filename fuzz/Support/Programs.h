//===- Programs.h - Taking programs through the compiler --------*- C++ -*-===//
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
/// Returns the text.
std::string checkRoundTrip(mlir::ModuleOp module);

/// Runs a textual pipeline over a program. What each pass makes has to verify,
/// and the result to make a round trip. Pipelines that do not exist are left
/// out.
void runPasses(llvm::StringRef program, llvm::StringRef pipeline);

} // namespace meshwright::fuzz

#endif
