//===- InferMeshDiagnostics.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Both searches, for sources and for uses, keep their own stack: values may
// hang together in chains as long as the program.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/IR/SymbolUses.h"
#include "meshwright/Text/LocationText.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

LogicalResult mpmd::verifyErrorLimit(Operation *op, int limit) {
  if (limit == -1 || limit > 0)
    return success();
  return op->emitError() << "error-limit is " << limit
                         << "; expected a positive number, or -1 for no limit";
}

LogicalResult mpmd::verifyNamedByCalls(ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      meshwright::findSymbolUses(module.getBodyRegion());
  if (!uses)
    return success();
  SymbolTable symbols(module);
  for (SymbolTable::SymbolUse use : *uses) {
    auto func =
        symbols.lookup<func::FuncOp>(use.getSymbolRef().getRootReference());
    if (!func || !isMpmdFunction(func))
      continue;
    auto caller = isa<CallOp>(use.getUser())
                      ? use.getUser()->getParentOfType<func::FuncOp>()
                      : func::FuncOp();
    if (!caller || !isMpmdFunction(caller))
      return use.getUser()->emitError()
             << "names the MPMD function @" << func.getSymName()
             << ", whose values get meshes; expected an mpmd.call in a "
                "function with topology, or a function without one";
    Operation *around = use.getUser()->getParentOp();
    while (isa<ForOp>(around))
      around = around->getParentOp();
    if (around != caller)
      return use.getUser()->emitError()
             << "calls @" << func.getSymName() << " inside a `"
             << around->getName()
             << "`, which runs on one mesh; expected an mpmd.call in a "
                "function or in a loop of it";
    TopologyAttr topology = getTopology(caller), ofCallee = getTopology(func);
    if (ofCallee == topology)
      continue;
    for (NamedMeshAttr mesh : ofCallee.getMeshes())
      if (!getMeshByName(topology, mesh.getName()))
        return use.getUser()->emitError()
               << "calls @" << func.getSymName() << " on mesh \""
               << mesh.getName() << "\", which is not in the topology of @"
               << caller.getSymName()
               << "; run mpmd-copy-topology-from-main first";
  }
  return success();
}

LogicalResult mpmd::verifyMeshOfSet(Value value, StringRef mesh) {
  Operation *producer = value.getDefiningOp();
  return getMeshOrError(
      producer ? producer : value.getParentBlock()->getParentOp(), mesh);
}

//===----------------------------------------------------------------------===//
// Pieces of text
//===----------------------------------------------------------------------===//

/// {m1,m2}, in the order of the set.
static std::string getMeshList(MeshSet set) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '{';
  llvm::interleave(
      set.isSpecified() ? set.getAttr().getValue()
                        : ArrayRef<MeshWithOriginsAttr>(),
      os, [&](MeshWithOriginsAttr mesh) { os << mesh.getMeshName(); }, ",");
  os << '}';
  return text;
}

/// m1[a,b], m2[]
static std::string getMeshesWithLabels(MeshSet set) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printMesh = [&](MeshWithOriginsAttr mesh) {
    os << mesh.getMeshName() << '[';
    llvm::interleave(
        mesh.getOrigins(), os,
        [&](OriginAttr label) { os << StringRef(label.getOriginLabel()); },
        ",");
    os << ']';
  };
  if (set.isSpecified())
    llvm::interleave(set.getAttr().getValue(), os, printMesh, ", ");
  return text;
}

/// The line for one input, output or named computation. `word` says which of
/// the first two it is.
static std::string getLine(Location loc, StringRef word, MeshSet set) {
  std::string place = getLocationText(loc), meshes = getMeshesWithLabels(set);
  StringRef label;
  if (!set.getMeshes().empty() && !set.getMeshes().front().getOrigins().empty())
    label = set.getMeshes().front().getOrigins().front().getOriginLabel();
  for (StringRef named : {"named_computation", "named_tensor"})
    if (StringRef(place).contains(named))
      return ("\n- " + named + " \"" + label + "\": " + meshes + " " + place)
          .str();
  return ("\n- " + word + " " + place + ": " + meshes).str();
}

static std::string getText(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().elideLargeElementsAttrs().skipRegions());
  return text;
}

static std::string getTrace(StringRef what, Location loc) {
  return ("\n\n" + what + ": " + getLocationText(loc)).str();
}

/// The name by which the user knows a callee.
static StringRef getCalleeName(func::FuncOp func) {
  StringRef name = func.getSymName();
  name.consume_front("shardy_mpmd");
  return name;
}

static std::string getHead(func::FuncOp func, BlockArgument arg) {
  return ("Mesh assignment is not possible for arg" +
          Twine(arg.getArgNumber()) + " of mpmd.call \"" + getCalleeName(func) +
          "\"")
      .str();
}

static constexpr StringLiteral kInferTransfersHint =
    "\nEither place these computations on one mesh, or set the partitioning "
    "option `mpmd_infer_transfers` to let the compiler add transfers.";
