//===- ValueMeshes.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::mpmd;

/// How many ops the computation of a value is followed over.
static constexpr unsigned kMaxFollowed = 64;

//===----------------------------------------------------------------------===//
// Meshes and sizes
//===----------------------------------------------------------------------===//

MeshNumbers::MeshNumbers(TopologyAttr topology) {
  for (NamedMeshAttr mesh : topology.getMeshes())
    names.push_back(mesh.getName());
  llvm::sort(names);
  for (auto [number, name] : llvm::enumerate(names))
    numbers.try_emplace(name, number);
}

MeshBits MeshNumbers::getBits(StringRef mesh) const {
  MeshBits bits;
  if (auto number = numbers.find(mesh); number != numbers.end()) {
    bits.resize(names.size());
    bits.set(number->second);
  }
  return bits;
}

double mpmd::getTensorBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? static_cast<double>(meshwright::countBytes(type)) : 0;
}

bool mpmd::isCheapToRepeat(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
         (op->hasTrait<OpTrait::Elementwise>() ||
          isa<stablehlo::BroadcastInDimOp, stablehlo::ClampOp,
              stablehlo::OptimizationBarrierOp, stablehlo::ReshapeOp,
              stablehlo::SelectOp, stablehlo::TransposeOp,
              UnrealizedConversionCastOp>(op));
}

AssignOp mpmd::findKept(Value value) {
  for (Operation *user : value.getUsers())
    if (auto assign = dyn_cast<AssignOp>(user);
        assign && assign.getOrigin() == kFewestBytesOrigin)
      return assign;
  return {};
}

/// Adds the meshes of `other`; the union with anywhere is the other side.
static void addMeshes(MeshBits &bits, const MeshBits &other) {
  if (bits.empty())
    bits = other;
  else if (!other.empty())
    bits |= other;
}

