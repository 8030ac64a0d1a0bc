//===- ReportPlacement.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An operation without a name that reads whole states, such as a loop over all
// weights, brings them to its mesh in every step. The program is right, and
// slow, and its memory is not where its author thinks. Two remarks say so:
//
//   moved    an input that named computations read on some meshes is read by
//            an operation without a name on another one
//   state    state that no named computation reads meets, element by element,
//            values of other meshes, and none that is on its own mesh
//
// Small things are no news: step counters, integers (such as tokens, of which
// one mesh looks at the labels), and what is little beside all inputs.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "meshwright/Import/Place/MeshAssignment.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <optional>

#define GEN_PASS_DEF_REPORTPLACEMENTPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::countBytes;

/// What is less than this part of all inputs is no news: of state that is
/// moved or away, and of other inputs that are moved.
static constexpr double kStateShare = 1.0 / 16, kMovedShare = 1.0 / 4;
/// How many inputs a remark names.
static constexpr size_t kMaxNamed = 3;

namespace {
/// The readers of an input, and their meshes.
struct InputReaders {
  /// The first named computation on each mesh.
  llvm::MapVector<StringRef, StringRef> named;
  /// The first fragment on each mesh without a name.
  llvm::MapVector<StringRef, FragmentOp> unnamed;
};

struct Input {
  Value value;
  std::string name;
  double bytes = 0;
  StringRef mesh;
  bool isExplicit = false; ///< The user gave it its mesh.
  bool isState = false;    ///< A result has its type: it is for the next step.
  InputReaders readers;
};

struct Moved {
  SmallVector<const Input *> inputs;
  double bytes = 0, bytesOfState = 0;
  Operation *reader = nullptr;
};
} // namespace

static void addReader(FragmentOp fragment, InputReaders &readers) {
  if (isInferredFragment(fragment)) {
    readers.unnamed.try_emplace(fragment.getMeshName(), fragment);
    return;
  }
  auto origin = cast<UserOriginAttr>(fragment.getOrigin()[0]);
  readers.named.try_emplace(fragment.getMeshName(),
                            origin.getUserName().getValue());
}

/// Follows a value through transfers and into callees.
static InputReaders findReaders(Value input, const SymbolTable &symbols) {
  InputReaders readers;
  SmallVector<Value> stack{input};
  DenseSet<Value> visited; // Membership only.
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!visited.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto fragment = dyn_cast<FragmentOp>(user))
        addReader(fragment, readers);
      else if (auto transfer = dyn_cast<TransferOp>(user))
        stack.push_back(transfer.getResult());
      else if (auto call = dyn_cast<CallOp>(user))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
            callee && !callee.isExternal() &&
            use.getOperandNumber() < callee.getNumArguments())
          stack.push_back(callee.getArgument(use.getOperandNumber()));
    }
  }
  return readers;
}

/// The name that JAX gives the location of an argument, such as `w['dense']`.
static std::string getName(BlockArgument arg) {
  if (auto name = dyn_cast<NameLoc>(arg.getLoc()))
    return name.getName().str();
  return "argument " + std::to_string(arg.getArgNumber());
}

/// The inputs of `func` of which it matters where they are.
static std::vector<Input> collectInputs(func::FuncOp func,
                                        const IndexAssignment &assignment,
                                        const SymbolTable &symbols) {
  llvm::DenseMap<Type, unsigned> numResults;
  for (Type type : func.getResultTypes())
    if (auto tensor = dyn_cast<MeshTensorType>(type))
      ++numResults[tensor.getRankedTensorType()];
  std::vector<Input> inputs;
  for (BlockArgument arg : func.getArguments()) {
    auto type = dyn_cast<MeshTensorType>(arg.getType());
    if (!type)
      continue;
    RankedTensorType tensor = type.getRankedTensorType();
    auto matching = numResults.find(tensor);
    bool isState = matching != numResults.end() && matching->second-- > 0;
    if (matching != numResults.end() && matching->second == 0)
      numResults.erase(matching);
    Input &input = inputs.emplace_back();
    input.value = arg;
    input.name = getName(arg);
    input.mesh = type.getMeshName();
    input.bytes = countBytes(tensor);
    input.isExplicit = assignment.entries.count(arg.getArgNumber());
    input.isState = isState;
    if (tensor.getRank() > 0 &&
        isa<FloatType, ComplexType>(tensor.getElementType()))
      input.readers = findReaders(arg, symbols);
  }
  return inputs;
}

