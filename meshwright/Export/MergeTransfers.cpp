//===- MergeTransfers.cpp - Many scalars in one message -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sending a scalar costs about as much as sending a block of memory. Scalars
// that go from one fragment to another are concatenated by the sender and taken
// apart by the receiver:
//
//   %p:2 = A                              %p:3 = A, concat(a0, a1)
//   %t0 = transfer %p#0      becomes      %t = transfer {concat_transfer} %p#2
//   %t1 = transfer %p#1                   %c = C(…, %t) { slice %t … }
//   %c = C(%t0, %t1)
//
// Per producer: first group its results by type and consumer, then rebuild it
// once with one more result per group, then extend the consumers. What becomes
// dead on the way is left to fragment deduplication and dead code elimination.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_MERGETRANSFERSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr StringLiteral kConcatTransferAttr = "concat_transfer";

/// Larger tensors are worth a message of their own.
static constexpr int64_t kMaxNumElements = 1;

/// An argument of a consumer and the position of its value in a concatenation.
using FedArgument = std::pair<BlockArgument, int64_t>;

namespace {
/// Results of one producer that one consumer gets through transfers, in the
/// order of the concatenation, and the arguments of the consumer they feed.
struct TransferGroup {
  RankedTensorType elementType;
  Operation *consumer;
  SmallVector<unsigned> results;
  SmallVector<FedArgument> arguments;
};
} // namespace

static bool isMergeable(Type resultType) {
  auto type = dyn_cast<MeshTensorType>(resultType);
  if (!type || type.isOnHost() || !type.isFullyReplicated())
    return false;
  RankedTensorType tensor = type.getRankedTensorType();
  std::optional<int64_t> count = stablehlo::countElements(tensor);
  // Nothing else can be concatenated, and taken apart again.
  return count && *count <= kMaxNumElements &&
         stablehlo::isTensorOf(tensor, stablehlo::kPlain);
}

/// The transfers of `value` that were there before this pass.
///
/// COMPAT(use-order): In use order, which is that of the slots of a merged one.
static SmallVector<TransferOp> getOriginalTransfers(Value value) {
  SmallVector<TransferOp> transfers;
  for (Operation *user : value.getUsers())
    if (auto transfer = dyn_cast<TransferOp>(user))
      if (!transfer->hasAttr(kConcatTransferAttr))
        transfers.push_back(transfer);
  return transfers;
}

/// The arguments of the consumer that transfers of the group's results feed,
/// each with its position in the concatenation, by increasing position.
static SmallVector<FedArgument> findArguments(FragmentOp producer,
                                              const TransferGroup &group) {
  // A result that reaches the consumer over two transfers has two positions, of
  // which the last counts.
  llvm::DenseMap<unsigned, int64_t> lastPosition;
  for (auto [position, result] : llvm::enumerate(group.results))
    lastPosition[result] = position;

  Region &body = group.consumer->getRegion(0);
  SmallVector<FedArgument> arguments;
  for (auto [position, result] : llvm::enumerate(group.results)) {
    if (lastPosition.at(result) != static_cast<int64_t>(position))
      continue;
    for (TransferOp transfer :
         getOriginalTransfers(producer->getResult(result)))
      for (OpOperand &use : transfer->getUses())
        if (use.getOwner() == group.consumer)
          arguments.push_back(
              {body.getArgument(use.getOperandNumber()), position});
  }
  return arguments;
}

static SmallVector<TransferGroup> groupResults(FragmentOp producer) {
  llvm::MapVector<std::pair<RankedTensorType, Operation *>,
                  SmallVector<unsigned>>
      groups;
  for (OpResult result : producer->getResults()) {
    if (!isMergeable(result.getType()))
      continue;
    RankedTensorType type =
        cast<MeshTensorType>(result.getType()).getRankedTensorType();
    for (TransferOp transfer : getOriginalTransfers(result)) {
      SetVector<Operation *> consumers;
      for (Operation *user : transfer->getUsers())
        if (isa<FragmentOp>(user))
          consumers.insert(user);
      for (Operation *consumer : consumers)
        groups[{type, consumer}].push_back(result.getResultNumber());
    }
  }

  SmallVector<TransferGroup> worthwhile;
  for (auto &[key, results] : groups) {
    if (results.size() < 2)
      continue;
    worthwhile.push_back({key.first, key.second, std::move(results), {}});
    worthwhile.back().arguments = findArguments(producer, worthwhile.back());
  }
  return worthwhile;
}

