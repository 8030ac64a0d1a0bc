//===- BytecodeOperations.cpp - Counts of operations in bytecode ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An operation is its name, a byte that says what it has, its location, and what
// it has: each list is a count and as many numbers. Regions come last, blocks are
// a count of operations, arguments, and these operations. So the walk is one pass
// over the numbers, with a stack of the operations that it is in.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BytecodeOperations.h"
#include "meshwright/Files/BytecodeCursor.h"
#include "mlir/Bytecode/Encoding.h"
#include "llvm/Support/FormatVariadic.h"
#include <vector>

using namespace llvm;
using namespace meshwright;
namespace bytecode = mlir::bytecode;

namespace {
class Walk {
public:
  Walk(StringRef section, uint64_t version)
      : cursor(section), version(version) {}

  std::optional<std::string> run();

private:
  /// An operation with regions, and where in them the walk is.
  struct Level {
    uint64_t numRegions = 0; ///< All counts are of what is still to come,
    uint64_t numBlocks = 0;
    uint64_t numOps = 0;
    uint64_t numReserved = 0; ///< but for values of the region it is in.
    uint64_t numDefined = 0;
  };

  /// A count whose low bit says something else.
  std::pair<uint64_t, bool> takeFlagged() {
    uint64_t number = cursor.takeNumber();
    return {number >> 1, number & 1};
  }

  void enterRegion(Level &level);
  void enterBlock(Level &level);
  void enterOp();
  void skipUseListOrders(uint64_t numValues);

  BytecodeCursor cursor;
  uint64_t version;
  std::vector<Level> levels;
};
} // namespace

void Walk::enterRegion(Level &level) {
  level.numBlocks = cursor.takeNumber();
  level.numReserved = level.numBlocks == 0 ? 0 : cursor.takeNumber();
  level.numDefined = 0;
}

/// How the uses of some values are ordered, where that is not the usual order.
void Walk::skipUseListOrders(uint64_t numValues) {
  uint64_t numOrders = numValues > 1 ? cursor.takeNumber() : 1;
  while (numOrders-- > 0 && !cursor.isBad()) {
    if (numValues > 1)
      (void)cursor.takeNumber();
    auto [numNumbers, isPairs] = takeFlagged();
    cursor.skipNumbers(numNumbers);
  }
}

void Walk::enterBlock(Level &level) {
  auto [numOps, hasArguments] = takeFlagged();
  level.numOps = numOps;
  if (!hasArguments)
    return;
  uint64_t numArguments = cursor.takeNumber();
  level.numDefined += numArguments;
  for (uint64_t i = 0; i < numArguments && !cursor.isBad(); ++i) {
    bool hasLocation = true;
    if (version >= bytecode::kElideUnknownBlockArgLocation)
      hasLocation = takeFlagged().second;
    else
      (void)cursor.takeNumber();
    cursor.skipNumbers(hasLocation);
  }
  if (version >= bytecode::kUseListOrdering &&
      (cursor.takeByte() & bytecode::OpEncodingMask::kHasUseListOrders))
    skipUseListOrders(numArguments);
}

void Walk::enterOp() {
  namespace Mask = bytecode::OpEncodingMask;
  (void)cursor.takeNumber(); // Its name.
  uint8_t mask = cursor.takeByte();
  (void)cursor.takeNumber(); // Its location.
  cursor.skipNumbers(bool(mask & Mask::kHasAttrs));
  cursor.skipNumbers(bool(mask & Mask::kHasProperties));
  uint64_t numResults = 0;
  if (mask & Mask::kHasResults) {
    numResults = cursor.takeNumber();
    cursor.skipNumbers(numResults);
  }
  levels.back().numDefined += numResults;
  if (mask & Mask::kHasOperands)
    cursor.skipNumbers(cursor.takeNumber());
  if (mask & Mask::kHasSuccessors)
    cursor.skipNumbers(cursor.takeNumber());
  if (mask & Mask::kHasUseListOrders)
    skipUseListOrders(numResults);
  if (!(mask & Mask::kHasInlineRegions))
    return;
  auto [numRegions, isIsolated] = takeFlagged();
  // What reads nothing from outside is a section, with all its regions.
  if (isIsolated && version >= bytecode::kLazyLoading)
    (void)cursor.takeSectionStart();
  levels.push_back({numRegions});
}

std::optional<std::string> Walk::run() {
  enterBlock(levels.emplace_back());
  while (!cursor.isBad()) {
    Level &level = levels.back();
    // Each of them takes a byte, at least.
    if (std::max({level.numOps, level.numBlocks, level.numRegions}) >
        cursor.getNumLeft())
      break;
    if (level.numOps > 0) {
      --level.numOps;
      enterOp();
    } else if (level.numBlocks > 0) {
      --level.numBlocks;
      enterBlock(level);
    } else if (level.numReserved > level.numDefined) {
      return formatv("a region declares {0} values, and has {1}",
                     level.numReserved, level.numDefined)
          .str();
    } else if (level.numRegions > 0) {
      --level.numRegions;
      enterRegion(level);
    } else {
      levels.pop_back();
      if (levels.empty())
        return std::nullopt;
    }
  }
  return "an operation declares more parts than there are";
}

std::optional<std::string> meshwright::findDamagedOperations(StringRef section,
                                                             uint64_t version) {
  return Walk(section, version).run();
}
