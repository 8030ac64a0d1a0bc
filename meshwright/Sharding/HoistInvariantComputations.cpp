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
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/OriginNames.h"
#include "meshwright/Sharding/InvariantNumbers.h"
#include "meshwright/Sharding/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "hoist-invariants"

namespace mlir::mpmd {
#define GEN_PASS_DEF_HOISTINVARIANTCOMPUTATIONSPASS
#include "meshwright/Sharding/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

namespace {
/// A value that several fragments compute, in the sharding they need it in.
struct Candidate {
  Value value; ///< The first of its number.
  RankedTensorType type;
  TensorShardingAttr sharding;
  bool isGathered;
  SmallVector<OpOperand *> uses;
  SmallVector<FragmentOp> readers; ///< Distinct ones, in program order.
  int64_t keptBytes = 0;           ///< On each device.
  int64_t savedBytes = 0;          ///< Sent or read again otherwise.
};
} // namespace

static bool hasAxis(ArrayRef<DimensionShardingAttr> dims, AxisRefAttr axis) {
  return llvm::any_of(dims, [&](DimensionShardingAttr dim) {
    return llvm::any_of(dim.getAxes(), [&](AxisRefAttr other) {
      return other.getName() == axis.getName();
    });
  });
}

/// The sharding in which an op needs an operand: without the axes that split its
/// result in another dimension, as rows of the batch are. XLA gathers along
/// them.
static TensorShardingAttr getNeededSharding(OpOperand &use) {
  TensorShardingAttr own = sdy::getSharding(use.get());
  Operation *op = use.getOwner();
  if (!own || op->getNumResults() != 1)
    return own;
  TensorShardingAttr result = sdy::getSharding(op->getResult(0));
  sdy::OpShardingRuleAttr rule =
      result ? sdy::getShardingRule(op) : sdy::OpShardingRuleAttr();
  if (!rule)
    return own;
  ArrayRef<sdy::DimMappingAttr> factorsOfResult =
      rule.getResultMappings()[0].getDimMappings();
  ArrayRef<sdy::DimMappingAttr> factors =
      rule.getOperandMappings()[use.getOperandNumber()].getDimMappings();
  SmallVector<DimensionShardingAttr> dims;
  for (auto [sharding, factor] : llvm::zip(own.getDimShardings(), factors)) {
    const auto *same = llvm::find(factorsOfResult, factor);
    SmallVector<AxisRefAttr> kept;
    for (AxisRefAttr axis : sharding.getAxes()) {
      bool isElsewhere =
          hasAxis(result.getDimShardings(), axis) &&
          (same == factorsOfResult.end() ||
           !hasAxis(result.getDimShardings()[same - factorsOfResult.begin()],
                    axis));
      if (!isElsewhere)
        kept.push_back(axis);
    }
    dims.push_back(DimensionShardingAttr::get(own.getContext(), kept,
                                              /*isClosed=*/true));
  }
  return own.replaceDimShardings(dims);
}

static bool isCheap(Operation *op) {
  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op))
    return cast<RankedTensorType>(convert->getOperand(0).getType())
               .getElementTypeBitWidth() <=
           cast<RankedTensorType>(convert->getResult(0).getType())
               .getElementTypeBitWidth();
  return isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
             stablehlo::TransposeOp, stablehlo::SliceOp>(op) ||
         op->getNumOperands() == 0;
}

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(getGlobalType(value.getType()));
}

namespace {
/// Moves what is worth it out of the fragments of one function.
class Hoister {
public:
  Hoister(func::FuncOp func, int64_t limit)
      : func(func), limit(limit), numbers(func) {}

  void run();
  int64_t getNumHoisted() const { return numHoisted; }
  int64_t getKeptBytes() const { return keptBytes; }

private:
  using Key = std::tuple<StringRef, int64_t, unsigned, Attribute>;

