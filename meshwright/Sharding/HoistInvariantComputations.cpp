//===- HoistInvariantComputations.cpp - What no microbatch changes --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each microbatch casts the weights of its stage again, and gathers them from
// the devices that split them. Both come from the program's inputs alone, so
// one fragment can do it before the first microbatch:
//
//   f(%w, %x0) { dot(%x0, convert(%w)) }    // all-gather of f32
//   f(%w, %x1) { dot(%x1, convert(%w)) }    // all-gather of f32
//
//   h(%w) { convert(%w) }, out [{}, {}]     // all-gather, bf16 kept
//   f(%c, %x0) { dot(%x0, %c) }
//   f(%c, %x1) { dot(%x1, %c) }
//
// What is kept is bounded, and what saves most goes first.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/OriginNames.h"
#include "meshwright/Sharding/HeldBytes.h"
#include "meshwright/Sharding/HoistCandidates.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

static constexpr llvm::StringLiteral kHoistedRemarks = "hoist-invariants";

#define GEN_PASS_DEF_HOISTINVARIANTCOMPUTATIONSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::TensorShardingAttr;

namespace {
/// Moves what is worth it out of the fragments of one function.
class Hoister {
public:
  Hoister(func::FuncOp func, bool withDeferral)
      : func(func), candidates(func, withDeferral) {}

  /// Keeps no more than `limit` bytes on each device of a mesh; without, no
  /// more than leaves `memory` bytes for all that is held. Negative limits and
  /// no memory bound nothing.
  void run(int64_t limit, int64_t memory, const meshwright::Device &device);
  int64_t getNumHoisted() const { return numHoisted; }
  int64_t getKeptBytes() const { return keptBytes; }

private:
  FragmentOp compute(ArrayRef<HoistCandidate *> chosen);
  void replaceUses(ArrayRef<HoistCandidate *> chosen, FragmentOp fragment);
  Value clone(Value value, IRMapping &mapping, OpBuilder &builder) const;
  void eraseUnread();

  func::FuncOp func;
  HoistCandidates candidates;
  SetVector<Operation *> unread; ///< What read values that are hoisted now.
  int64_t numHoisted = 0;
  int64_t keptBytes = 0;
};
} // namespace

static bool isConstraint(Operation *op) {
  return isa_and_nonnull<sdy::ShardingConstraintOp, sdy::ReshardOp>(op);
}

/// What is read in a narrower type after a constraint is sent in that type:
/// `convert(constraint(%w))` becomes `constraint(convert(%w))`.
Value Hoister::clone(Value value, IRMapping &mapping,
                     OpBuilder &builder) const {
  const InvariantNumbers &numbers = candidates.getNumbers();
  Value first = numbers.getFirst(value);
  if (Value there = mapping.lookupOrNull(first))
    return there;
  Operation *op = first.getDefiningOp();
  Operation *constraint =
      isNarrowing(op) ? numbers.getFirst(op->getOperand(0)).getDefiningOp()
                      : nullptr;
  bool swaps =
      isConstraint(constraint) && !mapping.contains(constraint->getResult(0));
  IRMapping read; // From what this op reads, which need not be the first.
  for (Value value : getReadValues(swaps ? constraint : op))
    read.map(value, clone(value, mapping, builder));
  if (swaps)
    read.map(op->getOperand(0), read.lookup(constraint->getOperand(0)));
  Operation *copy = builder.clone(*op, read);
  if (swaps) {
    sdy::setSharding(copy->getResult(0),
                     sdy::getSharding(constraint->getOperand(0)));
    Operation *around = builder.clone(*constraint);
    around->setOperands(copy->getResults());
    around->getResult(0).setType(copy->getResult(0).getType());
    copy = around;
  }
  for (auto [result, copied] : llvm::zip(op->getResults(), copy->getResults()))
    mapping.map(result, copied);
  return mapping.lookup(first);
}

