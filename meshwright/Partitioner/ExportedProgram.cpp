//===- ExportedProgram.cpp - What a runtime has to do ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/Overlap.h"
#include "meshwright/Partitioner/IssueOrder.h"
#include "meshwright/Text/SourcePlace.h"
#include "llvm/ADT/StringMap.h"
#include <limits>

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

using Slot = ExportedProgram::Slot;

static constexpr uint64_t kMaxAlias = std::numeric_limits<int64_t>::max();

static std::string getText(DictionaryAttr attributes, StringRef key) {
  auto text = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  return text ? text.getValue().str() : "";
}

static Slot readSlot(DictionaryAttr attributes) {
  Slot slot;
  slot.memoryKind = getText(attributes, kMemoryKindAttr);
  slot.layout = getText(attributes, kLayoutModeAttr);
  if (!attributes)
    return slot;
  slot.sharding = attributes.getAs<sdy::TensorShardingAttr>(sdy::kShardingAttr);
  if (auto alias = attributes.getAs<IntegerAttr>(kAliasingOutputAttr))
    slot.alias = alias.getValue().getLimitedValue(kMaxAlias);
  if (auto donor = attributes.getAs<BoolAttr>(kBufferDonorAttr))
    slot.isDonated = donor.getValue();
  slot.isDonated |= slot.alias.has_value();
  return slot;
}

static std::string getSourceText(Location location) {
  std::optional<SourcePlace> place = findSourcePlace(location);
  return place ? place->getText() : "";
}

static std::string findName(Location location) {
  auto name = dyn_cast<NameLoc>(location);
  return name ? name.getName().str() : "";
}

namespace {
class Describer {
public:
  Describer(func::FuncOp function, CustomCosts customs)
      : function(function), module(function->getParentOfType<ModuleOp>()),
        symbols(module), customs(std::move(customs)) {}

  FailureOr<ExportedProgram> describe();

private:
  /// What is said of all values of a type; an error if it cannot be run.
  FailureOr<ExportedProgram::Value> describeType(Value value);
  FailureOr<unsigned> addValue(Value value, StringRef memoryKind = "");
  LogicalResult addCall(FragmentCallOp call);
  LogicalResult addTransfer(TransferOp transfer);
  FailureOr<unsigned> getFragment(FragmentCallOp call, unsigned mesh);
  void addOutputs(Operation *terminator);

  func::FuncOp function;
  ModuleOp module;
  SymbolTable symbols;
  CustomCosts customs;
  ExportedProgram program;
  llvm::StringMap<unsigned> meshIds;
  /// The kinds of values by memory kind, where their types say none, and type.
  llvm::StringMap<DenseMap<Type, unsigned>> kinds;
  DenseMap<Value, unsigned> valueIds;
  /// By function and mesh.
  DenseMap<std::pair<Operation *, unsigned>, unsigned> fragmentIds;
};
} // namespace

FailureOr<ExportedProgram::Value> Describer::describeType(Value value) {
  auto type = dyn_cast<MeshTensorType>(value.getType());
  if (!type)
    return emitError(value.getLoc())
           << "cannot be run: expected a tensor on a mesh, but got "
           << value.getType();
  auto found = meshIds.find(type.getMeshName());
  if (found == meshIds.end())
    return emitError(value.getLoc())
           << "cannot be run: mesh \"" << type.getMeshName()
           << "\" is not in the topology; add it, or assign another mesh";
  unsigned mesh = found->second;
  RankedTensorType global = type.getRankedTensorType();
  RankedTensorType local = type.getLocalTensorType(program.meshes[mesh].shape);
  StringAttr kind = type.getMemoryKind();
  return ExportedProgram::Value{mesh,
                                global,
                                type.getSharding(),
                                kind ? kind.str() : "",
                                countBytes(global),
                                countBytes(local)};
}

FailureOr<unsigned> Describer::addValue(Value value, StringRef memoryKind) {
  auto [kind, isNew] = kinds[memoryKind].try_emplace(value.getType());
  if (isNew) {
    FailureOr<ExportedProgram::Value> described = describeType(value);
    if (failed(described))
      return failure();
    if (described->memoryKind.empty())
      described->memoryKind = memoryKind.str();
    kind->second = program.values.addKind(std::move(*described));
  }
  return valueIds[value] = program.values.add(kind->second);
}

/// What an argument becomes must be a result of its function.
static LogicalResult verifyAliases(func::FuncOp function,
                                   ArrayRef<Slot> arguments) {
  int64_t count = function.getNumResults();
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (argument.alias && *argument.alias >= count)
      return function.emitError()
             << "cannot be run: argument " << index << " has "
             << kAliasingOutputAttr << " = "
             << function.getArgAttr(index, kAliasingOutputAttr)
             << ", expected an index below the number of its results, "
             << count;
  return success();
}

