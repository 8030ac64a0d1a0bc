//===- CompiledMetrics.h - What compilers say of fragments ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What `meshwright compile --json` prints, or the index of a program that was
// saved after it was compiled, which has the same as `body.figures`:
//
//   {"target": "v5p:2x2x4",
//    "fragments": {"p0_enc.step": {"temporary_bytes": 4096, "code_bytes": 512,
//                                  "estimated_s": 0.0012}}}
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_COMPILEDMETRICS_H
#define MESHWRIGHT_COST_COMPILEDMETRICS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>

namespace meshwright {

struct CompiledMetrics {
  struct Fragment {
    int64_t temporaryBytes = 0; ///< On each device.
    int64_t codeBytes = 0;
    /// Without collectives; none where the compiler has no time worth taking.
    std::optional<double> seconds;
  };

  /// Devices that it was compiled for, such as `v5p:2x2x4`; may be empty.
  std::string target;
  std::map<std::string, Fragment> fragments;

  const Fragment *find(llvm::StringRef name) const {
    auto found = fragments.find(name.str());
    return found == fragments.end() ? nullptr : &found->second;
  }
};

/// Errors say where in the text something is missing or wrong.
llvm::Expected<CompiledMetrics> parseCompiledMetrics(llvm::StringRef text);

/// The same for a file, or the folder of a saved program, which errors name.
llvm::Expected<CompiledMetrics> readCompiledMetrics(llvm::StringRef path);

} // namespace meshwright

#endif
