//===- Mutator.h - Programs that are almost right ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_MUTATOR_MUTATOR_H
#define MESHWRIGHT_FUZZ_MUTATOR_MUTATOR_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace meshwright::fuzz {

/// Changes a program in a few places, as a program: ops, types, attributes and
/// symbols, so that most results still parse and many still verify. Comments
/// before the first op stay. A text that does not parse, and now and then one
/// that does, is changed as text. The same seed makes the same change.
std::string mutateProgram(llvm::StringRef text, uint64_t seed);

/// Changes a text in a few places: numbers, words, lines, brackets, bytes.
std::string mutateText(llvm::StringRef text, uint64_t seed);

/// Changes some bytes, and moves pieces.
std::string mutateBytes(llvm::StringRef bytes, uint64_t seed);

} // namespace meshwright::fuzz

#endif
