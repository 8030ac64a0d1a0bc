//===- SourcePlace.cpp - Where in a user's file something is --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/SourcePlace.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace meshwright;

std::string SourcePlace::getText() const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/// Whether a file belongs to an installed Python package, and not to the user.
static bool isInstalled(StringRef file) {
  return file.contains("/site-packages/") || file.contains("/dist-packages/");
}

std::optional<SourcePlace> meshwright::findSourcePlace(Location location) {
  std::optional<SourcePlace> result;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    bool isOfUser = !isInstalled(file.getFilename());
    if (isOfUser || !result)
      result = {file.getFilename().str(), file.getLine(), file.getColumn()};
    return isOfUser ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result;
}
