//===- FolderManifest.cpp - Which files of a folder are ours --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <vector>

using namespace llvm;
using namespace meshwright;

static std::string hash(StringRef contents) {
  return utohexstr(xxh3_64bits(contents), /*LowerCase=*/true, /*Width=*/16);
}

void ContentHash::endBlock() {
  hashes += hash(block);
  block.clear();
}

void ContentHash::add(StringRef piece) {
  while (!piece.empty()) {
    if (block.size() == kBlock)
      endBlock();
    StringRef fitting = piece.take_front(kBlock - block.size());
    block += fitting;
    piece = piece.drop_front(fitting.size());
  }
}

std::string ContentHash::finish() {
  if (hashes.empty())
    return hash(block);
  endBlock();
  return hash(hashes);
}

/// Whether a file could be read to its end.
static bool readFile(StringRef folder, StringRef path,
                     function_ref<void(StringRef)> take) {
  SmallString<128> name(folder);
  sys::path::append(name, path);
  sys::fs::file_status status;
  // A pipe has no end, and a link may lead to one.
  if (sys::fs::status(name, status, /*follow=*/false) ||
      !sys::fs::is_regular_file(status))
    return false;
  Expected<sys::fs::file_t> file = sys::fs::openNativeFileForRead(name);
  if (!file) {
    consumeError(file.takeError());
    return false;
  }
  scope_exit close([&] { (void)sys::fs::closeFile(*file); });
  std::vector<char> piece(1 << 20);
  while (true) {
    Expected<size_t> size = sys::fs::readNativeFile(*file, piece);
    if (!size) {
      consumeError(size.takeError());
      return false;
    }
    if (*size == 0)
      return true;
    take(StringRef(piece.data(), *size));
  }
}

FolderManifest FolderManifest::read(StringRef folder) {
  FolderManifest manifest;
  std::string text;
  if (!readFile(folder, kName, [&](StringRef piece) { text += piece; }))
    return manifest;
  Expected<json::Value> value = parsePlainJson(text);
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
  ContentHash found;
  return readFile(folder, path, [&](StringRef piece) { found.add(piece); }) &&
         found.finish() == entry->second;
}