  void collect(FragmentOp fragment);
  void collect(FragmentOp fragment, Value value);
  bool isWorthIt(Candidate &candidate);
  void hoist(ArrayRef<Candidate *> chosen);
  /// The inputs of the program that a value comes from, and whether any op on
  /// the way does more than copy.
  bool findInputs(Value value, SetVector<Value> &inputs) const;
  Value clone(Value value, IRMapping &mapping, OpBuilder &builder) const;

  func::FuncOp func;
  int64_t limit;
  InvariantNumbers numbers;
  llvm::MapVector<Key, Candidate> candidates;
  int64_t numHoisted = 0;
  int64_t keptBytes = 0;
};
} // namespace

bool Hoister::findInputs(Value value, SetVector<Value> &inputs) const {
  SmallVector<Value> pending = {numbers.getFirst(value)};
  DenseSet<Value> seen;
  bool computes = false;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (InvariantNumbers::isInput(next)) {
      inputs.insert(next);
      continue;
    }
    Operation *op = next.getDefiningOp();
    computes |= !isCheap(op);
    for (Value operand : op->getOperands())
      pending.push_back(numbers.getFirst(operand));
  }
  return computes;
}

Value Hoister::clone(Value value, IRMapping &mapping,
                     OpBuilder &builder) const {
  Value first = numbers.getFirst(value);
  if (Value there = mapping.lookupOrNull(first))
    return there;
  Operation *op = first.getDefiningOp();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(clone(operand, mapping, builder));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  mapping.map(first, copy->getResult(0));
  return copy->getResult(0);
}

void Hoister::collect(FragmentOp fragment, Value value) {
  std::optional<unsigned> number = numbers.getNumber(value);
  if (!number)
    return;
  for (OpOperand &use : value.getUses()) {
    // A value moves with its reader if that is computed several times as well,
    // and does not just make many copies of it; what is returned is read by
    // other fragments, which know its number. What one microbatch's rows of the
    // inputs give is computed once.
    Operation *owner = use.getOwner();
    bool moves = owner->getNumResults() == 1 &&
                 !isa<stablehlo::BroadcastInDimOp>(owner) &&
                 numbers.getNumber(owner->getResult(0)) &&
                 numbers.countFragments(owner->getResult(0)) > 1;
    if (isa<ReturnOp>(owner) || moves || owner->getParentOp() != fragment)
      continue;
    TensorShardingAttr own = sdy::getSharding(value);
    TensorShardingAttr needed = getNeededSharding(use);
    bool isGathered = own && own != needed && !own.isEquivalent(needed);
    Value first = numbers.getFirst(value);
    if (InvariantNumbers::isInput(first) ? !isGathered
                                         : numbers.countFragments(value) < 2)
      continue;
    int64_t stage = fragment.getStageId().value_or(-1);
    Candidate &candidate =
        candidates[{fragment.getMeshName(), stage, *number, needed}];
    candidate.value = first;
    candidate.type = getTensorType(value);
    candidate.sharding = needed;
    candidate.isGathered = isGathered;
    candidate.uses.push_back(&use);
    if (candidate.readers.empty() || candidate.readers.back() != fragment)
      candidate.readers.push_back(fragment);
  }
}

void Hoister::collect(FragmentOp fragment) {
  for (BlockArgument arg : fragment.getBody()->getArguments())
    collect(fragment, arg);
  for (Operation &op : fragment.getBody()->without_terminator())
    if (op.getNumResults() == 1)
      collect(fragment, op.getResult(0));
}

bool Hoister::isWorthIt(Candidate &candidate) {
  if (candidate.readers.size() < 2 || !candidate.type.hasStaticShape())
    return false;
  RankedTensorType local = candidate.type;
  if (candidate.sharding)
    if (sdy::MeshAttr mesh = candidate.sharding.getMesh(func))
      local = candidate.sharding.getLocalTensorType(local, mesh);
  candidate.keptBytes = meshwright::countBytes(local);
  SetVector<Value> inputs;
  bool computes = findInputs(candidate.value, inputs);
  int64_t inputBytes = 0;
  for (Value input : inputs) {
    if (!isa<MeshTensorType>(input.getType()) ||
        cast<MeshTensorType>(input.getType()).getMeshName() !=
            candidate.readers.front().getMeshName())
      return false;
    inputBytes += meshwright::countBytes(getTensorType(input));
  }
  int64_t again = candidate.readers.size() - 1;
  candidate.savedBytes =
      again * (candidate.isGathered ? candidate.keptBytes : inputBytes);
  // What only copies is fused into its reader; what is large and cheap, such as
  // a mask of small inputs, is not worth its place.
  return candidate.isGathered ||
         (computes && meshwright::countBytes(candidate.type) <= inputBytes);
}

