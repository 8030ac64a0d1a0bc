//===- PlainJson.h - JSON of bounded depth ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_PLAINJSON_H
#define MESHWRIGHT_TEXT_PLAINJSON_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// Where brackets are nested deeper than a parser should follow, or null. Parsers
/// descend into them by recursion, so that those of a malicious file would use up
/// the stack.
const char *findTooDeepJson(llvm::StringRef text);

/// As llvm::json::parse, which has no such bound. For what comes from files.
llvm::Expected<llvm::json::Value> parsePlainJson(llvm::StringRef text);

/// Reports what is wrong at a place, and returns false.
inline bool failAt(llvm::json::Path path, llvm::StringLiteral message) {
  path.report(message);
  return false;
}

/// Reports the first key that is not among the known ones.
bool checkKeys(const llvm::json::Object &object,
               llvm::ArrayRef<llvm::StringLiteral> known,
               llvm::json::Path path);

/// What `read` makes of a text. Errors say where in it, as `name.key[index]`.
template <typename T>
llvm::Expected<T> readPlainJson(llvm::StringRef text, llvm::StringRef name,
                                bool (*read)(const llvm::json::Value &, T &,
                                             llvm::json::Path)) {
  llvm::Expected<llvm::json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  T result;
  llvm::json::Path::Root root(name);
  if (!read(*value, result, root))
    return root.getError();
  return result;
}

/// What `parse` makes of the text of a file. Errors begin with its path.
template <typename T>
llvm::Expected<T> parseFile(llvm::StringRef path,
                            llvm::Expected<T> (*parse)(llvm::StringRef)) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  llvm::Expected<T> found = parse((*buffer)->getBuffer());
  if (!found)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(found.takeError()));
  return found;
}

} // namespace meshwright

#endif
