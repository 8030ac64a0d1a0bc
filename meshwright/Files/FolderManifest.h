//===- FolderManifest.h - Which files of a folder are ours ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_FOLDERMANIFEST_H
#define MESHWRIGHT_FILES_FOLDERMANIFEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright {

/// A file to be written: its path in the folder, with '/', and what is in it.
struct FolderFile {
  std::string path;
  std::string contents;
};

/// The file that lists what Meshwright wrote into a folder:
///
///   {"version": 1, "files": {"schedule.json": "6f0c2a91d4e87b35", …}}
///
/// with a hash of the contents for each.
class FolderManifest {
public:
  static constexpr llvm::StringLiteral kName = ".meshwright-manifest.json";

  FolderManifest() = default;
  explicit FolderManifest(llvm::ArrayRef<FolderFile> files);

  /// What lies in `folder`; empty if there is none that can be read.
  static FolderManifest read(llvm::StringRef folder);

  std::string print() const;

  bool lists(llvm::StringRef path) const { return hashes.contains(path); }

  /// Whether `path` in `folder` is listed, a file, and as it was written.
  bool isUnchanged(llvm::StringRef folder, llvm::StringRef path) const;

private:
  llvm::StringMap<std::string> hashes;
};

} // namespace meshwright

#endif