static SmallVector<Value> getTensorInputs(Operation *op) {
  SmallVector<Value> inputs;
  for (Value value : getOutsideReads(op))
    if (isa<RankedTensorType>(value.getType()))
      inputs.push_back(value);
  return inputs;
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

ValueMeshes::ValueMeshes(func::FuncOp func, const MeshDataFlow &flow,
                         const Callees &callees)
    : block(func.front()), flow(flow), callees(callees),
      numbers(getTopology(func)) {
  run();
  if (improveChoices())
    run();
}

void ValueMeshes::run() {
  sets.clear();
  travelBytes.clear();
  roots.clear();
  numSent.clear();
  choices.clear();
  reductions.clear();
  visitArguments();
  for (Operation &op : block)
    visitOp(&op);
}

/// Whether a value is a number, or one that is broadcast, which any mesh can be sent.
static bool isOfNumber(Value value) {
  if (getTensorBytes(value) <= kSmallBytes)
    return true;
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_if_present<stablehlo::BroadcastInDimOp>(op))
    return getTensorBytes(broadcast.getOperand()) <= kSmallBytes;
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether an op gives one of its operands another form, scales it or takes a part.
static bool keepsForm(OpOperand &use) {
  Operation *op = use.getOwner();
  if (op->getNumOperands() == 1)
    return isCheapToRepeat(op) ||
           isa<stablehlo::SliceOp, stablehlo::OptimizationBarrierOp>(op);
  return isCheapToRepeat(op) &&
         llvm::all_of(op->getOperands(), [&](Value other) {
           return other == use.get() || isOfNumber(other);
         });
}

/// Where fragments read an argument, or what only gives it another form or takes
/// a part of it.
static MeshBits findReaders(BlockArgument arg, const ValueMeshes &meshes) {
  MeshBits found;
  SetVector<Value> forms;
  forms.insert(arg);
  for (size_t next = 0; next != forms.size(); ++next)
    for (OpOperand &use : forms[next].getUses()) {
      Operation *user = use.getOwner();
      if (isa<AssignOp, CallOp>(user))
        addMeshes(found, meshes.getReaders(use));
      else if (keepsForm(use))
        forms.insert(user->getResult(0));
    }
  return found;
}

/// Arguments can be anywhere, but need no further transfer to where they are
/// read.
void ValueMeshes::visitArguments() {
  for (BlockArgument arg : block.getArguments()) {
    if (!isa<RankedTensorType>(arg.getType()))
      continue;
    travelBytes[arg] = getTensorBytes(arg);
    if (MeshBits readers = findReaders(arg, *this); !readers.empty())
      sets[arg] = readers;
  }
}

void ValueMeshes::visitOp(Operation *op) {
  for (Value result : op->getResults())
    travelBytes[result] = getTensorBytes(result);
  if (auto unassign = dyn_cast<UnassignOp>(op)) {
    Value source = unassign.getTensor();
    auto add = [&](MeshTensorType type) {
      addMeshes(sets[unassign], numbers.getBits(type.getMeshName()));
    };
    add(unassign.getTensor().getType());
    for (Operation *user : source.getUsers())
      if (auto transfer = dyn_cast<TransferOp>(user))
        add(transfer.getType());
    return;
  }
  if (auto call = dyn_cast<CallOp>(op)) {
    auto callee = callees.find(flow.getCallee(call));
    if (callee != callees.end())
      for (auto [result, meshes] :
           llvm::zip(call->getResults(), callee->second.results))
        sets[result] = meshes;
    return;
  }
  if (!isMeshlessOp(op))
    return;
  if (auto barrier = dyn_cast<stablehlo::OptimizationBarrierOp>(op))
    for (auto [operand, result] :
         llvm::zip_equal(barrier->getOperands(), barrier->getResults())) {
      sets[result] = get(operand);
      travelBytes[result] = getTravelBytes(operand);
    }
  else
    visitComputation(op);
}

namespace {
/// The mesh for an op with the lowest cost.
struct Cheapest {
  unsigned mesh = 0;
  double cost = 0;
};
/// What speaks for a mesh, most important first: bytes that need not travel, a
/// reader of the result, an argument, which is state and stays, where what is
/// computed is gone after the step.
using Reasons = std::tuple<double, bool, bool>;
} // namespace

static bool isArgument(Value value) {
  if (auto unassign = value.getDefiningOp<UnassignOp>())
    value = unassign.getTensor();
  return isa<BlockArgument>(value);
}

/// The mesh for an op with these inputs; of several for which the same speaks, the first.
static Cheapest findCheapest(Operation *op, ArrayRef<Value> inputs,
                             const ValueMeshes &meshes,
                             const ValueMeshes::NeededBytes &neededBytes) {
  std::map<unsigned, Reasons> reasons;
  double total = 0;
  for (Value input : inputs) {
    MeshBits bits = meshes.get(input);
    double bytes = bits.empty() ? 0 : meshes.getTravelBytes(input);
    total += bytes;
    for (unsigned mesh : bits.set_bits())
      std::get<2>(reasons[mesh]) |= isArgument(input);
    // What another op is sent is there. Cheap ops follow their inputs from round to
    // round; a product, such as the gradient of a weight, stays.
    if (!isCheapToRepeat(op))
      bits = meshes.getWithSent(input, op);
    for (unsigned mesh : bits.set_bits())
      std::get<0>(reasons[mesh]) += bytes;
  }
  for (auto [mesh, bytes] : neededBytes) {
    total += bytes;
    std::get<0>(reasons[mesh]) += bytes;
    std::get<1>(reasons[mesh]) = true;
  }
  auto best = llvm::max_element(reasons, [](const auto &a, const auto &b) {
    return a.second < b.second;
  });
  return {best->first, total - std::get<0>(best->second)};
}

MeshBits ValueMeshes::getWithSent(Value value, Operation *besides) const {
  MeshBits bits = get(value);
  auto sent = numSent.find(value);
  if (sent == numSent.end())
    return bits;
  std::optional<unsigned> own = getChoice(besides);
  for (auto [mesh, count] : llvm::enumerate(sent->second))
    if (count > (own == mesh ? 1u : 0u))
      bits.set(mesh);
  return bits;
}

/// Whether an op that sums up is left to become a reduction across meshes. It
/// is not if most of what it adds may be repeated where the rest is, nor if it
/// updates an argument, which has its place.
bool ValueMeshes::isReduction(Operation *op, ArrayRef<Value> inputs,
                              bool isDisjoint, double cost) const {
  std::optional<ReductionType> kind = getKindAcrossMeshes(op);
  if (!kind)
    return false;
  if (isDisjoint)
    return isa<stablehlo::ConcatenateOp>(op) ||
           (cost >= getTensorBytes(op->getResult(0)) &&
            llvm::none_of(inputs, isArgument));
  return llvm::any_of(inputs, [&](Value input) {
    auto producer = reductions.find(input.getDefiningOp());
    return producer != reductions.end() && producer->second == kind;
  });
}

/// Of several meshes, the one to which a value was assigned to be sent from there: it
/// is computed on no other.
MeshBits ValueMeshes::getComputed(Value value, const MeshBits &meshes) const {
  if (meshes.count() <= 1)
    return meshes;
  AssignOp assign = findKept(value);
  MeshBits mesh =
      assign ? numbers.getBits(assign.getType().getMeshName()) : MeshBits();
  return mesh.anyCommon(meshes) ? mesh : meshes;
}

void ValueMeshes::visitComputation(Operation *op) {
  SmallVector<Value> inputs = getTensorInputs(op);
  MeshBits common, all;
  bool isFirst = true;
  double fromInputs = 0;
  for (Value input : inputs) {
    MeshBits bits = get(input);
    if (bits.empty())
      continue;
    fromInputs += getTravelBytes(input);
    addMeshes(all, bits);
    if (isFirst)
      common = bits;
    else
      common &= bits;
    isFirst = false;
  }
  if (all.empty())
    return;
  bool isDisjoint = common.none();
  Cheapest cheapest;
  if (isDisjoint)
    cheapest = findCheapest(op, inputs, *this, NeededBytes());
  if (isReduction(op, inputs, isDisjoint, cheapest.cost)) {
    reductions[op] = *getKindAcrossMeshes(op);
    if (auto concat = dyn_cast<stablehlo::ConcatenateOp>(op))
      reductions[getReduceOfPieces(concat)] = reductions[op];
    common = all;
  } else if (isDisjoint) {
    auto known = improved.find(op);
    unsigned mesh = known == improved.end() ? cheapest.mesh : known->second;
    choices[op] = mesh;
    for (Value input : inputs)
      if (MeshBits bits = get(input); !bits.empty() && !bits.test(mesh)) {
        numSent[input].resize(bits.size());
        ++numSent[input][mesh];
      }
    common = numbers.getBits(numbers.getName(mesh));
  }
  bool isCheap = isCheapToRepeat(op);
  for (Value result : op->getResults()) {
    sets[result] = getComputed(result, common);
    if (isCheap)
      travelBytes[result] = std::min(travelBytes[result], fromInputs);
  }
  if (isCheap)
    noteRoot(op, inputs);
}

/// A square of a gradient and its multiples are made of the gradient alone.
void ValueMeshes::noteRoot(Operation *op, ArrayRef<Value> inputs) {
  SmallVector<Value> known;
  for (Value input : inputs)
    if (!get(input).empty())
      known.push_back(getRoot(input));
  if (!known.empty() && llvm::all_equal(known))
    roots[op->getResult(0)] = known.front();
}

Value ValueMeshes::getRoot(Value value) const {
  Value root = roots.lookup(value);
  return root ? root : value;
}

//===----------------------------------------------------------------------===//
// Backwards
//===----------------------------------------------------------------------===//

std::optional<unsigned> ValueMeshes::getChoice(Operation *op) const {
  auto choice = choices.find(op);
  return choice == choices.end() ? std::nullopt
                                 : std::optional<unsigned>(choice->second);
}

bool ValueMeshes::isWholeSum(Operation *op) const {
  auto sum = reductions.find(op);
  return sum != reductions.end() && !isa<stablehlo::ConcatenateOp>(op) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           auto whole = reductions.find(user);
           return whole == reductions.end() || whole->second != sum->second;
         });
}