static constexpr StringLiteral kInferReductionsHint =
    "\nThe op can be computed as a reduction across meshes: set the "
    "partitioning option `mpmd_infer_cross_mesh_reductions` to allow that, or "
    "place its operands on one mesh.";

//===----------------------------------------------------------------------===//
// Where values come from and go to
//===----------------------------------------------------------------------===//

/// Walks from value to value, last pushed first, each value once.
static void
searchValues(ValueRange start,
             function_ref<void(Value, SmallVector<Value> &)> visit) {
  SmallVector<Value> stack(start.begin(), start.end());
  DenseSet<Value> visited; // Membership only.
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (visited.insert(value).second)
      visit(value, stack);
  }
}

/// One line per input and unassign that `value` is computed from.
std::string InferMeshDiagnostics::describeSources(Value value) const {
  std::string text;
  auto visitArgument = [&](BlockArgument arg, SmallVector<Value> &stack) {
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    if (!func)
      return;
    if (isEntryPointFunction(func)) {
      text += getLine(arg.getLoc(), "Input", getArgMeshSet(arg, kSrcSetAttr));
      return;
    }
    for (CallOp call : calls.getCalls(func))
      if (arg.getArgNumber() < call->getNumOperands())
        stack.push_back(call->getOperand(arg.getArgNumber()));
  };
  searchValues(value, [&](Value current, SmallVector<Value> &stack) {
    if (auto arg = dyn_cast<BlockArgument>(current))
      return visitArgument(arg, stack);
    Operation *op = current.getDefiningOp();
    if (auto unassign = dyn_cast<UnassignOp>(op)) {
      auto type = cast<MeshTensorType>(unassign.getTensor().getType());
      MeshSet own = MeshSet::get(op->getContext(), type.getMeshName(),
                                 unassign.getOrigin().value_or(""));
      text += getLine(op->getLoc(), "Input",
                      unite(own, getMeshSet(op, kSrcSetAttr)));
    } else if (isa<CallOp>(op)) {
      if (Value yielded = flow.getYieldedValue(current); yielded != current)
        stack.push_back(yielded);
    } else if (isMeshlessOp(op)) {
      llvm::append_range(stack, op->getOperands());
    }
  });
  return text;
}

/// One line per assign and output that `values` are used by. Loops are not
/// followed.
std::string InferMeshDiagnostics::describeUses(ValueRange values,
                                               StringRef word) const {
  std::string text;
  auto visitReturn = [&](OpOperand &use, SmallVector<Value> &stack) {
    auto func = cast<func::FuncOp>(use.getOwner()->getParentOp());
    unsigned index = use.getOperandNumber();
    if (isEntryPointFunction(func)) {
      auto loc = getResultInfoLoc(func, index, use.getOwner()->getLoc());
      text += getLine(loc, word, {});
      return;
    }
    for (CallOp call : calls.getCalls(func))
      if (index < call->getNumResults())
        stack.push_back(call->getResult(index));
  };
  searchValues(values, [&](Value current, SmallVector<Value> &stack) {
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (auto assign = dyn_cast<AssignOp>(user)) {
        text += getLine(user->getLoc(), word,
                        MeshSet::get(user->getContext(),
                                     assign.getType().getMeshName(),
                                     assign.getOrigin().value_or("")));
      } else if (isa<func::ReturnOp>(user)) {
        visitReturn(use, stack);
      } else if (auto call = dyn_cast<CallOp>(user)) {
        func::FuncOp callee = flow.getCallee(call);
        if (callee && use.getOperandNumber() < callee.getNumArguments())
          stack.push_back(callee.getArgument(use.getOperandNumber()));
      } else if (isMeshlessOp(user)) {
        llvm::append_range(stack, user->getResults());
      }
    }
  });
  return text;
}

/// What errors about arguments have in common at their end.
std::string InferMeshDiagnostics::describeArgument(func::FuncOp func,
                                                   BlockArgument arg) const {
  std::string text = getTrace("Stack trace of the callee", func.getLoc());
  text += "\n\nUsers of the argument:";
  for (Operation *user : arg.getUsers())
    text += "\n- " + getText(user) + " " + getLocationText(user->getLoc());
  return text;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Whether the option for reductions across meshes is what helps: what a loop or
/// branch of StableHLO computes is on one mesh, with or without it.
static bool canBecomeReduction(Operation *op) {
  return op->hasAttr(kReduceAttr) &&
         isa<func::FuncOp, ForOp>(op->getParentOp());
}

void InferMeshDiagnostics::reportConflict(Operation *op) const {
  InFlightDiagnostic diag = op->emitError()
                            << "Mesh assignment is not possible for op as its "
                               "operands are on conflicting meshes."
                            << (canBecomeReduction(op) ? kInferReductionsHint
                                                       : kInferTransfersHint)
                            << "\n\nThe op is:\n"
                            << getText(op);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    MeshSet sources = flow.getSources(operand);
    diag << "\n\nOperand " << index << " is available on "
         << (sources.isSpecified() ? getMeshList(sources) : "any mesh")
         << ". It comes from:" << describeSources(operand);
  }
  diag << "\n\nThe op is used in " << getMeshList(getMeshSet(op, kUseSetAttr))
       << ". Its results go to:" << describeUses(op->getResults(), "Output")
       << getTrace("Stack trace of the op", op->getLoc());
}

