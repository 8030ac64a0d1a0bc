//===- JsonMembers.h - Objects of JSON, member by member --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_JSONMEMBERS_H
#define MESHWRIGHT_TEXT_JSONMEMBERS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace meshwright {

/// Reads the members of one object, and reports the first that is wrong. What is not
/// needed may be missing or null, and is left as it was then.
class JsonMembers {
public:
  JsonMembers(const llvm::json::Value &value, llvm::json::Path path);
  explicit operator bool() const { return object; }

  /// A number from 0 to `kMaxNumber`.
  bool read(llvm::StringRef key, double &number, bool isNeeded = true);
  /// A whole number of at least 0.
  bool read(llvm::StringRef key, int64_t &number, bool isNeeded = true);
  bool read(llvm::StringRef key, llvm::StringRef &text);
  bool read(llvm::StringRef key, std::string &text);
  bool read(llvm::StringRef key, std::vector<std::string> &texts);
  /// Calls `parse` with each element of a list and its path.
  bool
  read(llvm::StringRef key,
       llvm::function_ref<bool(const llvm::json::Value &, llvm::json::Path)>
           parse);
  const llvm::json::Array *readArray(llvm::StringRef key);

  /// Null where there is none.
  const llvm::json::Value *find(llvm::StringRef key) const;
  /// Whether it is missing or null.
  bool isNull(llvm::StringRef key) const;
  llvm::json::Path getPath(llvm::StringRef key) const;
  /// Reports that a member is wrong, and returns false.
  bool fail(llvm::StringRef key, llvm::StringLiteral message);

private:
  const llvm::json::Object *object;
  llvm::json::Path path;
};

} // namespace meshwright

#endif
