//===- WholeFile.h - Files that appear whole or not at all ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_WHOLEFILE_H
#define MESHWRIGHT_TEXT_WHOLEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

using FileWriter = llvm::function_ref<llvm::Error(llvm::raw_ostream &)>;

/// Writes a file under another name and gives it its own at the end, so that
/// readers see the old contents or the new ones, and an error leaves the old.
/// A link keeps pointing where it points. "-" is standard output; a device or
/// a pipe is written to as it is. The error names the path.
llvm::Error writeWholeFile(llvm::StringRef path, FileWriter write);

/// The same with a text.
inline llvm::Error writeWholeText(llvm::StringRef path, llvm::StringRef text) {
  return writeWholeFile(path, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
}

/// Refuses a path that leads through a link, or to a pipe, that another user has
/// made in a folder where all may make files (a sticky one, as /tmp): what is
/// written would go where that user says. It is the rule of Linux
/// (protected_symlinks), which does not apply to links that are resolved here.
llvm::Error checkLinks(llvm::StringRef path);

/// Lets a process outlive a file that grows beyond its limit (RLIMIT_FSIZE);
/// the write then fails with an error. For programs, not for libraries.
void ignoreFileSizeSignal();

} // namespace meshwright

#endif
