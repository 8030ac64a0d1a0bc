//===- MarkInputOutputWithLayouts.cpp -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Layouts of arguments and results of the program hold for the fragments that
// read and make them, too. `"auto"` leaves the choice to one executable, so it
// only remains where one executable sees the value; in between values have the
// default layout, which needs no attribute:
//
//   func @f(%a {"auto"}) -> {"{0,1}"}
//     %0 = fragment (%a)         // arg_attrs = [{"auto"}], res_attrs = [{}]
//     %1 = fragment (%0)         // arg_attrs = [{}], res_attrs = [{"{0,1}"}]
//     return %1
//
// Values are taken in order, arguments first. Of each it is collected what the
// returns demand, then the layout is chosen and propagated to all uses, through
// transfers.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Export/EntryAttrs.h"
#include "llvm/ADT/MapVector.h"

#define GEN_PASS_DEF_MARKINPUTOUTPUTWITHLAYOUTSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// A layout mode. The default one is the null attribute, however written.
class Layout {
public:
  explicit Layout(StringAttr text = {}) {
    if (text && text.getValue() != "default")
      mode = text;
  }

  static Layout getAuto(MLIRContext *context) {
    return Layout(StringAttr::get(context, "auto"));
  }

  bool isDefault() const { return !mode; }
  bool isAuto() const { return mode && mode.getValue() == "auto"; }
  bool isCompatibleWith(Layout other) const {
    return isAuto() || other.isAuto() || mode == other.mode;
  }
  /// Null for the default.
  StringAttr getAttr() const { return mode; }
  StringRef getText() const { return mode ? mode.getValue() : "default"; }

private:
  StringAttr mode;
};

/// What the uses of a value say about its layout.
struct Uses {
  unsigned numFragments = 0;
  unsigned numTransfers = 0;
  bool hasLayoutlessTransfer = false;
  /// What returns demand, auto if nothing.
  Layout common;
  /// The result that demands it.
  std::optional<unsigned> result;
};
} // namespace

/// On CPU meshes values have no layouts of their own.
static bool isLayoutless(TransferOp transfer) {
  return isCpuMesh(transfer.getType().getMeshName());
}

static Layout getResultLayout(func::FuncOp func, unsigned index) {
  return Layout(func.getResultAttrOfType<StringAttr>(index, kLayoutModeAttr));
}

/// Collects the uses of a value. Reports results that demand two layouts of it.
static FailureOr<Uses> collectUses(Value value, func::FuncOp func) {
  Uses uses;
  uses.common = Layout::getAuto(func.getContext());
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto transfer = dyn_cast<TransferOp>(user)) {
      ++uses.numTransfers;
      uses.hasLayoutlessTransfer |= isLayoutless(transfer);
      continue;
    }
    if (!isa<func::ReturnOp>(user)) {
      ++uses.numFragments;
      continue;
    }
    unsigned index = use.getOperandNumber();
    Layout layout = getResultLayout(func, index);
    if (!layout.isCompatibleWith(uses.common))
      return emitError(user->getLoc())
             << "Result #" << *uses.result << " is also returned as result #"
             << index << ", but with another layout: \""
             << uses.common.getText() << "\" vs. \"" << layout.getText() << '"';
    if (layout.isAuto())
      continue;
    uses.common = layout;
    uses.result = index;
  }
  return uses;
}

namespace {
/// Chooses and propagates the layouts of one function.
class LayoutMarker {
public:
  explicit LayoutMarker(func::FuncOp func) : func(func) {}

  /// Returns how many results of fragments got a layout.
  FailureOr<unsigned> run();

private:
  LogicalResult markArgument(BlockArgument arg);
  LogicalResult markFragment(FragmentOp fragment);
  FailureOr<Layout> chooseForResult(FragmentOp fragment, OpResult result);

  /// Writes the layout of a value to its uses, through transfers.
  void propagate(Value value, Layout layout);
  void setOperandLayout(OpOperand &operand, Layout layout);
  void setResultLayout(unsigned index, Layout layout);

  func::FuncOp func;
  unsigned numLayouts = 0;
  /// Changes to `arg_attrs`, written at the end.
  llvm::MapVector<Operation *, EntryAttrs> operands;
};
} // namespace

static void set(EntryAttrs &entries, unsigned index, Layout layout) {
  if (layout.isDefault())
    entries.remove(index, kLayoutModeAttr);
  else
    entries.set(index, kLayoutModeAttr, layout.getAttr());
}

void LayoutMarker::setOperandLayout(OpOperand &operand, Layout layout) {
  Operation *fragment = operand.getOwner();
  auto [it, isNew] = operands.try_emplace(fragment);
  if (isNew)
    it->second =
        EntryAttrs(fragment, kArgAttrsAttr, fragment->getNumOperands());
  set(it->second, operand.getOperandNumber(), layout);
}

