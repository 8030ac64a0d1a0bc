//===- MarkedPairs.cpp - The pairs that a scheduler has marked ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/MarkedPairs.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Overlap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static LogicalResult verifyPair(const MarkedPair &pair) {
  auto report = [&](FragmentOp fragment, FragmentOp other, const Twine &what) {
    InFlightDiagnostic diag = fragment.emitError()
                              << "overlapped pair " << pair.number << " "
                              << what;
    if (other)
      diag.attachNote(other.getLoc()) << "the other fragment is here";
    return diag;
  };
  if (pair.first.size() > 1)
    return report(pair.first[1], pair.first[0],
                  "has two first parts; expected one forward");
  if (pair.second.size() > 2)
    return report(pair.second[2], pair.second[0],
                  "has three second parts; expected one backward, or the two "
                  "halves of one");
  SmallVector<FragmentOp, 3> members = pair.getMembers();
  for (FragmentOp member : ArrayRef(members).drop_front())
    if (member.getMeshNameAttr() != members.front().getMeshNameAttr())
      return report(member, members.front(),
                    "is on meshes \"" + members.front().getMeshName() +
                        "\" and \"" + member.getMeshName() +
                        "\"; expected fragments of one mesh");
  if (pair.second.empty())
    return success();
  FragmentOp half = pair.second.front(), other = pair.second.back();
  if (getCallCounter(half) != getCallCounter(other) ||
      half.getStageIdAttr() != other.getStageIdAttr())
    return report(other, half,
                  "has two second parts that are no halves of one backward; "
                  "expected the same stage and call counter");
  return success();
}

FailureOr<std::vector<MarkedPair>> mpmd::takePairs(Block &block) {
  llvm::MapVector<int64_t, MarkedPair> pairs;
  for (FragmentOp fragment : block.getOps<FragmentOp>()) {
    Attribute attr = fragment->removeAttr(kOverlapAttr);
    if (!attr)
      continue;
    auto mark = dyn_cast<DenseI64ArrayAttr>(attr);
    if (!mark || mark.size() != 2 || mark[1] < 0 || mark[1] > 1)
      return fragment.emitError()
             << kOverlapAttr << " is " << attr
             << "; expected array<i64> of the number of a pair, and 0 or 1";
    MarkedPair &pair = pairs[mark[0]];
    pair.number = mark[0];
    if (mark[1] == 0)
      pair.first.push_back(fragment);
    else
      pair.second.push_back(fragment);
  }
  std::vector<MarkedPair> result;
  for (auto &[number, pair] : pairs) {
    if (failed(verifyPair(pair)))
      return failure();
    // Of others, a part is in no unit of its own any more.
    if (!pair.first.empty() && !pair.second.empty())
      result.push_back(std::move(pair));
  }
  return result;
}
