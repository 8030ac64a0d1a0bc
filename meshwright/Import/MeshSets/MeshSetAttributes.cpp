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
  return !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa_and_nonnull<MpmdDialect>(op->getDialect()) &&
         !isa<ModuleOp, func::FuncOp>(op);
}

bool mpmd::isBarrierOp(Operation *op) { return isa<BroadcastOp, ReduceOp>(op); }

StringRef mpmd::getFirstMesh(TopologyAttr topology) {
  StringRef first = topology.getMeshes().front().getName();
  for (NamedMeshAttr mesh : topology.getMeshes())
    first = std::min(first, mesh.getName());
  return first;
}

func::ReturnOp mpmd::getReturnOp(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return {};
  return dyn_cast<func::ReturnOp>(func.getBody().front().getTerminator());
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

void mpmd::setMeshSet(Operation *op, StringRef name, MeshSet set) {
  if (set.isSpecified())
    op->setDiscardableAttr(name, set.getAttr());
  else
    op->removeDiscardableAttr(name);
}

/// The set in a dictionary, which may be null.
static MeshSet getSetIn(DictionaryAttr dictionary, StringRef name) {
  if (!dictionary)
    return {};
  return MeshSet(dictionary.getAs<MeshesWithOriginsAttr>(name));
}

static DictionaryAttr withSet(DictionaryAttr dictionary, StringRef name,
                              MeshSet set) {
  if (getSetIn(dictionary, name) == set)
    return dictionary;
  NamedAttrList attributes(dictionary);
  if (set.isSpecified())
    attributes.set(name, set.getAttr());
  else
    attributes.erase(name);
  return attributes.getDictionary(dictionary.getContext());
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

static void setLoopArgMeshSets(ForOp loop, StringRef name,
                               ArrayRef<MeshSet> sets) {
  SmallVector<Attribute> attrs;
  for (auto [dictionary, set] : llvm::zip_equal(getArgDictionaries(loop), sets))
    attrs.push_back(withSet(dictionary, name, set));
  if (llvm::all_of(attrs, [](Attribute attr) {
        return cast<DictionaryAttr>(attr).empty();
      }))
    loop->removeDiscardableAttr(kArgAttrsAttr);
  else
    loop->setDiscardableAttr(kArgAttrsAttr,
                             ArrayAttr::get(loop.getContext(), attrs));
}

void mpmd::setArgMeshSets(Operation *funcOrLoop, StringRef name,
                          ArrayRef<MeshSet> sets) {
  if (auto loop = dyn_cast<ForOp>(funcOrLoop))
    return setLoopArgMeshSets(loop, name, sets);
  auto func = cast<func::FuncOp>(funcOrLoop);
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllArgAttrs(dictionaries);
  for (auto [dictionary, set] : llvm::zip(dictionaries, sets))
    dictionary = withSet(dictionary, name, set);
  func.setAllArgAttrs(dictionaries);
}

MeshSet mpmd::getResultUseSet(func::FuncOp func, unsigned result) {
  if (!func || result >= func.getNumResults())
    return {};
  return getSetIn(func.getResultAttrDict(result), kUseSetAttr);
}

void mpmd::setResultUseSets(func::FuncOp func, ArrayRef<MeshSet> sets) {
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllResultAttrs(dictionaries);
  for (auto [dictionary, set] : llvm::zip(dictionaries, sets))
    dictionary = withSet(dictionary, kUseSetAttr, set);
  func.setAllResultAttrs(dictionaries);
}
