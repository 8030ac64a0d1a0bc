//===- AbsorbInferredFragments.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A callee should keep the shape that the user gave it: the user's fragments,
// and in them what was inferred around them. Each root, which is a user
// fragment or an inferred one at the rim of the data flow, absorbs the inferred
// fragments that feed it or read it:
//
//   %0 = fragment<"m", []> (%x) {negate}
//   %t = transfer %0
//   %1 = fragment<"m", ["f"]> (%x, %0) {add}
//   // becomes
//   %1:2 = fragment<"m", ["f"]> (%x) {negate; add}
//   %t = transfer %1#0
//
// Transfers that are in between are moved out of the way, by one hop: those
// of an absorbed producer down to their first user, those that an absorbed
// consumer reads up to what they transfer.
//
// Which fragment absorbs which depends on the order of visits to the roots. It is that
// of the greedy driver, from the end of the block, which is why this pass is a
// pattern although its result is no matter of taste. A user fragment stays a
// root whatever it absorbs, and so does one that no fragment reads, or that is
// alone with its readers; so it takes in all it can at once. What it would take
// in next if it were built in between is worked out without building it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Fragments/Merge/Absorption.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Fragments/Merge/MergeRemarks.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_ABSORBINFERREDFRAGMENTSPASS
#include "meshwright/Fragments/Merge/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isRoot(FragmentOp fragment) {
  return isUserFragment(fragment) ||
         llvm::none_of(fragment->getUsers(), llvm::IsaPred<FragmentOp>) ||
         llvm::none_of(fragment->getOperands(), [](Value operand) {
           return operand.getDefiningOp<FragmentOp>();
         });
}

/// The last op of the block of `op` that defines an operand of it. Null if all
/// operands are block arguments.
static Operation *findLastProducer(Operation *op, BlockOrder &order) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == op->getBlock() &&
        (!last || order.isBefore(last, def)))
      last = def;
  return last;
}

/// Moves the transfers of what `producer` computes to where they are first
/// used. Says whether there was one to move or to remove.
static bool delayTransfers(FragmentOp producer, BlockOrder &order,
                           RewriterBase &rewriter) {
  bool hasChanged = false;
  for (OpResult result : producer->getResults())
    for (Operation *user : llvm::to_vector(result.getUsers())) {
      if (!isa<TransferOp>(user))
        continue;
      if (user->use_empty()) {
        rewriter.eraseOp(user);
        hasChanged = true;
        continue;
      }
      Operation *firstUser = order.getFirstUser(user);
      if (!firstUser || user->getNextNode() == firstUser)
        continue;
      rewriter.moveOpBefore(user, firstUser);
      hasChanged = true;
    }
  return hasChanged;
}

/// Moves the transfers that `consumer` reads to after what they transfer.
static void advanceTransfers(FragmentOp consumer, RewriterBase &rewriter) {
  llvm::SmallSetVector<Operation *, 8> transfers;
  for (Value operand : consumer->getOperands())
    if (auto transfer = operand.getDefiningOp<TransferOp>())
      transfers.insert(transfer);
  for (Operation *transfer : transfers) {
    Value tensor = transfer->getOperand(0);
    if (Operation *def = tensor.getDefiningOp())
      rewriter.moveOpAfter(transfer, def);
    else
      rewriter.moveOpBefore(transfer, &tensor.getParentBlock()->front());
  }
}

namespace {
class AbsorbPattern : public OpRewritePattern<FragmentOp> {
public:
  /// What the pattern remembers from one application to the next.
  struct State : BlockOrder {
    explicit State(func::FuncOp func) : effects(func.front()) {}

    EffectOrder effects;
    FragmentMerger merger;
    /// Fragments that the driver has taken from its list; those it has not are
    /// still to come, in their turn. Membership only.
    DenseSet<Operation *> visited;
    /// The first users of producers whose transfers are where they should be,
    /// until something changes. Thousands of fragments may ask for the same.
    DenseMap<Operation *, Operation *> firstUsers;
    bool hasError = false;
    unsigned numAbsorbed = 0, numMoved = 0;