static void printBytes(double bytes, InFlightDiagnostic &diag) {
  // The sum over inputs may be more than what any integer type holds.
  diag << llvm::formatv("{0:f0}", std::floor(bytes)).str() << " bytes";
}

/// The largest inputs first.
static void listInputs(SmallVector<const Input *> inputs,
                       InFlightDiagnostic &diag) {
  llvm::stable_sort(inputs, [](const Input *a, const Input *b) {
    return a->bytes > b->bytes;
  });
  size_t shown = std::min(inputs.size(), kMaxNamed);
  llvm::interleaveComma(
      ArrayRef(inputs).take_front(shown), diag, [&](const Input *input) {
        diag << input->name << " (";
        printBytes(input->bytes, diag);
        if (!input->readers.named.empty())
          diag << ", read by \"" << input->readers.named.front().second
               << "\" on mesh \"" << input->readers.named.front().first << '"';
        diag << ')';
      });
  if (size_t rest = inputs.size() - shown)
    diag << " and " << rest << " more";
}

static double sumBytes(ArrayRef<Input> inputs) {
  double total = 0;
  for (const Input &input : inputs)
    total += input.bytes;
  return total;
}

/// Inputs that some operation without a name brings to a mesh where no named
/// computation reads them.
static void reportMoved(ArrayRef<Input> inputs) {
  llvm::MapVector<StringRef, Moved> movedTo;
  for (const Input &input : inputs)
    if (!input.readers.named.empty())
      for (auto &[mesh, reader] : input.readers.unnamed) {
        if (input.readers.named.contains(mesh) ||
            (input.isExplicit && mesh == input.mesh))
          continue;
        Moved &moved = movedTo[mesh];
        moved.inputs.push_back(&input);
        moved.bytes += input.bytes;
        if (input.isState)
          moved.bytesOfState += input.bytes;
        if (!moved.reader)
          moved.reader = reader;
      }
  double total = sumBytes(inputs);
  for (auto &[mesh, moved] : movedTo) {
    if (moved.bytesOfState < total * kStateShare &&
        moved.bytes < total * kMovedShare)
      continue;
    InFlightDiagnostic diag = emitRemark(moved.reader->getLoc());
    diag << "an operation without a name brings inputs to mesh \"" << mesh
         << "\", on which no named computation reads them: ";
    listInputs(moved.inputs, diag);
    diag << "; together ";
    printBytes(moved.bytes, diag);
    diag << " in each step. Write the operation leaf by leaf, or put it into a "
            "named computation";
  }
}

/// Whether values of the shape of a result are combined element by element.
static bool isElementwise(Operation *op) {
  return isCheapToRepeat(op) && op->getNumOperands() > 0;
}

static int64_t getNumElements(Value value) {
  Type type = value.getType();
  if (auto mesh = dyn_cast<MeshTensorType>(type))
    type = mesh.getRankedTensorType();
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

namespace {
/// What meets element by element, such as a weight with its gradient, its moments
/// and their successors, in operations without a name and on one mesh.
class Families {
public:
  explicit Families(func::FuncOp func);

  /// Whether a value meets what was sent from another mesh, or is sent to one, and
  /// nothing that a named computation has on its own.
  bool isAway(Value value) const {
    const void *leader = getLeader(value);
    return sent.contains(leader) && !owned.contains(leader);
  }

private:
  void visitFragment(FragmentOp fragment);
  void visitOp(Operation *op);
  void join(Value one, Value other);
  const void *getLeader(Value value) const {
    auto leader = classes.findLeader(value.getAsOpaquePointer());
    return leader == classes.member_end() ? value.getAsOpaquePointer()
                                          : *leader;
  }

  llvm::EquivalenceClasses<const void *> classes;
  DenseSet<const void *> sent, owned;
  /// Equal constants are one value for all who read it.
  DenseSet<Value> constants;
};
} // namespace

Families::Families(func::FuncOp func) {
  SmallVector<Value> named, moved;
  for (Operation &op : func.front()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      llvm::append_values(moved, transfer.getTensor(), transfer.getResult());
      continue;
    }
    auto fragment = dyn_cast<FragmentOp>(op);
    if (fragment && isInferredFragment(fragment)) {
      visitFragment(fragment);
    } else if (!isa<func::ReturnOp>(op)) { // A named computation, or a call.
      llvm::append_range(named, op.getOperands());
      llvm::append_range(named, op.getResults());
    }
  }
  for (Value value : moved)
    sent.insert(getLeader(value));
  for (Value value : named)
    owned.insert(getLeader(value));
}

