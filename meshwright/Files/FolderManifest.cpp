//===- FolderManifest.cpp - Which files of a folder are ours --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/FolderManifest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace meshwright;

static std::string hash(StringRef contents) {
  return utohexstr(xxh3_64bits(contents), /*LowerCase=*/true, /*Width=*/16);
}

FolderManifest::FolderManifest(ArrayRef<FolderFile> files) {
  for (const FolderFile &file : files)
    hashes[file.path] = hash(file.contents);
}

static std::unique_ptr<MemoryBuffer> readFile(StringRef folder,
                                              StringRef path) {
  SmallString<128> name(folder);
  sys::path::append(name, path);
  sys::fs::file_status status;
  // A pipe has no end, and a link may lead to one.
  if (sys::fs::status(name, status, /*follow=*/false) ||
      !sys::fs::is_regular_file(status))
    return nullptr;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(name, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false,
                            /*IsVolatile=*/true);
  return buffer ? std::move(*buffer) : nullptr;
}

FolderManifest FolderManifest::read(StringRef folder) {
  FolderManifest manifest;
  std::unique_ptr<MemoryBuffer> buffer = readFile(folder, kName);
  if (!buffer)
    return manifest;
  Expected<json::Value> value = json::parse(buffer->getBuffer());
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
  std::unique_ptr<MemoryBuffer> buffer = readFile(folder, path);
  return buffer && hash(buffer->getBuffer()) == entry->second;
}