/// Remarks on candidates that exceed the memory limit, the largest first.
static void remarkOn(ArrayRef<HoistCandidate *> left, int64_t limit,
                     int64_t memory, const llvm::StringMap<int64_t> &held,
                     const llvm::StringMap<int64_t> &kept) {
  for (HoistCandidate *candidate : left) {
    StringRef mesh = candidate->readers.front().getMeshName();
    std::string bound =
        llvm::formatv("of the {0} that mpmd_hoist_bytes allows", limit);
    if (limit < 0)
      bound = llvm::formatv("of the {0} that mpmd_device_memory gives, the "
                            "program holds {1}, and of the rest",
                            memory, held.lookup(mesh));
    remark::missed(
        candidate->value.getLoc(),
        remark::RemarkOpts::name("not hoisted").category(kHoistedRemarks))
        << llvm::formatv("on mesh \"{0}\", {1} fragments need {2}, which "
                         "takes {3} bytes on each device; {4}, {5} are taken",
                         mesh, candidate->readers.size(), candidate->type,
                         candidate->keptBytes, bound, kept.lookup(mesh))
               .str();
  }
}

void Hoister::run(int64_t limit, int64_t memory,
                  const meshwright::Device &device) {
  SmallVector<HoistCandidate *> worth = candidates.findWorthwhile(device);
  llvm::StringMap<int64_t> held, kept;
  bool isBounded = limit >= 0 || memory > 0;
  if (limit < 0 && memory > 0 && !worth.empty())
    held = findHeldBytes(func, device);
  llvm::MapVector<std::pair<StringRef, int64_t>, SmallVector<HoistCandidate *>>
      byStage;
  SmallVector<HoistCandidate *> left;
  for (HoistCandidate *candidate : worth) {
    FragmentOp reader = candidate->readers.front();
    StringRef mesh = reader.getMeshName();
    int64_t bound = limit >= 0 ? limit : memory - held.lookup(mesh);
    int64_t &keptOnMesh = kept[mesh];
    int64_t withThis = keptOnMesh;
    meshwright::addCount(withThis, candidate->keptBytes);
    if (isBounded && withThis > bound) {
      left.push_back(candidate);
      continue;
    }
    keptOnMesh = withThis;
    meshwright::addCount(keptBytes, candidate->keptBytes);
    byStage[{mesh, reader.getStageId().value_or(-1)}].push_back(candidate);
  }
  if (func.getContext()->getRemarkEngine()) {
    llvm::stable_sort(left, [](HoistCandidate *a, HoistCandidate *b) {
      return a->keptBytes > b->keptBytes;
    });
    remarkOn(left, limit, memory, held, kept);
  }
  // One stage may compute what another does first: all copies are of what is there
  // before any use changes.
  SmallVector<FragmentOp> fragments;
  for (auto &[stage, chosen] : byStage)
    fragments.push_back(compute(chosen));
  for (auto [entry, fragment] : llvm::zip(byStage, fragments))
    replaceUses(entry.second, fragment);
  eraseUnread();
}

/// Nothing else removes a constraint that nothing reads, and whose operand would
/// still be passed.
void Hoister::eraseUnread() {
  while (!unread.empty()) {
    Operation *op = unread.pop_back_val();
    if (!op->use_empty() || !(isConstraint(op) || onlyComputes(op)))
      continue;
    for (Value value : getReadValues(op))
      if (Operation *above = value.getDefiningOp())
        unread.insert(above);
    op->erase();
  }
}

/// Lets a fragment take one more value; returns it inside.
static BlockArgument addInput(FragmentOp fragment, Value value,
                              TensorShardingAttr sharding) {
  unsigned index = fragment.getInputs().size();
  SmallVector<TensorShardingAttr> shardings;
  if (auto list = fragment.getInShardingsAttr())
    llvm::append_range(shardings, list.getShardings());
  fragment.getInputsMutable().append(value);
  BlockArgument arg =
      fragment.getBody()->addArgument(getTensorType(value), fragment.getLoc());
  if (auto attrs = fragment->getAttrOfType<ArrayAttr>(kArgAttrsAttr)) {
    SmallVector<Attribute> list(attrs.getValue());
    list.resize(index + 1, DictionaryAttr::get(fragment.getContext()));
    fragment->setAttr(kArgAttrsAttr,
                      ArrayAttr::get(fragment.getContext(), list));
  }
  if (!shardings.empty()) {
    Attribute mesh = shardings.front().getMeshOrRef();
    shardings.push_back(sharding ? sharding
                                 : TensorShardingAttr::getFullyOpen(
                                       fragment.getContext(),
                                       getTensorType(value).getRank(), mesh));
    fragment.setInShardingsAttr(
        sdy::TensorShardingPerValueAttr::get(fragment.getContext(), shardings));
  } else if (sharding) {
    fragment.setInputSharding(index, sharding);
  }
  return arg;
}