MeshBits ValueMeshes::getReaders(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (auto assign = dyn_cast<AssignOp>(user))
    return numbers.getBits(assign.getType().getMeshName());
  if (auto call = dyn_cast<CallOp>(user)) {
    auto callee = callees.find(flow.getCallee(call));
    if (callee != callees.end() &&
        use.getOperandNumber() < callee->second.arguments.size())
      return callee->second.arguments[use.getOperandNumber()];
    return {};
  }
  if (user->getBlock() == &block && isa<stablehlo::OptimizationBarrierOp>(user))
    return get(user->getResult(use.getOperandNumber()));
  Operation *op = block.findAncestorOpInBlock(*user);
  return op && isMeshlessOp(op) && op->getNumResults() > 0
             ? get(op->getResult(0))
             : MeshBits();
}

/// Whether `user` reads something on a mesh besides what `op` gives, or what that is
/// made of.
bool ValueMeshes::readsOthers(Operation *user, Operation *op) const {
  return llvm::any_of(getTensorInputs(user), [&](Value input) {
    return input.getDefiningOp() != op && !get(input).empty() &&
           getRoot(input) != getRoot(op->getResult(0));
  });
}

/// The meshes that read the results of an op. An op that reads nothing else which
/// is on a mesh hands on what it is asked for; another one has its own mesh.
ValueMeshes::NeededBytes ValueMeshes::getNeededBytes(Operation *op) {
  NeededBytes found;
  auto add = [&](unsigned mesh, double bytes) {
    double &known = found[mesh];
    known = std::max(known, bytes);
  };
  for (Value result : op->getResults()) {
    double bytes = getTravelBytes(result);
    for (OpOperand &use : result.getUses()) {
      Operation *user = block.findAncestorOpInBlock(*use.getOwner());
      // A loop over values of several meshes has to be sent most of them anyway, and
      // may be unrolled; a concatenation may be split.
      if (!user || isa<stablehlo::WhileOp>(user) ||
          (isa<stablehlo::ConcatenateOp>(user) && choices.contains(user)))
        continue;
      if (reductions.contains(user)) {
        // Each part is sent, but for those on the mesh of the whole.
        for (auto [mesh, wanted] : neededBytes.lookup(user))
          add(mesh, 0);
        continue;
      }
      if (auto known = improved.find(user); known != improved.end()) {
        add(known->second, bytes);
        continue;
      }
      auto handed = neededBytes.find(user);
      if (handed != neededBytes.end() && isMeshlessOp(user) &&
          !readsOthers(user, op)) {
        for (auto [mesh, wanted] : handed->second)
          add(mesh, std::min(bytes, wanted));
        continue;
      }
      if (MeshBits readers = getReaders(use); readers.count() == 1)
        add(readers.find_first(), bytes);
    }
  }
  return found;
}