    /// Those that the driver has put on its list again. Membership only.
    DenseSet<Operation *> changed;

    bool isToCome(Operation *op) const {
      return !visited.contains(op) || changed.contains(op);
    }

    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint previous) override {
      BlockOrder::notifyOperationInserted(op, previous);
      numMoved += previous.isSet() && isa<TransferOp>(op);
      firstUsers.clear();
      changed.insert(op);
    }
    void notifyOperationModified(Operation *op) override {
      firstUsers.clear();
      changed.insert(op);
    }
    void notifyOperationErased(Operation *op) override {
      BlockOrder::notifyOperationErased(op);
      firstUsers.clear();
      changed.erase(op);
    }
  };

  AbsorbPattern(MLIRContext *context, State &state)
      : OpRewritePattern(context), state(state) {}

  LogicalResult matchAndRewrite(FragmentOp root,
                                PatternRewriter &rewriter) const override {
    state.visited.insert(root);
    state.changed.erase(root);
    // Of other blocks the order of effects is not known.
    if (state.hasError || !isa<func::FuncOp>(root->getParentOp()) ||
        !root->getBlock()->isEntryBlock() || !isRoot(root))
      return failure();
    if (succeeded(absorbProducer(root, rewriter)))
      return success();
    return absorbConsumer(root, rewriter);
  }

private:
  Operation *clearWayToFirstUser(FragmentOp producer,
                                 PatternRewriter &rewriter) const;
  bool staysAlone(FragmentOp root) const;
  LogicalResult absorbProducer(FragmentOp root,
                               PatternRewriter &rewriter) const;
  LogicalResult absorbConsumer(FragmentOp root,
                               PatternRewriter &rewriter) const;
  LogicalResult verifySameStage(FragmentOp producer, FragmentOp consumer) const;
  bool isBefore(Operation *op, Operation *other) const {
    return state.isBefore(op, other);
  }
  void build(FragmentGroup &group, FragmentOp root,
             ArrayRef<FragmentOp> absorbed, PatternRewriter &rewriter) const;

  State &state;
};
} // namespace

LogicalResult AbsorbPattern::verifySameStage(FragmentOp producer,
                                             FragmentOp consumer) const {
  LogicalResult result = mpmd::verifySameStage(producer, consumer);
  state.hasError |= failed(result);
  return result;
}

/// The result has the attributes of the root. An inferred one also says which pass
/// inferred what it absorbed.
void AbsorbPattern::build(FragmentGroup &group, FragmentOp root,
                          ArrayRef<FragmentOp> absorbed,
                          PatternRewriter &rewriter) const {
  for (FragmentOp fragment : absorbed)
    remarkMerged("absorb", fragment, root);
  state.numAbsorbed += absorbed.size();
  SmallVector<FragmentOp> members = group.getMembers();
  auto ops = llvm::to_vector_of<Operation *>(members);
  FragmentOp merged = state.merger.build(
      group, root, MergedAttributes::ofRoot(members, root, absorbed), rewriter);
  state.effects.replace(ops, merged);
}

/// Moves transfers of the producer out of the way, and returns its first user.
Operation *AbsorbPattern::clearWayToFirstUser(FragmentOp producer,
                                              PatternRewriter &rewriter) const {
  if (Operation *known = state.firstUsers.lookup(producer))
    return known;
  bool hasChanged = delayTransfers(producer, state, rewriter);
  Operation *first = state.getFirstUser(producer);
  if (!hasChanged)
    state.firstUsers[producer] = first;
  return first;
}

LogicalResult AbsorbPattern::absorbProducer(FragmentOp root,
                                            PatternRewriter &rewriter) const {
  FragmentOp absorbed;
  for (FragmentOp producer : getInferredProducers(root)) {
    Operation *first = clearWayToFirstUser(producer, rewriter);
    if (!absorbed && first == root &&
        state.effects.mayMoveDown(
            producer, root, [&](auto a, auto b) { return isBefore(a, b); }))
      absorbed = producer;
  }
  if (!absorbed || failed(verifySameStage(absorbed, root)))
    return failure();
  Absorption absorption(root, state, state.effects);
  if (absorption.isSimpleToAbsorb(absorbed) && absorption.staysRoot(absorbed)) {
    absorption.absorbProducers(absorbed, [&](FragmentOp producer) {
      return !state.visited.contains(producer);
    });
    build(absorption.getGroup(), root, absorption.getAbsorbed(), rewriter);
    return success();
  }
  FragmentGroup group(absorbed), added(root);
  group.append(added);
  build(group, root, absorbed, rewriter);
  return success();
}