FailureOr<unsigned> Describer::getFragment(FragmentCallOp call, unsigned mesh) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  auto [entry, isNew] =
      fragmentIds.try_emplace({callee, mesh}, program.fragments.size());
  if (isNew) {
    ExportedProgram::Fragment &fragment = program.fragments.emplace_back();
    fragment.function = callee;
    fragment.mesh = mesh;
    if (auto bytes = callee->getAttrOfType<IntegerAttr>(kReservedHbmBytesAttr))
      fragment.reservedBytes = bytes.getInt();
    for (unsigned i = 0; i < callee.getNumArguments(); ++i)
      fragment.arguments.push_back(readSlot(callee.getArgAttrDict(i)));
    for (unsigned i = 0; i < callee.getNumResults(); ++i)
      fragment.results.push_back(readSlot(callee.getResultAttrDict(i)));
    if (failed(verifyAliases(callee, fragment.arguments)))
      return failure();
  }
  return entry->second;
}

static void readOrigins(ArrayAttr list, ExportedProgram::Origins &origins) {
  for (auto origin : list.getAsRange<UserOriginAttr>()) {
    std::string text = origin.getUserName().str();
    origins.originNames.push_back(text);
    origins.transposeCount =
        std::max<int64_t>(origins.transposeCount, origin.getTransposeCount());
    if (int64_t count = origin.getTransposeCount())
      text += "(" + std::to_string(count) + ")";
    origins.origins.push_back(std::move(text));
  }
}

LogicalResult Describer::addCall(FragmentCallOp call) {
  unsigned mesh = meshIds.lookup(call.getMeshName());
  FailureOr<unsigned> fragmentId = getFragment(call, mesh);
  if (failed(fragmentId))
    return failure();
  auto kind = std::make_shared<ExportedProgram::ItemKind>();
  kind->fragment = *fragmentId;
  kind->fromMesh = kind->toMesh = mesh;
  ExportedProgram::Fragment &fragment = program.fragments[*fragmentId];
  ++fragment.calls;
  readOrigins(call.getOrigin(), *kind);
  FailureOr<SmallVector<OverlappedPart>> parts = getOverlappedParts(call);
  if (failed(parts))
    return failure();
  for (const OverlappedPart &part : *parts) {
    ExportedProgram::Part &added = kind->parts.emplace_back();
    readOrigins(part.origin, added);
    added.numResults = part.numResults;
  }
  kind->isRemat = call->hasAttr(kRematAttr);
  kind->location = getSourceText(call.getLoc());
  ExportedProgram::Item item;
  if (function->hasAttr(kKeepsCountersAttr))
    item.counter = getCallCounter(call);
  item.operands.reserve(call.getTensors().size());
  for (Value operand : call.getTensors())
    item.operands.push_back(valueIds.lookup(operand));
  item.results.first = program.values.size();
  item.results.count = call->getNumResults();
  for (OpResult result : call.getResults())
    if (failed(addValue(result,
                        fragment.results[result.getResultNumber()].memoryKind)))
      return failure();
  item.kind = std::move(kind);
  program.addItem(std::move(item));
  return success();
}

LogicalResult Describer::addTransfer(TransferOp transfer) {
  FailureOr<unsigned> id = addValue(transfer.getResult());
  if (failed(id))
    return failure();
  ExportedProgram::Item item;
  item.operands = {valueIds.lookup(transfer.getTensor())};
  item.results = {*id, 1};
  auto kind = std::make_shared<ExportedProgram::ItemKind>();
  kind->fromMesh = program.values[item.operands.front()].mesh;
  kind->toMesh = program.values[*id].mesh;
  kind->isDelayed = transfer->hasAttr(kDelayedAttr);
  if (auto beside = transfer->getAttrOfType<IntegerAttr>(kBesideAttr))
    kind->beside = beside.getInt();
  kind->isAwaited = transfer->hasAttr(kAwaitedAttr);
  kind->location = getSourceText(transfer.getLoc());
  item.kind = std::move(kind);
  program.addItem(std::move(item));
  return success();
}

void Describer::addOutputs(Operation *terminator) {
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Slot slot = readSlot(function.getResultAttrDict(index));
    slot.name = getText(function.getResultAttrDict(index), kResultInfoAttr);
    program.outputs.push_back(
        {valueIds.lookup(operand.get()), std::move(slot)});
  }
}

//===----------------------------------------------------------------------===//
// What follows from the items
//===----------------------------------------------------------------------===//

void ExportedProgram::addItem(Item item) {
  unsigned index = items.size(), from = item->fromMesh, to = item->toMesh;
  meshes[from].items.push_back(index);
  if (to != from)
    meshes[to].items.push_back(index);
  items.push_back(std::move(item));
}

