//===- FragmentInfo.h - The description rules go by -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_FRAGMENTINFO_H
#define MESHWRIGHT_FRAGMENTS_FRAGMENTINFO_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::mpmd {

struct FragmentOrigin {
  std::string name;
  int64_t transposeCount = 0;

  bool operator==(const FragmentOrigin &other) const;
  bool operator!=(const FragmentOrigin &other) const {
    return !(*this == other);
  }
  bool operator<(const FragmentOrigin &other) const;
};

enum class SplitFragmentType { kKeepTransferred, kDropTransferred };

/// What a rule names a fragment by. All fields take part in comparison; an
/// absent one equals an absent one only.
struct FragmentInfo {
  std::vector<FragmentOrigin> origins;
  std::optional<int64_t> stageId;
  std::optional<int64_t> callCounter;
  std::optional<SplitFragmentType> splitType;
  std::string meshName;

  bool operator==(const FragmentInfo &other) const;
  bool operator!=(const FragmentInfo &other) const { return !(*this == other); }
  /// Some total order, for ordered containers.
  bool operator<(const FragmentInfo &other) const;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const FragmentOrigin &origin);
/// Prints in the syntax of the rules.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const FragmentInfo &info);

/// The description of a fragment, its origins sorted.
FragmentInfo getFragmentInfo(FragmentOp fragment);

/// Makes the fragment fit the description: sets or removes origin, stage, call
/// counter, split marks, and sets the mesh name.
void setFragmentInfo(FragmentOp fragment, const FragmentInfo &info);

} // namespace mlir::mpmd

#endif
