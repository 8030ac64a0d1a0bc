//===- WholeFile.cpp - Files that appear whole or not at all --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/WholeFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <csignal>

using namespace llvm;
using namespace meshwright;
namespace fs = llvm::sys::fs;

/// Reports what went wrong on the way to the file, which a stream keeps to
/// itself until it is asked.
static Error finish(raw_fd_ostream &os, Error error) {
  os.flush();
  if (!error && os.has_error())
    error = errorCodeToError(os.error());
  os.clear_error();
  return error;
}

/// A device or a pipe is written to; a file in its place would be another one.
static Error writeInPlace(StringRef path, FileWriter write) {
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (code)
    return errorCodeToError(code);
  return finish(os, write(os));
}

static Error writeAside(StringRef path, FileWriter write) {
  unsigned mode = fs::all_read | fs::all_write;
  SmallString<128> target(path);
  fs::file_status status;
  if (!fs::status(path, status)) {
    if (fs::is_directory(status))
      return errorCodeToError(std::make_error_code(std::errc::is_a_directory));
    mode = status.permissions();
    if (std::error_code code = fs::real_path(path, target))
      return errorCodeToError(code);
  }
  // Removed on a signal, and by discard.
  Expected<fs::TempFile> file =
      fs::TempFile::create(target + ".%%%%%%.tmp", mode, fs::OF_None);
  if (!file)
    return file.takeError();
  Error error = Error::success();
  {
    raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    error = finish(os, write(os));
  }
  if (error)
    return joinErrors(std::move(error), file->discard());
  return file->keep(target);
}

Error meshwright::writeWholeFile(StringRef path, FileWriter write) {
  fs::file_status status;
  bool isSpecial = !fs::status(path, status) && fs::is_other(status);
  // What lies there is made by the system; a file beside it would not be.
  isSpecial |= path.starts_with("/dev/") || path.starts_with("/proc/");
  Error error = Error::success();
  if (path == "-")
    error = finish(outs(), write(outs()));
  else
    error = isSpecial ? writeInPlace(path, write) : writeAside(path, write);
  if (!error)
    return error;
  return createStringError(
      path + ": cannot be written: " + toString(std::move(error)));
}

void meshwright::ignoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }
