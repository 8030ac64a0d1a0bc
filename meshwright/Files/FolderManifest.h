//===- FolderManifest.h - Which files of a folder are ours ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_FOLDERMANIFEST_H
#define MESHWRIGHT_FILES_FOLDERMANIFEST_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace meshwright {

/// A file to be written: its path in the folder, with '/', and what writes it.
struct FolderFile {
  std::string path;
  std::function<llvm::Error(llvm::raw_ostream &)> write;
};

/// The hash of a file's contents: of all of them, or, if they are longer than
/// a block, of the hashes of blocks. None where `path` is no regular file or
/// cannot be read to its end.
std::optional<std::string> hashFile(llvm::StringRef path);
inline constexpr uint64_t kHashedBlock = uint64_t(1) << 24;

/// The file that lists what Meshwright wrote into a folder:
///
///   {"version": 1, "files": {"schedule.json": "6f0c2a91d4e87b35", …}}
///
/// with a hash of the contents for each.
class FolderManifest {
public:
  static constexpr llvm::StringLiteral kName = ".meshwright-manifest.json";

  /// What lies in `folder`; empty if there is none that can be read.
  static FolderManifest read(llvm::StringRef folder);

  std::string print() const;

  void add(llvm::StringRef path, std::string hash) {
    hashes[path] = std::move(hash);
  }
  bool lists(llvm::StringRef path) const { return hashes.contains(path); }

  /// Whether `path` in `folder` is listed, a file, and as it was written.
  bool isUnchanged(llvm::StringRef folder, llvm::StringRef path) const;

private:
  llvm::StringMap<std::string> hashes;
};

} // namespace meshwright

#endif
