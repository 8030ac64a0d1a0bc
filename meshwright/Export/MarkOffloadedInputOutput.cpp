//===- MarkOffloadedInputOutput.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A body says by custom calls that a value is to be in host memory. The
// executor has to know it where it makes and reads the fragment's buffers:
//
//   %1 = fragment (%a) (%x) {                   with %a in host memory:
//     %h = annotate_device_placement(%x)        arg_attrs = [{"pinned_host"}],
//     return %h                                 res_attrs = [{"pinned_host"}]
//   }
//
// A result is in host memory if the value that is returned comes from such a
// call by ops that keep it in place; operands are what their producers say. At
// the end, what the signature says about memory has to agree with fragments.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Export/EntryAttrs.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_MARKOFFLOADEDINPUTOUTPUTPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr StringLiteral kFrontendAttrs = "mhlo.frontend_attributes";
static constexpr StringLiteral kComputeType = "_xla_compute_type";
static constexpr StringLiteral kBufferPlacement = "_xla_buffer_placement";
static constexpr StringLiteral kAnnotatePlacement = "annotate_device_placement";

//===----------------------------------------------------------------------===//
// Which values a body puts into host memory
//===----------------------------------------------------------------------===//

static StringAttr getFrontendAttr(Operation *op, StringRef name) {
  auto attrs = op->getAttrOfType<DictionaryAttr>(kFrontendAttrs);
  return attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
}

static bool isCallOf(Operation *op, ArrayRef<StringRef> targets) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  return call && llvm::is_contained(targets, call.getCallTargetName());
}

/// Whether a reshape or broadcast only adds or removes dimensions of size 1.
static bool keepsElementsInPlace(Operation *op) {
  auto getRealDims = [](Type type) {
    return llvm::make_filter_range(cast<ShapedType>(type).getShape(),
                                   [](int64_t size) { return size != 1; });
  };
  return llvm::equal(getRealDims(op->getOperand(0).getType()),
                     getRealDims(op->getResult(0).getType()));
}

namespace {
/// Finds out where values are.
class Placement {
public:
  explicit Placement(SymbolTableCollection &symbols) : symbols(symbols) {}

  FailureOr<bool> isOnHost(Value value);

private:
  FailureOr<bool> trace(Value value);
  /// The value that is where a result is; null if there is none.
  Value getSource(OpResult result);

  SymbolTableCollection &symbols;
  /// By a shared body and the number of its result.
  DenseMap<std::pair<Attribute, unsigned>, bool> known;
};
} // namespace

Value Placement::getSource(OpResult result) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return op->getOperand(index);
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return loop.getBody().front().getTerminator()->getOperand(index);
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return update.getUpdate();
  if (isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
    return keepsElementsInPlace(op) ? op->getOperand(0) : Value();
  if (isCallOf(op,
               {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}))
    return op->getNumOperands() == 0 ? Value() : op->getOperand(0);
  auto call = dyn_cast<func::CallOp>(op);
  if (call || sdy::isSharedBodyCall(op)) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        op, call ? call.getCalleeAttr()
                 : sdy::getSharedBodyName(cast<stablehlo::CustomCallOp>(op)));
    if (callee && !callee.isDeclaration())
      if (auto returnOp =
              dyn_cast<func::ReturnOp>(callee.front().getTerminator()))
        return returnOp.getOperand(index);
  }
  return {};
}

/// Whether a call of `annotate_device_placement` says host.
static FailureOr<bool> placesOnHost(Operation *call) {
  StringAttr placement = getFrontendAttr(call, kBufferPlacement);
  if (!placement)
    return emitError(call->getLoc())
           << '@' << kAnnotatePlacement << " needs a string `"
           << kBufferPlacement << "` in `" << kFrontendAttrs
           << "` to say where the value is to be";
  return placement.getValue() == kMemoryKindPinnedHost;
}

FailureOr<bool> Placement::isOnHost(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !sdy::isSharedBodyCall(op) || op->hasAttr(kFrontendAttrs))
    return trace(value);
  Attribute body = sdy::getSharedBodyName(cast<stablehlo::CustomCallOp>(op));
  std::pair<Attribute, unsigned> key = {
      body, cast<OpResult>(value).getResultNumber()};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  FailureOr<bool> traced = trace(value);
  if (succeeded(traced))
    known[key] = *traced;
  return traced;
}

