//===- FolderManifest.cpp - Which files of a folder are ours --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <memory>

using namespace llvm;
using namespace meshwright;

static std::string hash(StringRef contents) {
  return utohexstr(xxh3_64bits(contents), /*LowerCase=*/true, /*Width=*/16);
}

/// None if it is no regular file: a pipe has no end, and a link may lead to one.
static std::optional<uint64_t> getRegularSize(StringRef path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status, /*follow=*/false) ||
      !sys::fs::is_regular_file(status))
    return std::nullopt;
  return status.getSize();
}

std::optional<std::string> meshwright::hashFile(StringRef path) {
  std::optional<uint64_t> size = getRegularSize(path);
  if (!size)
    return std::nullopt;
  std::string hashes;
  uint64_t offset = 0;
  do {
    uint64_t length = std::min(kHashedBlock, *size - offset);
    // Not mapped: another program may truncate the file meanwhile.
    ErrorOr<std::unique_ptr<MemoryBuffer>> block =
        MemoryBuffer::getFileSlice(path, length, offset, /*IsVolatile=*/true);
    if (!block)
      return std::nullopt;
    hashes += hash((*block)->getBuffer());
    offset += length;
  } while (offset < *size);
  return *size > kHashedBlock ? hash(hashes) : hashes;
}

static std::string getPath(StringRef folder, StringRef path) {
  SmallString<128> name(folder);
  sys::path::append(name, path);
  return std::string(name);
}

FolderManifest FolderManifest::read(StringRef folder) {
  FolderManifest manifest;
  std::string name = getPath(folder, kName);
  if (!getRegularSize(name))
    return manifest;
  ErrorOr<std::unique_ptr<MemoryBuffer>> text =
      MemoryBuffer::getFile(name, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false,
                            /*IsVolatile=*/true);
  if (!text)
    return manifest;
  Expected<json::Value> value = parsePlainJson((*text)->getBuffer());
  if (!value) {
    consumeError(value.takeError());
    return manifest;
  }
  const json::Object *root = value->getAsObject();
  const json::Object *files = root ? root->getObject("files") : nullptr;
  if (!files || root->getInteger("version") != 1)
    return manifest;
  for (const auto &[path, entry] : *files)
    if (std::optional<StringRef> text = entry.getAsString())
      manifest.hashes[StringRef(path)] = text->str();
  return manifest;
}

std::string FolderManifest::print() const {
  auto paths = llvm::to_vector(hashes.keys());
  llvm::sort(paths);
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeObject("files", [&] {
      for (StringRef path : paths)
        json.attribute(path, hashes.lookup(path));
    });
  });
  os << "\n";
  return text;
}

bool FolderManifest::isUnchanged(StringRef folder, StringRef path) const {
  auto entry = hashes.find(path);
  if (entry == hashes.end())
    return false;
  return hashFile(getPath(folder, path)) == entry->second;
}
