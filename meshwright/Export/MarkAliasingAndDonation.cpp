//===- MarkAliasingAndDonation.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fragment that is the last to read a value may write over it: into the place
// of the operand goes a result of the same type, or, where there is none, the
// executor gets the memory for whatever it needs.
//
//   %1 = fragment (%0, %x)  ->  %1 = fragment (%0, %x) {arg_attrs =
//                                   [{tf.aliasing_output = 0 : i32}, {}]}
//
// Memory of the program's arguments is the caller's: they are only overwritten
// if the caller says so, and preferably by the result that the caller names. A
// value that is sent away may still be on its way, so it stays. So does what is
// computed once for all microbatches: to overwrite it would take a program of its
// own for the last one.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Export/Alike/ScalarPart.h"
#include "meshwright/Export/EntryAttrs.h"
#include "meshwright/Fragments/LastUses.h"
#include "meshwright/Fragments/OriginNames.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

#define GEN_PASS_DEF_MARKALIASINGANDDONATIONPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static Attribute getLayout(DictionaryAttr attrs) {
  return attrs ? attrs.get(kLayoutModeAttr) : Attribute();
}

namespace {
/// The results of a fragment whose memory no argument provides yet.
class FreeResults {
public:
  explicit FreeResults(FragmentOp fragment) : fragment(fragment) {
    for (OpResult result : llvm::reverse(fragment->getResults()))
      if (DictionaryAttr attrs =
              getResAttrs(fragment, result.getResultNumber());
          !isOnHost(attrs))
        results[{result.getType(), getLayout(attrs)}].push_back(
            result.getResultNumber());
  }

  /// Takes the result that an operand is to alias with: `preferred` if that
  /// can serve the operand, else the first that can.
  std::optional<unsigned> take(OpOperand &operand,
                               std::optional<unsigned> preferred) {
    auto it = results.find(
        {operand.get().getType(),
         getLayout(getArgAttrs(fragment, operand.getOperandNumber()))});
    if (it == results.end() || it->second.empty())
      return std::nullopt;
    SmallVector<unsigned> &serving = it->second; // The last is the first.
    auto *taken = preferred ? llvm::find(serving, *preferred) : serving.end();
    if (taken == serving.end())
      --taken;
    unsigned result = *taken;
    serving.erase(taken);
    return result;
  }

private:
  FragmentOp fragment;
  DenseMap<std::pair<Type, Attribute>, SmallVector<unsigned>> results;
};

/// What becomes of an operand's memory: the result that it is for, or none if
/// it is donated.
struct Reuse {
  unsigned operand;
  std::optional<unsigned> result;
};
} // namespace

/// The fragment result that becomes a returned value by ops with one operand.
/// Null if there is none.
static OpResult findFragmentResult(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<FragmentOp>(op))
      return cast<OpResult>(value);
    if (op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  return {};
}

/// The result of `fragment` that becomes the result `index` of the function.
static std::optional<unsigned> findResultFor(FragmentOp fragment,
                                             func::FuncOp func, int64_t index) {
  Operation *returnOp = func.front().getTerminator();
  if (index < 0 || index >= returnOp->getNumOperands())
    return std::nullopt;
  OpResult result = findFragmentResult(returnOp->getOperand(index));
  if (!result || result.getOwner() != fragment)
    return std::nullopt;
  return result.getResultNumber();
}

/// Plans the operand of a fragment that is the last use of its value.
static std::optional<Reuse> planReuse(OpOperand &operand, func::FuncOp func,
                                      FreeResults &results) {
  auto fragment = cast<FragmentOp>(operand.getOwner());
  unsigned index = operand.getOperandNumber();
  auto producer = operand.get().getDefiningOp<FragmentOp>();
  // A loop or another block may read it later.
  auto isElsewhere = [&](Operation *user) {
    return user->getBlock() != fragment->getBlock();
  };
  auto type = dyn_cast<MeshTensorType>(operand.get().getType());
  bool isKeptScalar =
      fragment->hasAttr(kKeepsScalarsAttr) && type && type.getShape().empty();
  if (isKeptScalar || llvm::any_of(operand.get().getUsers(), isElsewhere) ||
      (producer && isHoisted(producer.getOriginAttr())) ||
      isOnHost(getArgAttrs(fragment, index)) ||
      llvm::any_of(operand.get().getUsers(), llvm::IsaPred<TransferOp>))
    return std::nullopt;
  auto arg = dyn_cast<BlockArgument>(operand.get());
  if (!arg)
    return Reuse{index, results.take(operand, std::nullopt)};

  unsigned argIndex = arg.getArgNumber();
  auto donor = func.getArgAttrOfType<BoolAttr>(argIndex, kBufferDonorAttr);
  if (donor && donor.getValue())
    return Reuse{index, std::nullopt};
  auto aliasing =
      func.getArgAttrOfType<IntegerAttr>(argIndex, kAliasingOutputAttr);
  if (!aliasing)
    return std::nullopt;
  int64_t funcResult = aliasing.getValue().trySExtValue().value_or(-1);
  return Reuse{
      index, results.take(operand, findResultFor(fragment, func, funcResult))};
}

/// Writes the plan into `arg_attrs`. Fails on an operand that is marked alike.
static LogicalResult markReuse(FragmentOp fragment, ArrayRef<Reuse> plan) {
  Builder builder(fragment.getContext());
  EntryAttrs entries(fragment, kArgAttrsAttr, fragment->getNumOperands());
  for (const Reuse &reuse : plan) {
    StringRef name = reuse.result ? kAliasingOutputAttr : kBufferDonorAttr;
    if (entries.get(reuse.operand, name))
      return fragment.emitError()
             << "operand #" << reuse.operand << " already has `" << name
             << "` in `" << kArgAttrsAttr
             << "`; fragments must not be marked before";
    Attribute value = builder.getBoolAttr(true);
    if (reuse.result)
      value = builder.getI32IntegerAttr(static_cast<int32_t>(*reuse.result));
    entries.set(reuse.operand, name, value);
  }
  entries.write(fragment, kArgAttrsAttr);
  return success();
}

namespace {
struct MarkAliasingAndDonationPass
    : mpmd::impl::MarkAliasingAndDonationPassBase<MarkAliasingAndDonationPass> {
  void runOnFunction(func::FuncOp func) override {
    auto &lastUses = getAnalysis<LastUses>();
    markAnalysesPreserved<LastUses>();
    for (FragmentOp fragment : func.front().getOps<FragmentOp>()) {
      FreeResults results(fragment);
      SmallVector<Reuse> plan;
      for (OpOperand &operand : fragment->getOpOperands())
        if (lastUses.get(operand.get()) == &operand)
          if (std::optional<Reuse> reuse = planReuse(operand, func, results))
            plan.push_back(*reuse);
      if (!plan.empty() && failed(markReuse(fragment, plan)))
        return signalPassFailure();
      for (const Reuse &reuse : plan)
        ++(reuse.result ? numAliases : numDonations);
    }
  }
};
} // namespace