FailureOr<bool> Placement::trace(Value value) {
  llvm::SmallDenseSet<Value, 8> visited; // Functions may call themselves.
  while (visited.insert(value).second) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (StringAttr type = getFrontendAttr(op, kComputeType))
      return type.getValue() == "host";
    if (isCallOf(op, {kAnnotatePlacement}))
      return placesOnHost(op);
    value = getSource(cast<OpResult>(value));
    if (!value)
      return false;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Marking fragments
//===----------------------------------------------------------------------===//

/// The memory kind of a function argument or fragment result.
static StringAttr getKindOfProducer(Value value) {
  bool hasKind =
      isa<BlockArgument>(value) || isa<FragmentOp>(value.getDefiningOp());
  return hasKind ? getAttributeMemoryKind(value) : StringAttr();
}

/// Marks one operand or result. Reports one that has a memory kind already.
static LogicalResult mark(FragmentOp fragment, EntryAttrs &entries,
                          StringRef kind, unsigned index) {
  if (Attribute known = entries.get(index, kMemoryKindAttr))
    return fragment.emitError()
           << kind << " #" << index << " has the memory kind " << known
           << " already; fragments must not be marked before";
  entries.set(index, kMemoryKindAttr,
              StringAttr::get(fragment.getContext(), kMemoryKindPinnedHost));
  return success();
}

/// `pinned` are the values so far that are in host memory: few have any.
static LogicalResult markFragment(FragmentOp fragment, Placement &placement,
                                  DenseSet<Value> &pinned,
                                  Pass::Statistic &numMarked) {
  EntryAttrs args(fragment, kArgAttrsAttr, fragment->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(fragment->getOperands())) {
    if (!pinned.contains(operand))
      continue;
    if (failed(mark(fragment, args, "operand", index)))
      return failure();
    ++numMarked;
  }
  args.write(fragment, kArgAttrsAttr);

  EntryAttrs results(fragment, kResAttrsAttr, fragment->getNumResults());
  Operation *terminator = fragment.getBody()->getTerminator();
  for (auto [index, returned] : llvm::enumerate(terminator->getOperands())) {
    FailureOr<bool> onHost = placement.isOnHost(returned);
    if (failed(onHost) ||
        (*onHost && failed(mark(fragment, results, "result", index))))
      return failure();
    numMarked += *onHost;
  }
  results.write(fragment, kResAttrsAttr);
  for (OpResult result : fragment->getResults())
    if (isPinnedHost(dyn_cast_or_null<StringAttr>(
            results.get(result.getResultNumber(), kMemoryKindAttr))))
      pinned.insert(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Checking the signature
//===----------------------------------------------------------------------===//

static StringAttr getKindOfResult(func::FuncOp func, unsigned index) {
  return func.getResultAttrOfType<StringAttr>(index, kMemoryKindAttr);
}

/// The memory kind in which a function argument is read.
static StringAttr getKindOfUse(OpOperand &use, func::FuncOp func) {
  if (isa<func::ReturnOp>(use.getOwner()))
    return getKindOfResult(func, use.getOperandNumber());
  if (!isa<FragmentOp>(use.getOwner()))
    return {};
  DictionaryAttr attrs = getArgAttrs(use.getOwner(), use.getOperandNumber());
  return attrs ? attrs.getAs<StringAttr>(kMemoryKindAttr) : StringAttr();
}

/// Any kind but the device's is one of the host.
static bool isSameSide(StringAttr a, StringAttr b) {
  auto isOnDevice = [](StringAttr kind) {
    return !kind || kind.getValue() == kMemoryKindDevice;
  };
  return isOnDevice(a) == isOnDevice(b);
}

static std::string printWithoutRegions(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().skipRegions());
  return text;
}

static LogicalResult checkArgument(BlockArgument arg, func::FuncOp func) {
  LogicalResult result = success();
  OpOperand &first = *arg.use_begin();
  StringAttr kind = getKindOfUse(first, func);
  for (OpOperand &use : llvm::drop_begin(arg.getUses())) {
    StringAttr other = getKindOfUse(use, func);
    if (other == kind)
      continue;
    result = emitError(arg.getLoc())
             << "Memory kind mismatch between users of arg "
             << arg.getArgNumber() << ": " << kind << " vs " << other
             << " for users " << printWithoutRegions(first.getOwner()) << " vs "
             << printWithoutRegions(use.getOwner());
  }
  StringAttr own = getAttributeMemoryKind(arg);
  if (isSameSide(own, kind))
    return result;
  return emitError(arg.getLoc())
         << "Memory kind mismatch between arg " << arg.getArgNumber()
         << " and users: " << own << " vs " << kind;
}

static LogicalResult checkSignature(func::FuncOp func) {
  LogicalResult result = success();
  for (BlockArgument arg : func.getArguments())
    if (!arg.use_empty() && failed(checkArgument(arg, func)))
      result = failure();
  auto returnOp = dyn_cast<func::ReturnOp>(func.front().getTerminator());
  if (!returnOp) // A function with branches.
    return result;
  for (auto [index, value] : llvm::enumerate(returnOp.getOperands())) {
    StringAttr own = getKindOfResult(func, index);
    StringAttr producer = getKindOfProducer(value);
    if (!isSameSide(own, producer))
      result = emitError(returnOp->getLoc())
               << "Memory kind mismatch between result " << index
               << " and defining op: " << own << " vs " << producer;
  }
  return result;
}

namespace {
struct MarkOffloadedInputOutputPass
    : mpmd::impl::MarkOffloadedInputOutputPassBase<
          MarkOffloadedInputOutputPass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    Placement placement(symbols);
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && isEntryPointFunction(func) &&
          failed(markFunction(func, placement)))
        return signalPassFailure();
  }

private:
  LogicalResult markFunction(func::FuncOp func, Placement &placement) {
    DenseSet<Value> pinned;
    for (BlockArgument arg : func.getArguments())
      if (isPinnedHost(getAttributeMemoryKind(arg)))
        pinned.insert(arg);
    for (FragmentOp fragment : func.front().getOps<FragmentOp>()) {
      if (failed(markFragment(fragment, placement, pinned, numMarked)))
        return failure();
      ++numFragments;
    }
    return checkSignature(func);
  }
};
} // namespace