bool ValueMeshes::improveChoices() {
  if (choices.empty())
    return false;
  bool changes = false;
  for (Operation &op : llvm::reverse(block)) {
    if (!isMeshlessOp(&op) || op.getNumResults() == 0 ||
        get(op.getResult(0)).empty())
      continue;
    NeededBytes wanted = getNeededBytes(&op);
    if (auto choice = choices.find(&op); choice != choices.end()) {
      unsigned mesh =
          findCheapest(&op, getTensorInputs(&op), *this, wanted).mesh;
      changes |= mesh != choice->second;
      improved[&op] = mesh;
    }
    neededBytes[&op] = std::move(wanted);
  }
  neededBytes.clear();
  return changes;
}

double ValueMeshes::getSourceBytes(Value value) const {
  double bytes = 0;
  SetVector<Value> values;
  values.insert(value);
  for (size_t next = 0; next != values.size() && next != kMaxFollowed; ++next) {
    Operation *op = values[next].getDefiningOp();
    if (get(values[next]).empty())
      continue;
    if (op && isMeshlessOp(op))
      values.insert_range(getTensorInputs(op));
    else
      bytes += getTensorBytes(values[next]);
  }
  return bytes;
}

ValueMeshes::Callees ValueMeshes::analyzeCallees(ModuleOp module,
                                                 const MeshDataFlow &flow) {
  Callees callees;
  for (func::FuncOp func : getCallees(module))
    callees[func] = ValueMeshes(func, flow, callees).summarize();
  return callees;
}

void ValueMeshes::visitFunctions(
    ModuleOp module,
    function_ref<void(func::FuncOp, const MeshDataFlow &, const Callees &)>
        visit) {
  MeshDataFlow flow(module);
  Callees callees;
  for (func::FuncOp func : getCallees(module)) {
    visit(func, flow, callees);
    callees[func] = ValueMeshes(func, flow, callees).summarize();
  }
  for (func::FuncOp func : getEntryPoints(module))
    visit(func, flow, callees);
}

ValueMeshes::Callee ValueMeshes::summarize() {
  Callee callee;
  for (BlockArgument arg : block.getArguments())
    callee.arguments.push_back(
        isa<MeshTensorType>(arg.getType())
            ? numbers.getBits(cast<MeshTensorType>(arg.getType()).getMeshName())
            : findReaders(arg, *this));
  for (Value value : block.getTerminator()->getOperands())
    callee.results.push_back(get(value));
  return callee;
}