/// Whether an inferred root stays one, and is the next to be looked at, however
/// many of its readers it absorbs: it and its readers read no other fragments,
/// only the function returns what they compute, and the turn of the readers is
/// still to come.
bool AbsorbPattern::staysAlone(FragmentOp root) const {
  Operation *terminator = root->getBlock()->getTerminator();
  auto readsNoOther = [&](FragmentOp fragment) {
    return llvm::all_of(fragment->getOperands(), [&](Value operand) {
      auto read = operand.getDefiningOp<FragmentOp>();
      return !read || read == root;
    });
  };
  auto isReader = [&](Operation *user) {
    auto reader = dyn_cast<FragmentOp>(user);
    return reader && state.isToCome(reader) && readsNoOther(reader) &&
           llvm::all_of(reader->getUsers(),
                        [&](Operation *other) { return other == terminator; });
  };
  return readsNoOther(root) &&
         llvm::all_of(root->getUsers(), [&](Operation *user) {
           return user == terminator || isReader(user);
         });
}

LogicalResult AbsorbPattern::absorbConsumer(FragmentOp root,
                                            PatternRewriter &rewriter) const {
  if (isUserFragment(root) || staysAlone(root)) {
    Absorption absorption(root, state, state.effects);
    if (absorption.absorbConsumers()) {
      build(absorption.getGroup(), root, absorption.getAbsorbed(), rewriter);
      return success();
    }
  }
  FragmentOp absorbed;
  for (FragmentOp consumer : getInferredConsumers(root, root->getResults())) {
    advanceTransfers(consumer, rewriter);
    if (!absorbed && findLastProducer(consumer, state) == root &&
        state.effects.mayMoveUp(consumer, root,
                                [&](auto a, auto b) { return isBefore(a, b); }))
      absorbed = consumer;
  }
  if (!absorbed || failed(verifySameStage(root, absorbed)))
    return failure();
  FragmentGroup group(root), added(absorbed);
  group.append(added);
  build(group, root, absorbed, rewriter);
  return success();
}

static void remarkLeftOver(func::FuncOp func, StringRef why) {
  if (!func.getContext()->getRemarkEngine())
    return;
  for (FragmentOp fragment : func.getOps<FragmentOp>())
    if (isInferredFragment(fragment))
      remarkNotMerged("absorb", fragment, why);
}

namespace {
struct AbsorbInferredFragmentsPass
    : mpmd::impl::AbsorbInferredFragmentsPassBase<AbsorbInferredFragmentsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    if (isEntryPointFunction(func) && !absorbOnEntryPointFunction) {
      remarkLeftOver(func, "the entry function's are absorbed only with "
                           "mpmd_absorb_inferred_fragments_on_entry_point_"
                           "function");
      return markAllAnalysesPreserved();
    }

    AbsorbPattern::State state(func);
    RewritePatternSet patterns(&getContext());
    patterns.add<AbsorbPattern>(&getContext(), state);
    // COMPAT(greedy-cleanup): The driver also removes dead ops and moves
    // constants to the front.
    GreedyRewriteConfig config;
    config.enableFolding(false).setRegionSimplificationLevel(
        GreedySimplifyRegionLevel::Disabled);
    config.setListener(&state);
    LogicalResult result =
        applyPatternsGreedily(func, std::move(patterns), config);
    numAbsorbed += state.numAbsorbed;
    numMoved += state.numMoved;
    if (failed(result) || state.hasError)
      return signalPassFailure();
    state.merger.setLocations(func);
    remarkLeftOver(func, "no fragment of its mesh is its first reader, or the "
                         "last that it reads, with nothing in between");
  }
};
} // namespace