void InferMeshDiagnostics::reportConflict(func::FuncOp func,
                                          BlockArgument arg) const {
  InFlightDiagnostic diag = emitError(func.getLoc()) << getHead(func, arg);
  diag << " as its caller operands are on conflicting meshes."
       << kInferTransfersHint << "\n\nThe function is called "
       << calls.getCalls(func).size() << " times.";
  for (auto [index, call] : llvm::enumerate(calls.getCalls(func))) {
    if (arg.getArgNumber() >= call->getNumOperands())
      continue;
    MeshSet sources = flow.getSources(call->getOperand(arg.getArgNumber()));
    diag << "\nCall " << index << " passes a value that is available on "
         << (sources.isSpecified() ? getMeshList(sources) : "any mesh") << ".";
  }
  diag << "\n\nThe argument comes from:" << describeSources(arg)
       << "\n\nThe argument is used in "
       << getMeshList(getArgMeshSet(arg, kUseSetAttr))
       << ". It goes to:" << describeUses(arg, "Input")
       << describeArgument(func, arg);
}

void InferMeshDiagnostics::reportNeededTransfer(Operation *op) const {
  MeshSet uses = getMeshSet(op, kUseSetAttr);
  MeshSet sources = getMeshSet(op, kSrcSetAttr);
  InFlightDiagnostic diag =
      op->emitError()
      << "Mesh assignment is not possible for op as it is used in "
      << getMeshList(uses) << " but it can only be placed on "
      << getMeshList(sources) << "." << kInferTransfersHint
      << "\n\nThe op is:\n"
      << getText(op) << "\n\nIt can only be placed on " << getMeshList(sources)
      << ", where its operands come from:";
  for (Value operand : op->getOperands())
    diag << describeSources(operand);
  diag << "\n\nIt is used in " << getMeshList(uses)
       << ". Its operands go to:" << describeUses(op->getOperands(), "Output")
       << getTrace("Stack trace of the op", op->getLoc());
}

void InferMeshDiagnostics::reportRepeatedEffect(Operation *op,
                                                Operation *effect) const {
  MeshSet uses = getMeshSet(op, kUseSetAttr);
  InFlightDiagnostic diag =
      op->emitError()
      << "Mesh assignment is not possible for op as it is used in "
      << getMeshList(uses)
      << " but it can only be placed on one mesh, because it has effects, "
         "which must happen once."
      << kInferTransfersHint
      << " You can also put it into a named computation, or use its results on "
         "one mesh.\n\nThe op is:\n"
      << getText(op) << "\n\nIt is used in " << getMeshList(uses)
      << ". Its results go to:" << describeUses(op->getResults(), "Output")
      << getTrace("Stack trace of the op", op->getLoc());
  if (effect != op)
    diag.attachNote(effect->getLoc()) << "this inside it has effects";
}

void InferMeshDiagnostics::reportNeededTransfer(func::FuncOp func,
                                                BlockArgument arg) const {
  MeshSet uses = getArgMeshSet(arg, kUseSetAttr);
  MeshSet sources = getArgMeshSet(arg, kSrcSetAttr);
  emitError(func.getLoc()) << getHead(func, arg) << " as it is used in "
                           << getMeshList(uses)
                           << " but it can only be placed on "
                           << getMeshList(sources) << "." << kInferTransfersHint
                           << "\n\nThe function is called "
                           << calls.getCalls(func).size() << " times."
                           << "\n\nIt can only be placed on "
                           << getMeshList(sources)
                           << ", where it comes from:" << describeSources(arg)
                           << "\n\nIt is used in " << getMeshList(uses)
                           << ". It goes to:" << describeUses(arg, "Input")
                           << describeArgument(func, arg);
}

void InferMeshDiagnostics::reportChainMismatch(func::FuncOp callee,
                                               unsigned result,
                                               BlockArgument arg) const {
  emitError(callee.getLoc())
      << "Mesh assignment is not possible for mpmd.call \""
      << getCalleeName(callee) << "\" as one call passes result " << result
      << " to arg " << arg.getArgNumber()
      << " of another, with mismatching mesh assignments: res: {"
      << getMeshesWithLabels(getResultUseSet(callee, result)) << "}, arg: {"
      << getMeshesWithLabels(getArgMeshSet(arg, kUseSetAttr)) << "}."
      << kInferTransfersHint
      << getTrace("Stack trace of the callee", callee.getLoc());
}
