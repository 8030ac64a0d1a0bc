//===- FragmentNames.cpp - Names of lowered fragments ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Lowering/FragmentNames.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Overlap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <optional>
#include <set>

using namespace mlir;
using namespace mlir::mpmd;

/// Longer names keep this many characters and end in the mark.
static constexpr size_t kMaxLength = 200, kCutLength = 195;
static constexpr StringLiteral kCutMark = "<...>";

static auto getOrigins(FragmentOp fragment) {
  return fragment.getOrigin().getAsRange<UserOriginAttr>();
}

namespace {
/// A fragment, or a part of an overlapped pair.
struct Site {
  ArrayAttr origin;
  IntegerAttr stage;

  auto getOrigins() const { return origin.getAsRange<UserOriginAttr>(); }
};
} // namespace

bool mpmd::isAllForward(ArrayRef<FragmentOp> fragments) {
  return llvm::all_of(fragments, [](FragmentOp fragment) {
    return llvm::all_of(getOrigins(fragment), [](UserOriginAttr origin) {
      return origin.getTransposeCount() == 0;
    });
  });
}

//===----------------------------------------------------------------------===//
// One fragment
//===----------------------------------------------------------------------===//

namespace {
/// Origins whose names differ only in the number after the last underscore.
struct Family {
  unsigned numOrigins = 0;
  std::set<int64_t> counters;
};
} // namespace

static std::pair<StringRef, std::optional<int64_t>>
splitCounter(StringRef name) {
  size_t underscore = name.rfind('_');
  int64_t counter;
  if (underscore == StringRef::npos ||
      name.substr(underscore + 1).getAsInteger(10, counter))
    return {name, std::nullopt};
  return {name.take_front(underscore), counter};
}

/// The name that most origins share, with the range of their counters. The
/// range runs downwards in a backward fragment.
static std::string getPopularName(const Site &site) {
  std::map<StringRef, Family> families;
  for (UserOriginAttr origin : site.getOrigins()) {
    auto [head, counter] = splitCounter(origin.getUserName().getValue());
    Family &family = families[head];
    ++family.numOrigins;
    if (counter)
      family.counters.insert(*counter);
  }
  // Of several, the first in alphabetical order.
  auto &[head, family] =
      *llvm::max_element(families, [](const auto &a, const auto &b) {
        return a.second.numOrigins < b.second.numOrigins;
      });
  std::string name = head.str();
  if (!family.counters.empty()) {
    int64_t first = *family.counters.begin(), last = *family.counters.rbegin();
    if (llvm::all_of(site.getOrigins(), [](UserOriginAttr origin) {
          return origin.getTransposeCount() == 1;
        }))
      std::swap(first, last);
    name += first == last ? llvm::formatv("_{0}", first).str()
                          : llvm::formatv("_{0}:{1}", first, last).str();
  }
  return families.size() > 1 ? name + "..." : name;
}

static std::string getPhaseName(int64_t transposeCount) {
  switch (transposeCount) {
  case 0:
    return "fwd";
  case 1:
    return "bwd";
  default:
    return llvm::formatv("transpose{0}", transposeCount);
  }
}

static std::string getSiteName(const Site &site, bool allForward) {
  std::string name;
  if (site.stage)
    name = llvm::formatv("stage{0}", site.stage.getValue().getSExtValue());
  else
    name = site.origin.empty() ? "inferred" : getPopularName(site);
  if (allForward)
    return name;
  std::set<int64_t> transposeCounts;
  for (UserOriginAttr origin : site.getOrigins())
    transposeCounts.insert(origin.getTransposeCount());
  for (int64_t count : transposeCounts)
    name += "_" + getPhaseName(count);
  return name;
}

static std::string getSiteName(FragmentOp fragment, bool allForward) {
  FailureOr<SmallVector<OverlappedPart>> parts = getOverlappedParts(fragment);
  if (failed(parts) || parts->empty())
    return getSiteName({fragment.getOriginAttr(), fragment.getStageIdAttr()},
                       allForward);
  std::string name;
  for (const OverlappedPart &part : *parts)
    name += (name.empty() ? "" : "_with_") +
            getSiteName({part.origin, part.stage}, allForward);
  return name;
}

//===----------------------------------------------------------------------===//
// A group of fragments
//===----------------------------------------------------------------------===//

/// The counters of all fragments, or none if one of them has none.
static SmallVector<int64_t> getCallCounters(ArrayRef<FragmentOp> group) {
  SmallVector<int64_t> counters;
  for (FragmentOp fragment : group) {
    std::optional<uint32_t> counter = getCallCounter(fragment);
    if (!counter)
      return {};
    counters.push_back(*counter);
  }
  return counters;
}

static bool changesBy(ArrayRef<int64_t> counters, int64_t step) {
  for (size_t i = 1; i < counters.size(); ++i)
    if (counters[i] - counters[i - 1] != step)
      return false;
  return true;
}

/// Which calls the group represents, if they are consecutive.
static std::string getCallsSuffix(ArrayRef<FragmentOp> group, bool allForward,
                                  StringRef siteName) {
  SmallVector<int64_t> counters = getCallCounters(group);
  if (counters.empty())
    return "";
  if (counters.size() == 1)
    return llvm::formatv("_call{0}", counters.front());
  bool rises = changesBy(counters, 1), falls = changesBy(counters, -1);
  bool sameSite = llvm::all_of(group, [&](FragmentOp fragment) {
    return getSiteName(fragment, allForward) == siteName;
  });
  if (!sameSite || (!rises && !falls))
    return "";
  return llvm::formatv(rises ? "_calls{0}to{1}" : "_calls{0}from{1}",
                       counters.front(), counters.back());
}

std::string mpmd::getFunctionName(unsigned groupNumber,
                                  ArrayRef<FragmentOp> group, bool allForward,
                                  StringRef moduleName) {
  std::string siteName = getSiteName(group.front(), allForward);
  std::string name = llvm::formatv("p{0}_{1}{2}", groupNumber, siteName,
                                   getCallsSuffix(group, allForward, siteName));
  if (name.size() > kMaxLength)
    name = name.substr(0, kCutLength) + kCutMark.str();
  moduleName.consume_front("jit_");
  return name + "." + moduleName.str();
}
