//===- ExportFolder.h - Folders that change as one --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_EXPORTFOLDER_H
#define MESHWRIGHT_FILES_EXPORTFOLDER_H

#include "meshwright/Files/FolderManifest.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"

namespace meshwright {

/// Writes a folder aside and puts it in its place atomically, so that a reader,
/// looks, at whatever moment this process ends, finds what was there before or
/// these files, whole:
///
///   .out.meshwright-k3Jd0a/   the new folder, beside the old one
///   out/                      the two change names, in one step; then the
///   .out.meshwright-k3Jd0a/   old one is removed
///
/// Only what an earlier call wrote (FolderManifest) is removed; other files
/// stay. An error, and the old folder as it was, if one of them has the name
/// of a file to be written, if a listed one was changed by hand, or if there
/// are folders in it other than `ownFolders`, in which files may lie. Of
/// several writers one wins. Folders that killed processes left are removed.
///
/// Where the file system cannot exchange two names, the old folder is renamed
/// first and the new one then: for a moment there is neither.
///
/// The files are tasks of the pool; an error is that of the first in order.
llvm::Error writeFolder(llvm::StringRef folder,
                        llvm::ArrayRef<FolderFile> files,
                        llvm::ThreadPoolInterface &pool,
                        llvm::ArrayRef<llvm::StringRef> ownFolders = {});

} // namespace meshwright

#endif
