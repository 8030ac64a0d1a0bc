//===- BooleanText.h - Boolean constants in two texts -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR prints a constant of more than a hundred elements as hex digits. For
// booleans there are two forms, and each MLIR takes only its own:
//
//   dense<"0x0100000001000101000101…"> : tensor<128xi1>  // JAX: a byte each
//   dense<"0xD1A7…"> : tensor<128xi1>                    // LLVM 22: a bit each
//
// The number of digits tells which one a text has. What is read is brought to
// the form of this MLIR. What is written is a list, which both take:
//
//   dense<[true, false, false, false, true, …]> : tensor<128xi1>
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BOOLEANTEXT_H
#define MESHWRIGHT_FILES_BOOLEANTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

/// In all of these, `quote` is what stands for a quotation mark where the text is
/// itself quoted, as in JSON.

/// Whether `text` has booleans of a byte each.
bool hasByteBooleans(llvm::StringRef text, llvm::StringRef quote = "\"");

/// Rewrites booleans of a byte each to a bit each. The text keeps its length,
/// and everything else its place.
void packByteBooleans(llvm::MutableArrayRef<char> text,
                      llvm::StringRef quote = "\"");

/// Prints a text of this MLIR with booleans as lists.
void printWithBooleanLists(llvm::StringRef text, llvm::raw_ostream &os,
                           llvm::StringRef quote = "\"");

} // namespace meshwright

#endif
