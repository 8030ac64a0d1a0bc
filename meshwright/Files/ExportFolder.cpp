//===- ExportFolder.cpp - Folders that change as one ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A folder is locked (flock) by the process that writes it aside, replaces it, or
// removes it. The lock ends with the process: a folder beside the target that
// is not locked was left by a killed process.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ExportFolder.h"
#include "meshwright/Text/WholeFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace meshwright;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

static Error fail(const Twine &message) { return createStringError(message); }

static std::string joinPath(StringRef folder, StringRef name) {
  SmallString<128> result(folder);
  path::append(result, name);
  return result.str().str();
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

namespace {
/// A folder that is held open, and locked where the file system has locks.
class LockedFolder {
public:
  enum class Mode { Wait, TakeIfFree };

  LockedFolder() = default;
  LockedFolder(const LockedFolder &) = delete;
  LockedFolder &operator=(LockedFolder &&other) {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~LockedFolder() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  /// An error if the folder is not there, is locked by another, or was given
  /// another name while this waited (ENOENT, EWOULDBLOCK).
  std::error_code lock(const std::string &name, Mode mode) {
    descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
      return lastError();
    int flags = LOCK_EX | (mode == Mode::TakeIfFree ? LOCK_NB : 0);
    int result;
    while ((result = ::flock(descriptor, flags)) != 0 && errno == EINTR) {
    }
    // Without locks two writers still do not mix: the last exchange wins.
    if (result != 0 && (mode == Mode::TakeIfFree || errno == EWOULDBLOCK))
      return lastError();
    struct stat own, there;
    if (::fstat(descriptor, &own) != 0 || ::stat(name.c_str(), &there) != 0 ||
        own.st_ino != there.st_ino || own.st_dev != there.st_dev)
      return std::make_error_code(std::errc::no_such_file_or_directory);
    return {};
  }

private:
  int descriptor = -1;
};
} // namespace

//===----------------------------------------------------------------------===//
// What lies in a folder
//===----------------------------------------------------------------------===//

namespace {
struct Entry {
  std::string path; ///< In the folder.
  bool isFolder;
};
} // namespace

/// Lists a folder and the folders in it that are to be entered, folders after
/// what is in them. Does not follow links.
static std::error_code listFolder(StringRef folder, StringRef inside,
                                  llvm::function_ref<bool(StringRef)> enters,
                                  SmallVectorImpl<Entry> &entries) {
  std::error_code error;
  fs::directory_iterator entry(joinPath(folder, inside), error,
                               /*follow_symlinks=*/false);
  for (fs::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    StringRef name = path::filename(entry->path());
    std::string own = inside.empty() ? name.str() : (inside + "/" + name).str();
    fs::file_status status;
    if (fs::status(entry->path(), status, /*follow=*/false))
      continue; // Gone meanwhile.
    bool isFolder = fs::is_directory(status);
    if (isFolder && enters(own))
      if ((error = listFolder(folder, own, enters, entries)))
        return error;
    entries.push_back({own, isFolder});
  }
  return error;
}

//===----------------------------------------------------------------------===//
// Removal
//===----------------------------------------------------------------------===//

static bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  return ::lstat(a.c_str(), &first) == 0 && ::lstat(b.c_str(), &second) == 0 &&
         first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

/// Gives a file another name, unless something has that.
static bool moveIfFree(const std::string &from, const std::string &to) {
  if (::link(from.c_str(), to.c_str()) != 0)
    return false;
  return ::unlink(from.c_str()) == 0;
}

/// Removes a folder aside: files of ours, and links to files that are also in
/// the target. A file that came into it at the last moment moves to the target.
/// What finds no place there stays.
static void removeAside(const std::string &aside, const std::string &target) {
  FolderManifest manifest = FolderManifest::read(aside);
  SmallVector<Entry> entries;
  auto enterAll = [](StringRef) { return true; };
  if (listFolder(aside, "", enterAll, entries))
    return;
  for (const Entry &entry : entries) {
    std::string name = joinPath(aside, entry.path);
    std::string there = joinPath(target, entry.path);
    if (entry.path == FolderManifest::kName)
      continue;
    if (entry.isFolder)
      ::rmdir(name.c_str());
    else if (manifest.lists(entry.path) || isSameFile(name, there))
      ::unlink(name.c_str());
    else
      moveIfFree(name, there);
  }
  // Last: until then it shows the next run what may be removed.
  std::string manifestName = joinPath(aside, FolderManifest::kName);
  if (::rmdir(aside.c_str()) == 0)
    return;
  entries.clear();
  if (!listFolder(aside, "", enterAll, entries) && entries.size() == 1 &&
      ::unlink(manifestName.c_str()) == 0)
    ::rmdir(aside.c_str());
}

static std::string asidePrefix(StringRef target) {
  return ("." + path::filename(target) + ".meshwright-").str();
}

/// Removes what killed processes left beside the target.
static void removeLeftovers(const std::string &target) {
  std::string prefix = asidePrefix(target);
  StringRef parent = path::parent_path(target);
  SmallVector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error, /*follow_symlinks=*/false),
       end;
       !error && entry != end; entry.increment(error))
    if (path::filename(entry->path()).starts_with(prefix))
      found.push_back(entry->path());
  llvm::sort(found);
  for (const std::string &aside : found) {
    LockedFolder lock;
    if (!lock.lock(aside, LockedFolder::Mode::TakeIfFree))
      removeAside(aside, target);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// That of a stream is a page, and a program has thousands.
static constexpr size_t kBufferSize = 1 << 18;

/// Returns the hash of what was written.
static Expected<std::string>
writeFile(const std::string &name,
          llvm::function_ref<Error(raw_ostream &)> write) {
  std::error_code code;
  raw_fd_ostream os(name, code);
  if (code)
    return fail("cannot be written: " + code.message());
  os.SetBufferSize(kBufferSize);
  Error error = write(os);
  os.close();
  code = os.error();
  os.clear_error();
  if (error)
    return std::move(error);
  if (code)
    return fail("cannot be written: " + code.message());
  if (std::optional<std::string> hash = hashFile(name))
    return *hash;
  return fail("cannot be read after it was written");
}

static Error writeManifest(const std::string &name,
                           const FolderManifest &manifest) {
  return writeFile(name,
                   [&](raw_ostream &os) {
                     os << manifest.print();
                     return Error::success();
                   })
      .takeError();
}

/// Makes a folder beside the target that no other process has.
static Error makeAside(StringRef target, std::string &aside,
                       LockedFolder &lock) {
  SmallString<128> model(path::parent_path(target));
  path::append(model, asidePrefix(target) + "XXXXXX");
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    std::string name = model.str().str();
    if (!::mkdtemp(name.data()))
      return fail("a folder beside it cannot be made: " +
                  lastError().message());
    LockedFolder own;
    std::error_code error = own.lock(name, LockedFolder::Mode::Wait);
    if (error == std::errc::no_such_file_or_directory)
      continue; // Taken for a leftover in the moment before it was locked.
    if (error)
      return fail("the folder cannot be locked: " + error.message());
    aside = name;
    lock = std::move(own);
    return Error::success();
  }
  return fail("the folder cannot be made: another process removes it each "
              "time; export into another folder, or end that process");
}

/// As the umask says; by default LLVM's are closed to all other users.
static std::error_code makeFolders(StringRef name) {
  return fs::create_directories(name, /*IgnoreExisting=*/true, fs::all_all);
}

namespace {
/// What came of a file.
struct Written {
  std::string hash;
  std::string problem; ///< Empty if it was written.
};
} // namespace

static Written writeIn(const std::string &aside, const FolderFile &file) {
  std::string name = joinPath(aside, file.path);
  if (std::error_code error = makeFolders(path::parent_path(name)))
    return {"", "the folder cannot be made: " + error.message()};
  Expected<std::string> hash = writeFile(name, file.write);
  if (!hash)
    return {"", file.path + " " + toString(hash.takeError())};
  return {std::move(*hash), ""};
}

static Error fillAside(const std::string &aside, ArrayRef<FolderFile> files,
                       ThreadPoolInterface &pool, StringRef target) {
  mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat old;
  mode_t mode = ::stat(target.str().c_str(), &old) == 0 ? old.st_mode & 07777
                                                        : 0777 & ~mask;
  if (::chmod(aside.c_str(), mode) != 0)
    return fail("the folder cannot be made: " + lastError().message());
  // First of all, so that a reader of the rest knows whose it is; the hashes
  // are known at the end.
  std::string manifestName = joinPath(aside, FolderManifest::kName);
  std::string wholeName = (FolderManifest::kName + ".whole").str();
  FolderManifest names, manifest;
  names.add(wholeName, "");
  for (const FolderFile &file : files)
    names.add(file.path, "");
  if (Error error = writeManifest(manifestName, names))
    return error;
  std::vector<Written> written(files.size());
  ThreadPoolTaskGroup group(pool);
  for (auto [file, result] : zip_equal(files, written))
    group.async([&aside, file = &file, result = &result] {
      *result = writeIn(aside, *file);
    });
  group.wait();
  for (auto [file, result] : zip_equal(files, written)) {
    if (!result.problem.empty())
      return fail(result.problem);
    manifest.add(file.path, std::move(result.hash));
  }
  wholeName = joinPath(aside, wholeName);
  if (Error error = writeManifest(wholeName, manifest))
    return error;
  if (::rename(wholeName.c_str(), manifestName.c_str()) != 0)
    return fail("cannot be written: " + lastError().message());
  return Error::success();
}

/// Links the files of the old folder that are not ours into the new one.
static Error carryOver(const std::string &target, const std::string &aside,
                       ArrayRef<FolderFile> files,
                       ArrayRef<StringRef> ownFolders) {
  constexpr StringLiteral kRemedy = "; move it, or name another folder";
  FolderManifest manifest = FolderManifest::read(target);
  llvm::StringSet<> written;
  for (const FolderFile &file : files)
    written.insert(file.path);
  llvm::StringSet<> folders;
  for (StringRef folder : ownFolders)
    folders.insert(folder);
  SmallVector<Entry> entries;
  if (std::error_code error = listFolder(
          target, "",
          [&](StringRef folder) { return folders.contains(folder); }, entries))
    return fail("the folder cannot be read: " + error.message());
  for (const Entry &entry : entries) {
    if (entry.path == FolderManifest::kName)
      continue;
    if (entry.isFolder && folders.contains(entry.path))
      continue;
    if (entry.isFolder)
      return fail("the folder " + entry.path +
                  " in it is not part of an export, and an export replaces "
                  "its folder as one" +
                  kRemedy);
    if (manifest.isUnchanged(target, entry.path))
      continue;
    if (manifest.lists(entry.path))
      return fail(entry.path + " was changed since meshwright wrote it" +
                  kRemedy);
    if (written.contains(entry.path) || folders.contains(entry.path))
      return fail(entry.path +
                  " is in the way, and nothing says that meshwright wrote it" +
                  kRemedy);
    std::string name = joinPath(aside, entry.path);
    if (std::error_code error = makeFolders(path::parent_path(name)))
      return fail("the folder cannot be made: " + error.message());
    if (::link(joinPath(target, entry.path).c_str(), name.c_str()) != 0 &&
        errno != ENOENT)
      return fail(entry.path + " cannot be kept: " + lastError().message() +
                  kRemedy);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

static int renameExchange(const std::string &a, const std::string &b) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
#else
  errno = ENOSYS;
  return -1;
#endif
}

/// Lets two folders change names; what was the target is then `aside`.
static std::error_code exchange(const std::string &aside,
                                const std::string &target) {
  if (renameExchange(aside, target) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS)
    return lastError();
  std::string old = aside + ".old";
  if (::rename(target.c_str(), old.c_str()) != 0)
    return lastError();
  if (::rename(aside.c_str(), target.c_str()) != 0) {
    std::error_code error = lastError();
    ::rename(old.c_str(), target.c_str());
    return error;
  }
  ::rename(old.c_str(), aside.c_str());
  return {};
}

/// Puts the new folder into its place. Whether it replaced one.
static Expected<bool> putInPlace(const std::string &aside,
                                 const std::string &target,
                                 ArrayRef<FolderFile> files,
                                 ArrayRef<StringRef> ownFolders,
                                 LockedFolder &targetLock) {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    LockedFolder lock;
    std::error_code error = lock.lock(target, LockedFolder::Mode::Wait);
    if (error == std::errc::no_such_file_or_directory) {
      // Takes the place of an empty folder, or of none.
      if (::rename(aside.c_str(), target.c_str()) == 0)
        return false;
      if (errno != EEXIST && errno != ENOTEMPTY)
        return fail("the folder cannot be made: " + lastError().message());
      continue;
    }
    if (error)
      return fail("the folder cannot be made: " + error.message());
    if (Error refused = carryOver(target, aside, files, ownFolders))
      return refused;
    if ((error = exchange(aside, target)))
      return fail("the folder cannot be replaced: " + error.message() +
                  "; choose a directory that does not exist yet");
    targetLock = std::move(lock);
    return true;
  }
  return fail("the folder cannot be replaced: other processes replace it all "
              "the time; give each export a folder of its own");
}

/// The path of a folder without links, also of one that is yet to be made.
static Expected<std::string> resolve(StringRef folder) {
  if (Error error = checkLinks(folder))
    return fail("cannot be written: " + toString(std::move(error)));
  SmallString<128> name(folder), result;
  path::remove_dots(name);
  while (name.size() > 1 && path::is_separator(name.back()))
    name.pop_back();
  if (name.empty())
    name = ".";
  fs::file_status status;
  if (!fs::status(name, status)) {
    if (!fs::is_directory(status))
      return fail("the folder cannot be made: a file has its name; "
                  "choose another name, or remove the file");
    if (std::error_code error = fs::real_path(name, result))
      return fail("the folder cannot be made: " + error.message());
    return result.str().str();
  }
  if (!fs::status(name, status, /*follow=*/false))
    return fail("the folder cannot be made: a link to nothing has its name; "
                "choose another name, or remove the link");
  SmallString<128> parent(path::parent_path(name));
  if (parent.empty())
    parent = ".";
  if (std::error_code error = makeFolders(parent))
    return fail("the folder cannot be made: " + error.message());
  if (std::error_code error = fs::real_path(parent, result))
    return fail("the folder cannot be made: " + error.message());
  path::append(result, path::filename(name));
  return result.str().str();
}

/// A process would stay in the old folder, and find itself nowhere.
static bool isWorkedIn(StringRef target) {
  SmallString<128> here, real;
  if (fs::current_path(here) || fs::real_path(here, real))
    return false;
  StringRef rest = real;
  return rest.consume_front(target) && (rest.empty() || rest.starts_with("/"));
}

static Error replaceFolder(const std::string &target,
                           ArrayRef<FolderFile> files,
                           ThreadPoolInterface &pool,
                           ArrayRef<StringRef> ownFolders) {
  if (isWorkedIn(target))
    return fail("the folder is replaced as one, and cannot be while it is the "
                "current one; name a folder in it, or run from elsewhere");
  // While there is no target, a leftover may be all that is left of it.
  bool isThere = fs::exists(target);
  if (isThere)
    removeLeftovers(target);
  std::string aside;
  LockedFolder asideLock, targetLock;
  if (Error error = makeAside(target, aside, asideLock))
    return error;
  Error error = fillAside(aside, files, pool, target);
  if (!error) {
    Expected<bool> replaced =
        putInPlace(aside, target, files, ownFolders, targetLock);
    if (replaced) {
      if (*replaced)
        removeAside(aside, target);
      if (!isThere)
        removeLeftovers(target);
      return Error::success();
    }
    error = replaced.takeError();
  }
  removeAside(aside, target);
  return error;
}

Error meshwright::writeFolder(StringRef folder, ArrayRef<FolderFile> files,
                              ThreadPoolInterface &pool,
                              ArrayRef<StringRef> ownFolders) {
  Expected<std::string> target = resolve(folder);
  Error error = target ? replaceFolder(*target, files, pool, ownFolders)
                       : target.takeError();
  if (!error)
    return error;
  return fail(folder + ": " + toString(std::move(error)));
}