/// Computes values in a fragment before the first that reads one of them.
FragmentOp Hoister::compute(ArrayRef<HoistCandidate *> chosen) {
  FragmentOp first = chosen.front()->readers.front();
  SetVector<Value> inputs;
  SmallVector<Type> types;
  for (HoistCandidate *candidate : chosen) {
    FragmentOp reader = candidate->readers.front();
    if (reader->isBeforeInBlock(first))
      first = reader;
    inputs.insert_range(candidates.findOrigin(candidate->value).inputs);
    types.push_back(MeshTensorType::get(func.getContext(), first.getMeshName(),
                                        candidate->type));
  }
  for (Value input : inputs)
    if (Operation *transfer = input.getDefiningOp())
      if (first->isBeforeInBlock(transfer))
        transfer->moveBefore(first);
  OpBuilder builder(first);
  Attribute origin = UserOriginAttr::get(
      func.getContext(), builder.getStringAttr(kHoistedOrigin), /*count=*/0);
  auto fragment = FragmentOp::createWithGlobalBody(
      first.getLoc(), builder.getArrayAttr(origin), first.getMeshNameAttr(),
      inputs.getArrayRef(), types, builder,
      [&](ArrayRef<Value> args, OpBuilder &inside) {
        IRMapping mapping;
        for (auto [input, arg] : llvm::zip(inputs, args))
          mapping.map(input, arg);
        SmallVector<Value> results;
        for (HoistCandidate *candidate : chosen)
          results.push_back(clone(candidate->value, mapping, inside));
        return results;
      });
  for (auto [index, input] : llvm::enumerate(inputs))
    fragment.setInputSharding(index, sdy::getSharding(input));
  for (auto [index, candidate] : llvm::enumerate(chosen))
    fragment.setOutputSharding(index, candidate->sharding);
  numHoisted += chosen.size();
  return fragment;
}

void Hoister::replaceUses(ArrayRef<HoistCandidate *> chosen,
                          FragmentOp fragment) {
  for (auto [index, candidate] : llvm::enumerate(chosen)) {
    DenseMap<Operation *, BlockArgument> args;
    for (OpOperand *use : candidate->uses) {
      auto reader = use->getOwner()->getParentOfType<FragmentOp>();
      BlockArgument &arg = args[reader];
      if (!arg)
        arg = addInput(reader, fragment->getResult(index), candidate->sharding);
      if (Operation *op = use->get().getDefiningOp())
        unread.insert(op);
      use->set(arg);
    }
  }
}

namespace {
struct HoistInvariantComputationsPass
    : mpmd::impl::HoistInvariantComputationsPassBase<
          HoistInvariantComputationsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    WalkResult result = func.walk([&](FragmentOp fragment) {
      return WalkResult(sdy::verifyEdgeOwnerShardings(fragment));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Without a name, one that keeps arrays dense, as most devices do.
    const std::string &name = device.getValue().text;
    llvm::Expected<meshwright::Device> kind =
        name.empty() ? meshwright::getDevices().front()
                     : meshwright::findDevice(name);
    if (!kind) {
      func.emitError() << "device: " << llvm::toString(kind.takeError());
      return signalPassFailure();
    }
    Hoister hoister(func, withDeferral);
    hoister.run(limit, memory, *kind);
    valuesHoisted += hoister.getNumHoisted();
    if (hoister.getNumHoisted() && func.getContext()->getRemarkEngine())
      remark::passed(
          func.getLoc(),
          remark::RemarkOpts::name("hoisted").category(kHoistedRemarks))
          << remark::metric("Values", hoister.getNumHoisted())
          << remark::metric("BytesKept", hoister.getKeptBytes());
  }
};
} // namespace