void LayoutMarker::setResultLayout(unsigned index, Layout layout) {
  Attribute known = func.getResultAttr(index, kLayoutModeAttr);
  if (known == layout.getAttr())
    return;
  if (layout.isDefault())
    func.removeResultAttr(index,
                          StringAttr::get(func.getContext(), kLayoutModeAttr));
  else
    func.setResultAttr(index, kLayoutModeAttr, layout.getAttr());
}

void LayoutMarker::propagate(Value value, Layout layout) {
  SmallVector<std::pair<Value, Layout>> worklist = {{value, layout}};
  while (!worklist.empty()) {
    auto [current, mode] = worklist.pop_back_val();
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (isa<FragmentOp>(user))
        setOperandLayout(use, mode);
      else if (isa<func::ReturnOp>(user))
        setResultLayout(use.getOperandNumber(), mode);
      else if (auto transfer = dyn_cast<TransferOp>(user))
        worklist.emplace_back(transfer.getResult(),
                              isLayoutless(transfer) ? Layout() : mode);
    }
  }
}

/// Warns where a layout is lost in a transfer.
static void warnIfLost(Layout layout, Location loc, StringRef kind,
                       unsigned index) {
  if (!layout.isCompatibleWith(Layout()))
    emitWarning(loc) << kind << " #" << index
                     << " is used in a transfer op to a CPU mesh, which keeps "
                        "no layout, but has the non-default layout \""
                     << layout.getText()
                     << "\"; it is forced to the default layout";
}

LogicalResult LayoutMarker::markArgument(BlockArgument arg) {
  unsigned index = arg.getArgNumber();
  auto text = func.getArgAttrOfType<StringAttr>(index, kLayoutModeAttr);
  Layout chosen(text);
  FailureOr<Uses> uses = collectUses(arg, func);
  if (failed(uses))
    return failure();
  if (!chosen.isCompatibleWith(uses->common))
    return func.emitError()
           << "Arg #" << index << " is returned as result #" << *uses->result
           << ", but with another layout: \"" << chosen.getText() << "\" vs. \""
           << uses->common.getText() << '"';
  if (!uses->common.isAuto())
    chosen = uses->common;
  if (uses->hasLayoutlessTransfer) {
    warnIfLost(chosen, arg.getLoc(), "Arg", index);
    chosen = Layout();
  } else if (chosen.isAuto() && uses->numFragments + uses->numTransfers > 1) {
    chosen = Layout();
  }

  if (chosen.getAttr() != text) {
    if (chosen.isDefault())
      func.removeArgAttr(index, kLayoutModeAttr);
    else
      func.setArgAttr(index, kLayoutModeAttr, chosen.getAttr());
  }
  propagate(arg, chosen);
  return success();
}

FailureOr<Layout> LayoutMarker::chooseForResult(FragmentOp fragment,
                                                OpResult result) {
  FailureOr<Uses> uses = collectUses(result, func);
  if (failed(uses))
    return failure();
  if (uses->hasLayoutlessTransfer) {
    warnIfLost(uses->common, fragment.getLoc(), "Result",
               result.getResultNumber());
    return Layout();
  }
  if (uses->common.isAuto() && uses->numFragments + uses->numTransfers > 0)
    return Layout();
  return uses->common;
}

LogicalResult LayoutMarker::markFragment(FragmentOp fragment) {
  EntryAttrs entries(fragment, kResAttrsAttr, fragment->getNumResults());
  for (OpResult result : fragment->getResults()) {
    FailureOr<Layout> layout = chooseForResult(fragment, result);
    if (failed(layout))
      return failure();
    set(entries, result.getResultNumber(), *layout);
    numLayouts += !layout->isDefault();
    propagate(result, *layout);
  }
  entries.write(fragment, kResAttrsAttr);
  return success();
}

FailureOr<unsigned> LayoutMarker::run() {
  for (BlockArgument arg : func.getArguments())
    if (!arg.use_empty() && failed(markArgument(arg)))
      return failure();
  for (FragmentOp fragment : func.front().getOps<FragmentOp>())
    if (failed(markFragment(fragment)))
      return failure();
  for (const auto &[fragment, entries] : operands)
    entries.write(fragment, kArgAttrsAttr);
  return numLayouts;
}

namespace {
struct MarkInputOutputWithLayoutsPass
    : mpmd::impl::MarkInputOutputWithLayoutsPassBase<
          MarkInputOutputWithLayoutsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isEntryPointFunction(func))
      return markAllAnalysesPreserved();
    FailureOr<unsigned> count = LayoutMarker(func).run();
    if (failed(count))
      return signalPassFailure();
    numLayouts += *count;
  }
};
} // namespace
