//===- NearestName.cpp - "known are ...; did you mean ...?" ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

StringRef meshwright::findNearest(StringRef unknown,
                                  ArrayRef<StringRef> known) {
  constexpr size_t kLongest = 1000;
  StringRef nearest;
  // A typing error changes a third of a name at most.
  unsigned best = unknown.size() / 3 + 2;
  for (StringRef name : known) {
    // A longer one is no typing error, and a distance takes time by both lengths.
    if (std::max(name.size(), unknown.size()) > kLongest)
      continue;
    unsigned distance = unknown.edit_distance_insensitive(name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string meshwright::listKnown(StringRef unknown,
                                  ArrayRef<StringRef> known) {
  if (known.empty())
    return "there are none";
  // More names than that hide the last sentence.
  constexpr size_t kMany = 30;
  std::string text = "known are " + llvm::join(known, ", ");
  StringRef nearest = findNearest(unknown, known);
  if (nearest.empty())
    return text;
  std::string meant = "did you mean \"" + nearest.str() + "\"?";
  return known.size() > kMany ? meant + " (" + text + ")" : text + "; " + meant;
}
