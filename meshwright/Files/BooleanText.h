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
// The number of digits says which one a text has. What is read is brought to
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
#include <string>

namespace meshwright {

/// In all of these, `quote` is what represents a quotation mark where the text is
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

/// Does so to what is printed into it, a line at a time, and passes it on. The
/// printer of this MLIR writes types of constants out, and breaks no line in one.
class BooleanListStream : public llvm::raw_ostream {
public:
  explicit BooleanListStream(llvm::raw_ostream &os);
  ~BooleanListStream() override;

private:
  void write_impl(const char *text, size_t size) override;
  uint64_t current_pos() const override { return position; }

  llvm::raw_ostream &os;
  /// The beginning of a line.
  std::string rest;
  uint64_t position = 0;
};

} // namespace meshwright

#endif
