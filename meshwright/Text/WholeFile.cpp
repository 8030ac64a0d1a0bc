//===- WholeFile.cpp - Files that appear whole or not at all --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/WholeFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <climits>
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace meshwright;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

constexpr unsigned kMaxLinks = 40; // As the system follows.

/// Whether neither this user nor the owner of the folder has made the file, in a
/// folder where all may make some.
static bool isStrangers(StringRef name, const struct stat &file) {
  struct stat folder;
  std::string parent = path::parent_path(name).str();
  if (::stat(parent.empty() ? "." : parent.c_str(), &folder) != 0)
    return false;
  bool isShared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
  return isShared && file.st_uid != ::geteuid() && file.st_uid != folder.st_uid;
}

/// Adds the parts of a path to those that are yet to be walked, the first last.
static void pushParts(StringRef name, SmallVectorImpl<std::string> &rest) {
  SmallVector<StringRef> parts(path::begin(name), path::end(name));
  for (StringRef part : reverse(parts))
    rest.push_back(part.str());
}

Error meshwright::checkLinks(StringRef name) {
  SmallVector<std::string> rest;
  pushParts(name, rest);
  SmallString<128> at;
  for (unsigned links = 0; !rest.empty() && links <= kMaxLinks;) {
    std::string part = rest.pop_back_val();
    SmallString<128> next;
    if (!path::is_absolute(part))
      next = at;
    path::append(next, part);
    struct stat status;
    if (::lstat(next.c_str(), &status) != 0)
      break; // Yet to be made, or an error that the writer reports.
    bool isLink = S_ISLNK(status.st_mode);
    if ((isLink || S_ISFIFO(status.st_mode)) && isStrangers(next, status))
      return createStringError(Twine(next) + " is a " +
                               (isLink ? "link" : "pipe") +
                               " of another user in a folder where all may "
                               "make files; remove it, or "
                               "write elsewhere");
    if (!isLink) {
      at = next;
      continue;
    }
    ++links;
    char target[PATH_MAX];
    ssize_t size = ::readlink(next.c_str(), target, sizeof(target));
    if (size > 0)
      pushParts(StringRef(target, size), rest);
  }
  return Error::success();
}

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
  Error error = path == "-" ? Error::success() : checkLinks(path);
  if (!error && path == "-")
    error = finish(outs(), write(outs()));
  else if (!error)
    error = isSpecial ? writeInPlace(path, write) : writeAside(path, write);
  if (!error)
    return error;
  return createStringError(
      path + ": cannot be written: " + toString(std::move(error)));
}

void meshwright::ignoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }
