//===- MergeFragments.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The one operation behind every pass that merges fragments. A plan says which
// block arguments the merged fragment has and what replaces the others; it is
// complete before anything changes. The larger of the two bodies then becomes
// the merged body and takes in the smaller one, so that a fragment which grows
// merge by merge is not moved each time.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/FragmentWalk.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static Block &getBody(FragmentOp op) { return op.getRegion().front(); }

/// The operands that have a block argument, which control operands lack.
static OperandRange getDataOperands(FragmentOp op) {
  return op->getOperands().take_front(getBody(op).getNumArguments());
}

static OperandRange getControlOperands(FragmentOp op) {
  return op->getOperands().drop_front(getBody(op).getNumArguments());
}

namespace {
/// What becomes of the operands, arguments and results of the two fragments.
struct MergePlan {
  MergePlan(FragmentOp producer, FragmentOp consumer);

  /// Data operands of the merged fragment, and for each the argument of one of
  /// the two bodies that becomes its argument.
  SmallVector<Value> operands;
  SmallVector<BlockArgument> arguments;

  /// Arguments that repeat one of `arguments`, with that one.
  SmallVector<std::pair<BlockArgument, BlockArgument>> repeated;

  /// Arguments of the consumer that read a result of the producer.
  SmallVector<std::pair<BlockArgument, unsigned>> forwarded;

  /// Results of the producer that are results of the merged fragment.
  SmallVector<unsigned> sharedResults;

  SmallVector<Value> controlOperands;

private:
  void addOperand(Value operand, BlockArgument argument);
  void planUnique();
  void planInPlace();

  FragmentOp producer, consumer;
  DenseMap<Value, BlockArgument> argumentOf;
};
} // namespace

/// Whether the producer does nothing but compute one operand of the consumer
/// from one of its own. The consumer then keeps its operand list.
static bool feedsOneOperand(FragmentOp producer, FragmentOp consumer) {
  if (getBody(producer).getNumArguments() != 1 ||
      producer->getNumResults() != 1 || !producer->getResult(0).hasOneUse())
    return false;
  OpOperand &use = *producer->getResult(0).use_begin();
  return use.getOwner() == consumer &&
         use.getOperandNumber() < getBody(consumer).getNumArguments();
}

MergePlan::MergePlan(FragmentOp producer, FragmentOp consumer)
    : producer(producer), consumer(consumer) {
  if (feedsOneOperand(producer, consumer))
    planInPlace();
  else
    planUnique();

  for (OpResult result : producer->getResults())
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != consumer; }))
      sharedResults.push_back(result.getResultNumber());

  for (Value control : getControlOperands(producer))
    if (control.getDefiningOp() != consumer)
      controlOperands.push_back(control);
  for (Value control : getControlOperands(consumer))
    if (control.getDefiningOp() != producer)
      controlOperands.push_back(control);
}

void MergePlan::addOperand(Value operand, BlockArgument argument) {
  auto [it, isNew] = argumentOf.try_emplace(operand, argument);
  if (!isNew) {
    repeated.emplace_back(argument, it->second);
    return;
  }
  operands.push_back(operand);
  arguments.push_back(argument);
}

void MergePlan::planUnique() {
  for (auto [operand, argument] : llvm::zip_equal(
           getDataOperands(producer), getBody(producer).getArguments()))
    addOperand(operand, argument);
  for (auto [operand, argument] : llvm::zip_equal(
           getDataOperands(consumer), getBody(consumer).getArguments())) {
    if (operand.getDefiningOp() == producer)
      forwarded.emplace_back(argument,
                             cast<OpResult>(operand).getResultNumber());
    else
      addOperand(operand, argument);
  }
}

void MergePlan::planInPlace() {
  for (auto [operand, argument] : llvm::zip_equal(
           getDataOperands(consumer), getBody(consumer).getArguments())) {
    bool isForwarded = operand.getDefiningOp() == producer;
    if (isForwarded)
      forwarded.emplace_back(argument, 0);
    operands.push_back(isForwarded ? producer->getOperand(0) : operand);
    arguments.push_back(isForwarded ? getBody(producer).getArgument(0)
                                    : argument);
  }
}

/// Compares sizes in the time that the smaller block takes.
static bool isSmaller(Block &block, Block &other) {
  auto it = block.begin(), otherIt = other.begin();
  while (it != block.end() && otherIt != other.end())
    ++it, ++otherIt;
  return it == block.end() && otherIt != other.end();
}

/// Makes the arguments of `host` those that the plan says. Leading ones that
/// are already right stay.
static void setArguments(Block &host, const MergePlan &plan,
                         RewriterBase &rewriter) {
  unsigned numOld = host.getNumArguments();
  unsigned numKept = 0;
  while (numKept < numOld && numKept < plan.arguments.size() &&
         host.getArgument(numKept) == plan.arguments[numKept])
    ++numKept;
  for (BlockArgument argument : ArrayRef(plan.arguments).drop_front(numKept)) {
    BlockArgument added =
        host.addArgument(argument.getType(), argument.getLoc());
    rewriter.replaceAllUsesWith(argument, added);
  }
  host.eraseArguments(numKept, numOld - numKept);
}

