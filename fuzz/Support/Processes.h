//===- Processes.h - Tools, run on an input ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_PROCESSES_H
#define MESHWRIGHT_FUZZ_SUPPORT_PROCESSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright::fuzz {

/// A folder of its own to work in, with some files, until the end of the input.
class Workplace {
public:
  using File = std::pair<llvm::StringRef, llvm::StringRef>;
  explicit Workplace(llvm::ArrayRef<File> files);
  ~Workplace();

private:
  llvm::SmallString<128> before, folder;
};

struct ProcessResult {
  int code;          ///< Negative for a signal, and for too long a time.
  std::string cause; ///< Of a negative one.
  std::string output, errors;
};

/// Runs one of the tools beside the target, with `input`, a file, as its standard
/// input; one without a name is empty.
ProcessResult runTool(llvm::StringRef tool,
                      llvm::ArrayRef<llvm::StringRef> arguments,
                      llvm::StringRef input = "");

} // namespace meshwright::fuzz

#endif
