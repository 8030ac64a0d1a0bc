//===- MeshSetAttributes.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

bool mpmd::isMeshlessOp(Operation *op) {
  auto isOnMesh = llvm::IsaPred<MeshTensorType>;
  return !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa_and_nonnull<MpmdDialect>(op->getDialect()) &&
         !isa<ModuleOp, func::FuncOp>(op) &&
         llvm::none_of(op->getOperandTypes(), isOnMesh) &&
         llvm::none_of(op->getResultTypes(), isOnMesh);
}

bool mpmd::isBarrierOp(Operation *op) { return isa<BroadcastOp, ReduceOp>(op); }

StringRef mpmd::getFirstMesh(TopologyAttr topology) {
  StringRef first = topology.getMeshes().front().getName();
  for (NamedMeshAttr mesh : topology.getMeshes())
    first = std::min(first, mesh.getName());
  return first;
}

static SmallVector<func::FuncOp>
getFunctionsWhere(ModuleOp module, function_ref<bool(func::FuncOp)> accepts) {
  SmallVector<func::FuncOp> result;
  for (auto func : module.getOps<func::FuncOp>())
    if (getTopology(func) && getReturnOp(func) && accepts(func))
      result.push_back(func);
  return result;
}

SmallVector<func::FuncOp> mpmd::getEntryPoints(ModuleOp module) {
  return getFunctionsWhere(module, isEntryPointFunction);
}

SmallVector<func::FuncOp> mpmd::getCallees(ModuleOp module) {
  return getFunctionsWhere(
      module, [](func::FuncOp func) { return !isEntryPointFunction(func); });
}

SmallVector<func::FuncOp> mpmd::getMpmdFunctions(ModuleOp module) {
  return getFunctionsWhere(module, [](func::FuncOp) { return true; });
}

MeshSet mpmd::getMeshSet(Operation *op, StringRef name) {
  return MeshSet(
      dyn_cast_or_null<MeshesWithOriginsAttr>(op->getDiscardableAttr(name)));
}

bool mpmd::setMeshSet(Operation *op, StringRef name, MeshSet set) {
  Attribute old = op->getDiscardableAttr(name);
  if (old == set.getAttr())
    return false;
  if (!set.isSpecified())
    return static_cast<bool>(op->removeDiscardableAttr(name));
  op->setDiscardableAttr(name, set.getAttr());
  return true;
}

/// The set in a dictionary, which may be null.
static MeshSet getSetIn(DictionaryAttr dictionary, StringRef name) {
  if (!dictionary)
    return {};
  return MeshSet(dictionary.getAs<MeshesWithOriginsAttr>(name));
}

/// Puts sets into dictionaries. Returns how many change.
static unsigned setSetsIn(MutableArrayRef<DictionaryAttr> dictionaries,
                          StringRef name, ArrayRef<MeshSet> sets) {
  unsigned numChanged = 0;
  for (auto [dictionary, set] : llvm::zip(dictionaries, sets)) {
    if (getSetIn(dictionary, name) == set)
      continue;
    NamedAttrList attributes(dictionary);
    if (set.isSpecified())
      attributes.set(name, set.getAttr());
    else
      attributes.erase(name);
    dictionary = attributes.getDictionary(dictionary.getContext());
    ++numChanged;
  }
  return numChanged;
}

/// The dictionaries of a loop's arguments; empty ones where the loop has none.
static SmallVector<DictionaryAttr> getArgDictionaries(ForOp loop) {
  SmallVector<DictionaryAttr> result(loop.getRegion().getNumArguments(),
                                     DictionaryAttr::get(loop.getContext()));
  if (auto attrs =
          dyn_cast_or_null<ArrayAttr>(loop->getDiscardableAttr(kArgAttrsAttr)))
    for (auto [dictionary, attr] : llvm::zip(result, attrs))
      if (auto given = dyn_cast<DictionaryAttr>(attr))
        dictionary = given;
  return result;
}

MeshSet mpmd::getArgMeshSet(BlockArgument arg, StringRef name) {
  if (!arg.getOwner()->isEntryBlock())
    return {};
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto func = dyn_cast_or_null<func::FuncOp>(parent)) {
    // A function that is being rewritten may have more arguments than its type.
    if (arg.getArgNumber() >= func.getNumArguments())
      return {};
    return getSetIn(func.getArgAttrDict(arg.getArgNumber()), name);
  }
  if (auto loop = dyn_cast_or_null<ForOp>(parent)) {
    auto attrs =
        dyn_cast_or_null<ArrayAttr>(loop->getDiscardableAttr(kArgAttrsAttr));
    if (attrs && arg.getArgNumber() < attrs.size())
      return getSetIn(dyn_cast<DictionaryAttr>(attrs[arg.getArgNumber()]),
                      name);
  }
  return {};
}

static unsigned setLoopArgMeshSets(ForOp loop, StringRef name,
                                   ArrayRef<MeshSet> sets) {
  SmallVector<DictionaryAttr> dictionaries = getArgDictionaries(loop);
  unsigned numChanged = setSetsIn(dictionaries, name, sets);
  if (llvm::all_of(dictionaries, std::mem_fn(&DictionaryAttr::empty)))
    loop->removeDiscardableAttr(kArgAttrsAttr);
  else
    loop->setDiscardableAttr(
        kArgAttrsAttr,
        ArrayAttr::get(
            loop.getContext(),
            SmallVector<Attribute>(dictionaries.begin(), dictionaries.end())));
  return numChanged;
}

unsigned mpmd::setArgMeshSets(Operation *funcOrLoop, StringRef name,
                              ArrayRef<MeshSet> sets) {
  if (auto loop = dyn_cast<ForOp>(funcOrLoop))
    return setLoopArgMeshSets(loop, name, sets);
  auto func = cast<func::FuncOp>(funcOrLoop);
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllArgAttrs(dictionaries);
  unsigned numChanged = setSetsIn(dictionaries, name, sets);
  if (numChanged)
    func.setAllArgAttrs(dictionaries);
  return numChanged;
}

MeshSet mpmd::getResultUseSet(func::FuncOp func, unsigned result) {
  if (!func || result >= func.getNumResults())
    return {};
  return getSetIn(func.getResultAttrDict(result), kUseSetAttr);
}

unsigned mpmd::setResultUseSets(func::FuncOp func, ArrayRef<MeshSet> sets) {
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllResultAttrs(dictionaries);
  unsigned numChanged = setSetsIn(dictionaries, kUseSetAttr, sets);
  if (numChanged)
    func.setAllResultAttrs(dictionaries);
  return numChanged;
}