/// `dims` with one more dimension in front.
static RankedTensorType prependDim(RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> shape{dim};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

static RankedTensorType getConcatType(const TransferGroup &group) {
  return prependDim(group.elementType, group.results.size());
}

/// Rebuilds `producer` with the concatenation of each group as additional
/// result.
static FragmentOp addConcatenations(FragmentOp producer,
                                    ArrayRef<TransferGroup> groups,
                                    RewriterBase &rewriter) {
  Block &body = producer.getRegion().front();
  Operation *terminator = body.getTerminator();
  SmallVector<Value> returned(terminator->getOperands());
  SmallVector<Type> types(producer->getResultTypes());
  rewriter.setInsertionPoint(terminator);
  for (const TransferGroup &group : groups) {
    RankedTensorType sliceType = prependDim(group.elementType, 1);
    SmallVector<Value> slices;
    for (unsigned result : group.results)
      slices.push_back(
          stablehlo::ReshapeOp::create(rewriter, producer.getLoc(), sliceType,
                                       terminator->getOperand(result)));
    RankedTensorType concatType = getConcatType(group);
    returned.push_back(stablehlo::ConcatenateOp::create(
        rewriter, producer.getLoc(), concatType, slices, /*dimension=*/0));
    types.push_back(MeshTensorType::get(rewriter.getContext(),
                                        producer.getMeshName(), concatType));
  }
  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->setOperands(returned); });

  auto extended = cast<FragmentOp>(
      rebuildOp(producer, producer->getOperands(), types, rewriter));
  rewriter.replaceOp(
      producer, extended->getResults().take_front(producer->getNumResults()));
  return extended;
}

/// Makes the consumer take the values of the group out of `concat`.
static void extendConsumer(const TransferGroup &group, Value concat,
                           RewriterBase &rewriter) {
  Operation *consumer = group.consumer;
  RankedTensorType concatType = getConcatType(group);
  Block &body = consumer->getRegion(0).front();
  rewriter.modifyOpInPlace(consumer, [&] {
    consumer->insertOperands(consumer->getNumOperands(), concat);
  });
  BlockArgument all = body.addArgument(concatType, concat.getLoc());

  rewriter.setInsertionPointToStart(&body);
  int64_t rank = concatType.getRank();
  for (auto [argument, position] : group.arguments) {
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> starts(rank, 0), limits(concatType.getShape()),
        strides(rank, 1);
    starts[0] = position;
    limits[0] = position + 1;
    Value slice = stablehlo::SliceOp::create(rewriter, consumer->getLoc(),
                                             prependDim(type, 1), all, starts,
                                             limits, strides);
    Value value =
        stablehlo::ReshapeOp::create(rewriter, consumer->getLoc(), type, slice);
    rewriter.replaceAllUsesWith(argument, value);
  }
}

static void mergeTransfers(FragmentOp producer, ArrayRef<TransferGroup> groups,
                           RewriterBase &rewriter) {
  unsigned numResults = producer->getNumResults();
  producer = addConcatenations(producer, groups, rewriter);
  for (auto [i, group] : llvm::enumerate(groups)) {
    StringRef mesh = cast<FragmentOp>(group.consumer).getMeshName();
    rewriter.setInsertionPointAfter(producer);
    auto transfer = TransferOp::create(
        rewriter, producer.getLoc(),
        MeshTensorType::get(rewriter.getContext(), mesh, getConcatType(group)),
        producer->getResult(numResults + i));
    transfer->setAttr(kConcatTransferAttr, rewriter.getUnitAttr());
    extendConsumer(group, transfer, rewriter);
  }
}

namespace {
struct MergeTransfersPass
    : mpmd::impl::MergeTransfersPassBase<MergeTransfersPass> {
  void runOnFunction(func::FuncOp func) override {
    // A producer is rebuilt at its own turn only, and comes before the
    // fragments it feeds.
    IRRewriter rewriter(&getContext());
    for (FragmentOp producer :
         llvm::make_early_inc_range(func.front().getOps<FragmentOp>())) {
      SmallVector<TransferGroup> groups = groupResults(producer);
      for (const TransferGroup &group : groups)
        numTransfers += group.results.size();
      if (!groups.empty())
        mergeTransfers(producer, groups, rewriter);
    }
  }
};
} // namespace