/// Makes one block of the two bodies and returns it.
static Block &mergeBodies(Block &producer, Block &consumer,
                          const MergePlan &plan, RewriterBase &rewriter) {
  for (auto [argument, first] : plan.repeated)
    rewriter.replaceAllUsesWith(argument, first);
  ValueRange returned = producer.getTerminator()->getOperands();
  for (auto [argument, result] : plan.forwarded)
    rewriter.replaceAllUsesWith(argument, returned[result]);

  bool hostIsProducer = isSmaller(consumer, producer);
  Block &host = hostIsProducer ? producer : consumer;
  Block &guest = hostIsProducer ? consumer : producer;
  setArguments(host, plan, rewriter);

  returned = producer.getTerminator()->getOperands();
  auto results = llvm::map_to_vector(
      plan.sharedResults, [&](unsigned index) { return returned[index]; });
  llvm::append_range(results, consumer.getTerminator()->getOperands());
  rewriter.eraseOp(producer.getTerminator());
  rewriter.modifyOpInPlace(consumer.getTerminator(), [&] {
    consumer.getTerminator()->setOperands(results);
  });

  guest.eraseArguments(0, guest.getNumArguments());
  rewriter.inlineBlockBefore(&guest, &host,
                             hostIsProducer ? host.end() : host.begin());
  return host;
}

FragmentOp mpmd::mergeFragments(FragmentOp producer, FragmentOp consumer,
                                RewriterBase &rewriter,
                                std::optional<Location> loc) {
  assert(producer.getMeshName() == consumer.getMeshName() &&
         hasConsistentStages(producer, consumer) && "caller must check");
  MergePlan plan(producer, consumer);

  SmallVector<Type> types;
  for (unsigned index : plan.sharedResults)
    types.push_back(producer->getResult(index).getType());
  llvm::append_range(types, consumer->getResultTypes());
  size_t numDataOperands = plan.operands.size();
  SmallVector<Value> operands = plan.operands;
  llvm::append_range(operands, plan.controlOperands);

  rewriter.setInsertionPoint(consumer);
  auto merged = FragmentOp::create(
      rewriter,
      loc ? *loc : rewriter.getFusedLoc({producer.getLoc(), consumer.getLoc()}),
      types, operands, mergeOrigins(producer.getOrigin(), consumer.getOrigin()),
      producer.getMeshNameAttr(), mergedStage(producer, consumer),
      /*in_shardings=*/nullptr, /*out_shardings=*/nullptr);
  if (!plan.controlOperands.empty())
    merged->setDiscardableAttr(kControlOperandStartIdxAttr,
                               rewriter.getI64IntegerAttr(numDataOperands));

  Block &body =
      mergeBodies(getBody(producer), getBody(consumer), plan, rewriter);
  rewriter.inlineRegionBefore(*body.getParent(), merged.getRegion(),
                              merged.getRegion().end());

  ResultRange results = merged->getResults();
  size_t numShared = plan.sharedResults.size();
  rewriter.replaceOp(consumer, results.drop_front(numShared));
  for (auto [index, result] :
       llvm::zip_equal(plan.sharedResults, results.take_front(numShared)))
    rewriter.replaceAllUsesWith(producer->getResult(index), result);
  rewriter.eraseOp(producer);
  return merged;
}

LogicalResult mpmd::verifySameStage(FragmentOp producer, FragmentOp consumer) {
  if (hasConsistentStages(producer, consumer))
    return success();
  InFlightDiagnostic diag =
      consumer.emitError()
      << "fragment of stage " << *consumer.getStageId()
      << " cannot be merged with one of stage " << *producer.getStageId()
      << "; give both the same stage or leave out one of them";
  diag.attachNote(producer.getLoc()) << "the other fragment is here";
  return diag;
}

ArrayAttr mpmd::uniteInferredBy(FragmentOp first, FragmentOp second) {
  SetVector<Attribute> entries;
  bool isPresent = false;
  for (FragmentOp fragment : {first, second})
    if (auto list = fragment->getAttrOfType<ArrayAttr>(kInferredByAttr)) {
      isPresent = true;
      entries.insert_range(list);
    }
  if (!isPresent)
    return nullptr;
  return ArrayAttr::get(first.getContext(), entries.getArrayRef());
}

//===----------------------------------------------------------------------===//
// FragmentMerger
//===----------------------------------------------------------------------===//

unsigned FragmentMerger::getStep(FragmentOp fragment) {
  auto [it, isNew] = stepOf.try_emplace(fragment, steps.size());
  if (isNew)
    steps.push_back({fragment.getLoc()});
  return it->second;
}

FragmentOp FragmentMerger::merge(FragmentOp producer, FragmentOp consumer,
                                 RewriterBase &rewriter) {
  Step step{/*loc=*/nullptr, getStep(producer), getStep(consumer)};
  FragmentOp merged =
      mergeFragments(producer, consumer, rewriter, producer.getLoc());
  stepOf[merged] = steps.size();
  steps.push_back(step);
  return merged;
}

void FragmentMerger::setLocations(func::FuncOp func) {
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    auto it = stepOf.find(fragment);
    if (it == stepOf.end() || steps[it->second].loc)
      return;
    SmallVector<Location> locs;
    SmallVector<unsigned> stack{it->second};
    while (!stack.empty()) {
      const Step &step = steps[stack.pop_back_val()];
      if (step.loc)
        locs.push_back(step.loc);
      else
        stack.append({step.consumer, step.producer});
    }
    fragment->setLoc(FusedLoc::get(func.getContext(), locs));
  });
}
