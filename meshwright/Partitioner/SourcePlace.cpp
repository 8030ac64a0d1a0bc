//===- SourcePlace.cpp - Where in a user's file something is --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/SourcePlace.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace meshwright;

std::string SourcePlace::getText() const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::optional<SourcePlace> meshwright::findSourcePlace(Location location) {
  std::optional<SourcePlace> result;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    result = {file.getFilename().str(), file.getLine(), file.getColumn()};
    return WalkResult::interrupt();
  });
  return result;
}