void Families::visitFragment(FragmentOp fragment) {
  Block &body = fragment.getRegion().front();
  for (auto [arg, operand] :
       llvm::zip_equal(body.getArguments(), fragment.getOperands()))
    if (constants.contains(operand))
      constants.insert(arg);
    else
      join(operand, arg);
  for (Operation &op : body.without_terminator())
    visitOp(&op);
  for (auto [value, result] : llvm::zip_equal(
           body.getTerminator()->getOperands(), fragment.getResults()))
    if (constants.contains(value))
      constants.insert(result);
    else
      join(value, result);
}

void Families::visitOp(Operation *op) {
  auto isConstant = [&](Value input) { return constants.contains(input); };
  // A set of what is read is only needed of ops with regions, which are few.
  if (op->getNumRegions() == 0 ? llvm::all_of(op->getOperands(), isConstant)
                               : llvm::all_of(getOutsideReads(op), isConstant))
    constants.insert_range(op->getResults());
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    for (auto [operand, result] :
         llvm::zip_equal(loop.getOperands(), loop.getResults()))
      join(operand, result);
  if (isElementwise(op))
    for (Value operand : op->getOperands())
      join(operand, op->getResult(0));
}

void Families::join(Value one, Value other) {
  int64_t count = getNumElements(one);
  if (count > 1 && count == getNumElements(other) && !constants.contains(one) &&
      !constants.contains(other))
    classes.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer());
}

/// State that operations without a name read on another mesh than that of what it
/// is updated with.
static void reportState(ArrayRef<Input> inputs, func::FuncOp func) {
  llvm::MapVector<StringRef, SmallVector<const Input *>> awayOn;
  std::optional<Families> families; // Looks at the whole function.
  for (const Input &input : inputs) {
    if (!input.isState || input.isExplicit || !input.readers.named.empty() ||
        input.readers.unnamed.empty())
      continue;
    if (!families)
      families.emplace(func);
    if (families->isAway(input.value))
      awayOn[input.mesh].push_back(&input);
  }
  double total = sumBytes(inputs);
  for (auto &[mesh, away] : awayOn) {
    double bytes = 0;
    for (const Input *input : away)
      bytes += input->bytes;
    if (bytes < total * kStateShare)
      continue;
    InFlightDiagnostic diag =
        emitRemark(away.front()->readers.unnamed.front().second->getLoc());
    diag << "mesh \"" << mesh << "\" holds ";
    printBytes(bytes, diag);
    diag << " of state that no named computation reads, and what updates it is "
            "on other meshes: ";
    listInputs(away, diag);
    diag << ". Write the operations that read several of them leaf by leaf, or "
            "assign the inputs to meshes";
  }
}

namespace {
struct ReportPlacementPass
    : mpmd::impl::ReportPlacementPassBase<ReportPlacementPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SymbolTable symbols(getOperation());
    for (func::FuncOp func : getEntryPoints(getOperation())) {
      if (getTopology(func).getMeshes().size() < 2)
        continue;
      std::vector<Input> inputs = collectInputs(func, inputAssignment, symbols);
      reportMoved(inputs);
      reportState(inputs, func);
    }
  }
};
} // namespace
