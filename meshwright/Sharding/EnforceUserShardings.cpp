//===- EnforceUserShardings.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation may shard a value inside the program differently from what the
// signature says, and may leave parts of axes in the signature, which callers
// cannot split by. The signature wins:
//
//   func @f(%a {[{"r", "c":(1)2}, {}]})
//     fragment<in_shardings=[[{}, {"c"}]]> (%a)
//   // becomes
//   func @f(%a {[{"r"}, {}]})
//     fragment<in_shardings=[[{"r"}, {}]]> (%a)
//
// Only fragments at either end, and transfers that are returned, change; what
// that breaks in between becomes a reshard.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Sharding/OperandMarks.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <atomic>

#define GEN_PASS_DEF_ENFORCEUSERSHARDINGSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

/// Keeps the axes of each dimension that are before its first sub-axis.
static TensorShardingAttr truncateSubAxes(TensorShardingAttr sharding) {
  return sharding.replaceDimShardings(llvm::map_to_vector(
      sharding.getDimShardings(), [](DimensionShardingAttr dim) {
        ArrayRef<AxisRefAttr> kept = dim.getAxes().take_while(
            [](AxisRefAttr axis) { return axis.isFullAxis(); });
        if (kept.size() == dim.getAxes().size())
          return dim;
        return DimensionShardingAttr::get(dim.getContext(), kept,
                                          /*isClosed=*/true);
      }));
}

/// Warns that a sharding had to be truncated, once per process and kind.
static void warnOnce(std::atomic<bool> &hasWarned, Location loc, StringRef kind,
                     unsigned index, TensorShardingAttr sharding,
                     TensorShardingAttr truncated) {
  if (!hasWarned.exchange(true))
    emitWarning(loc) << "Sub-axes sharding found for " << kind << ' ' << index
                     << ": " << sharding << " will be truncated to "
                     << truncated
                     << "; split inputs and outputs by whole axes to avoid a "
                        "reshard";
}

/// Lets every fragment read a value with the given sharding. Returns how many
/// did not.
static unsigned setShardingOfReaders(Value value, TensorShardingAttr sharding) {
  unsigned numSet = 0;
  for (OpOperand &use : value.getUses()) {
    auto fragment = dyn_cast<FragmentOp>(use.getOwner());
    if (!fragment ||
        fragment.getInputSharding(use.getOperandNumber()) == sharding)
      continue;
    fragment.setInputSharding(use.getOperandNumber(), sharding);
    ++numSet;
  }
  return numSet;
}

/// Makes the shardings of operands that arguments do not give count as unknown:
/// their types stay as other users of the values have them.
static void addUnknownShardings(BlockArgument arg) {
  for (Operation *user : arg.getUsers())
    if (auto fragment = dyn_cast<FragmentOp>(user))
      if (!fragment.getInShardingsAttr())
        fragment.setInShardingsAttr(sdy::TensorShardingPerValueAttr::get(
            arg.getContext(),
            SmallVector<TensorShardingAttr>(fragment->getNumOperands())));
}

/// Gives what is unknown open shardings, which can be printed and propagated,
/// and a mark for the pass that moves shardings into types.
static void openUnknownShardings(FragmentOp fragment) {
  auto shardings = fragment.getBlockArgumentEdgeOwnerShardings();
  SmallVector<int64_t> unknown;
  for (auto [index, sharding] : llvm::enumerate(shardings))
    if (!sharding)
      unknown.push_back(index);
  if (unknown.empty())
    return;
  fragment->setAttr(kOperandsWithoutShardingAttr,
                    DenseI64ArrayAttr::get(fragment.getContext(), unknown));
  fragment.setBlockArgumentEdgeOwnerShardings(shardings);
}

namespace {
struct EnforceUserShardingsPass
    : mpmd::impl::EnforceUserShardingsPassBase<EnforceUserShardingsPass> {
  void runOnFunction(func::FuncOp func) override {
    enforceArguments(func);
    if (auto returnOp = dyn_cast<func::ReturnOp>(func.front().getTerminator()))
      enforceResults(func, returnOp);
    for (auto fragment : func.getOps<FragmentOp>())
      openUnknownShardings(fragment);
  }

private:
  void enforceArguments(func::FuncOp func);
  void enforceResults(func::FuncOp func, func::ReturnOp returnOp);
};
} // namespace

// COMPAT(warn-once): Once per process for arguments, and once for results.
void EnforceUserShardingsPass::enforceArguments(func::FuncOp func) {
  static std::atomic<bool> hasWarned = false;
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    TensorShardingAttr sharding = sdy::getArgSharding(func, index);
    if (!sharding)
      continue;
    TensorShardingAttr truncated = truncateSubAxes(sharding);
    if (truncated != sharding) {
      sdy::setArgSharding(func, index, truncated);
      warnOnce(hasWarned, arg.getLoc(), "arg", index, sharding, truncated);
      ++numTruncated;
    }
    addUnknownShardings(arg);
    numEnforced += setShardingOfReaders(arg, truncated);
  }
}

void EnforceUserShardingsPass::enforceResults(func::FuncOp func,
                                              func::ReturnOp returnOp) {
  static std::atomic<bool> hasWarned = false;
  for (auto [index, value] : llvm::enumerate(returnOp.getOperands())) {
    TensorShardingAttr sharding = sdy::getResultSharding(func, index);
    if (!sharding)
      continue;
    TensorShardingAttr truncated = truncateSubAxes(sharding);
    if (truncated != sharding) {
      sdy::setSharding(value, truncated);
      warnOnce(hasWarned, returnOp.getLoc(), "result", index, sharding,
               truncated);
      ++numTruncated;
    }
    if (!isa_and_present<FragmentOp, TransferOp>(value.getDefiningOp()))
      continue;
    numEnforced += sdy::getSharding(value) != truncated;
    sdy::setSharding(value, truncated);
    numEnforced += setShardingOfReaders(value, truncated);
  }
}
