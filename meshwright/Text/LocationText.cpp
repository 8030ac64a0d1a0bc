//===- LocationText.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/LocationText.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// One frame of a stack trace, on lines of its own.
static void printFrame(Location frame, llvm::raw_ostream &os) {
  auto name = dyn_cast<NameLoc>(frame);
  Location place = name ? name.getChildLoc() : frame;
  os << '\n';
  if (auto range = dyn_cast<FileLineColRange>(place))
    os << range.getFilename().getValue() << ':' << range.getStartLine() << ':'
       << range.getStartColumn() << " to " << range.getEndColumn();
  else
    place->print(os);
  if (name)
    os << "\n^ \"" << name.getName().getValue() << '"';
}

std::string mpmd::getLocationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  CallSiteLoc site;
  loc->walk([&](Location part) {
    site = dyn_cast<CallSiteLoc>(part);
    return site ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (site) {
    // COMPAT(outermost-caller): It is no call site itself, and left out.
    for (; site; site = dyn_cast<CallSiteLoc>(site.getCaller()))
      printFrame(site.getCallee(), os);
    return text;
  }
  auto name = dyn_cast<NameLoc>(loc);
  if (name && isa<UnknownLoc>(name.getChildLoc()))
    os << '"' << name.getName().getValue() << '"';
  else
    loc->print(os);
  return text;
}