void Hoister::run() {
  for (FragmentOp fragment : func.getOps<FragmentOp>())
    collect(fragment);
  SmallVector<Candidate *> worth;
  for (auto &[key, candidate] : candidates)
    if (isWorthIt(candidate))
      worth.push_back(&candidate);
  llvm::stable_sort(worth, [](Candidate *a, Candidate *b) {
    return a->savedBytes > b->savedBytes;
  });
  llvm::StringMap<int64_t> keptOnMesh;
  llvm::MapVector<std::pair<StringRef, int64_t>, SmallVector<Candidate *>>
      byStage;
  for (Candidate *candidate : worth) {
    FragmentOp reader = candidate->readers.front();
    int64_t &kept = keptOnMesh[reader.getMeshName()];
    if (limit >= 0 && kept + candidate->keptBytes > limit) {
      if (func.getContext()->getRemarkEngine())
        remark::missed(
            candidate->value.getLoc(),
            remark::RemarkOpts::name("not hoisted").category(DEBUG_TYPE))
            << llvm::formatv("on mesh \"{0}\", {1} fragments need {2}, which "
                             "takes {3} bytes on each device; of the {4} that "
                             "mpmd_hoist_bytes allows, {5} are taken",
                             reader.getMeshName(), candidate->readers.size(),
                             candidate->type, candidate->keptBytes, limit, kept)
                   .str();
      continue;
    }
    kept += candidate->keptBytes;
    keptBytes += candidate->keptBytes;
    byStage[{reader.getMeshName(), reader.getStageId().value_or(-1)}].push_back(
        candidate);
  }
  for (auto &[stage, chosen] : byStage)
    hoist(chosen);
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
void Hoister::hoist(ArrayRef<Candidate *> chosen) {
  FragmentOp first = chosen.front()->readers.front();
  SetVector<Value> inputs;
  SmallVector<Type> types;
  for (Candidate *candidate : chosen) {
    FragmentOp reader = candidate->readers.front();
    if (reader->isBeforeInBlock(first))
      first = reader;
    findInputs(candidate->value, inputs);
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
        for (Candidate *candidate : chosen)
          results.push_back(clone(candidate->value, mapping, inside));
        return results;
      });
  for (auto [index, input] : llvm::enumerate(inputs))
    fragment.setInputSharding(index, sdy::getSharding(input));
  for (auto [index, candidate] : llvm::enumerate(chosen)) {
    ++numHoisted;
    fragment.setOutputSharding(index, candidate->sharding);
    DenseMap<Operation *, BlockArgument> args;
    for (OpOperand *use : candidate->uses) {
      auto reader = cast<FragmentOp>(use->getOwner()->getParentOp());
      BlockArgument &arg = args[reader];
      if (!arg)
        arg = addInput(reader, fragment->getResult(index), candidate->sharding);
      use->set(arg);
    }
  }
}

namespace {
struct HoistInvariantComputationsPass
    : mpmd::impl::HoistInvariantComputationsPassBase<
          HoistInvariantComputationsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!isMpmdFunction(func))
      return markAllAnalysesPreserved();
    Hoister hoister(func, limit);
    hoister.run();
    valuesHoisted += hoister.getNumHoisted();
    if (hoister.getNumHoisted() && func.getContext()->getRemarkEngine())
      remark::passed(func.getLoc(),
                     remark::RemarkOpts::name("hoisted").category(DEBUG_TYPE))
          << remark::metric("Values", hoister.getNumHoisted())
          << remark::metric("BytesKept", hoister.getKeptBytes());
  }
};
} // namespace