/// Outputs are live to the end. What nothing reads ends with the item that makes it.
static void addLastUses(ExportedProgram &program) {
  constexpr unsigned kNever = std::numeric_limits<unsigned>::max();
  std::vector<unsigned> last(program.values.size(), kNever);
  for (auto [index, item] : llvm::enumerate(program.items)) {
    for (unsigned value : item.results)
      last[value] = index;
    for (unsigned value : item.operands)
      last[value] = index;
  }
  for (const ExportedProgram::Boundary &output : program.outputs)
    last[output.value] = kNever;
  std::vector<unsigned> numEnding(program.items.size());
  for (unsigned index : last)
    if (index != kNever)
      ++numEnding[index];
  for (auto [item, count] : llvm::zip_equal(program.items, numEnding))
    item.lastUses.reserve(count);
  // By value, so that each list is sorted.
  for (auto [value, index] : llvm::enumerate(last))
    if (index != kNever)
      program.items[index].lastUses.push_back(value);
}

/// What leaves for the host is there until the last call beside which it does has ended;
/// the one after that may wait for it.
static void holdDeparting(ExportedProgram &program) {
  for (auto [number, mesh] : llvm::enumerate(program.meshes)) {
    SmallVector<std::pair<int64_t, unsigned>> departing, awaited;
    for (unsigned index : mesh.items) {
      ExportedProgram::Item &item = program.items[index];
      if (item->isAwaited && item->fromMesh == number)
        awaited.emplace_back(item->beside, item.results.front());
      if (item->beside > 0 && item->fromMesh == number) {
        for (unsigned value : item.lastUses)
          departing.emplace_back(item->beside, value);
        item.lastUses.clear();
      }
      if (!item->fragment)
        continue;
      llvm::erase_if(awaited, [&](auto &waiting) {
        if (waiting.first-- > 0)
          return false;
        item.awaits.push_back(waiting.second);
        return true;
      });
      llvm::erase_if(departing, [&](auto &waiting) {
        if (--waiting.first > 0)
          return false;
        item.lastUses.push_back(waiting.second);
        return true;
      });
      llvm::sort(item.lastUses);
    }
  }
}

void meshwright::completeProgram(ExportedProgram &program) {
  addLastUses(program);
  holdDeparting(program);
  program.issueOrder = findIssueOrder(program);
}

//===----------------------------------------------------------------------===//
// The whole function
//===----------------------------------------------------------------------===//

FailureOr<ExportedProgram> Describer::describe() {
  program.name = module.getSymName().value_or("main").str();
  TopologyAttr topology = getTopology(function);
  if (!topology || function.isExternal())
    return function.emitError()
           << "cannot be run: expected a function with a body and a topology";
  for (NamedMeshAttr mesh : topology.getMeshes()) {
    meshIds[mesh.getName()] = program.meshes.size();
    program.meshes.push_back({mesh.getName().str(), mesh.getMesh(), {}});
  }
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes =
        function.getArgAttrDict(argument.getArgNumber());
    Slot slot = readSlot(attributes);
    slot.name = findName(argument.getLoc());
    FailureOr<unsigned> id = addValue(argument, slot.memoryKind);
    if (failed(id))
      return failure();
    program.inputs.push_back({*id, std::move(slot)});
  }
  // Growing by themselves they would be copied again and again.
  size_t numItems = 0, numValues = program.values.size();
  for (Operation &op : function.front()) {
    ++numItems;
    numValues += op.getNumResults();
  }
  program.items.reserve(numItems);
  program.values.reserve(numValues);
  valueIds.reserve(numValues);
  for (Operation &op : function.front()) {
    LogicalResult result = success();
    if (auto call = dyn_cast<FragmentCallOp>(op))
      result = addCall(call);
    else if (auto transfer = dyn_cast<TransferOp>(op))
      result = addTransfer(transfer);
    else if (isa<func::ReturnOp>(op))
      addOutputs(&op);
    else
      result = op.emitError() << "cannot be run: expected only fragment calls "
                                 "and transfers in an exported function; run "
                                 "the export pipeline first";
    if (failed(result))
      return failure();
  }
  program.isInStartOrder = function->hasAttr(kStartOrderAttr);
  estimateFlops(program, module, std::move(customs));
  completeProgram(program);
  return std::move(program);
}

FailureOr<ExportedProgram> meshwright::describeProgram(func::FuncOp function,
                                                       CustomCosts customs) {
  return Describer(function, std::move(customs)).describe();
}

void meshwright::estimateFlops(ExportedProgram &program, ModuleOp module,
                               CustomCosts customs) {
  WorkEstimator estimator(module, std::move(customs));
  for (ExportedProgram::Fragment &fragment : program.fragments)
    fragment.flops = estimator.estimate(fragment.function.getBody()).flops;
}
