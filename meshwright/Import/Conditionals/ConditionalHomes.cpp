//===- ConditionalHomes.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Conditionals/ConditionalHomes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetPropagation.h"

using namespace mlir;
using namespace mlir::mpmd;

ConditionalHomes::ConditionalHomes(ModuleOp module,
                                   ArrayRef<Operation *> conditionals,
                                   bool sendsLittle)
    : sendsLittle(sendsLittle), copy(cast<ModuleOp>(module->clone(mapping))),
      flow(*copy) {
  if (sendsLittle)
    for (func::FuncOp func : getMpmdFunctions(*copy))
      eraseConsents(func);
  for (Operation *conditional : conditionals)
    chosen[conditional] = inlineBranches(mapping.lookup(conditional));
  populateUseSets(*copy);
  populateSrcSets(*copy);
  ValueMeshes::Callees callees;
  for (func::FuncOp func : getCallees(*copy)) {
    auto &analysis = meshes[func] =
        std::make_unique<ValueMeshes>(func, flow, callees);
    callees[func] = analysis->summarize();
  }
  for (func::FuncOp func : getEntryPoints(*copy))
    meshes[func] = std::make_unique<ValueMeshes>(func, flow, callees);
  for (func::FuncOp func : getMpmdFunctions(*copy))
    classes[func] = std::make_unique<StateClasses>(func, *meshes[func]);
}

static MeshNames getNames(MeshSet set) {
  MeshNames names;
  for (MeshWithOriginsAttr mesh : set.getMeshes())
    names.push_back(mesh.getMeshName());
  llvm::sort(names);
  return names;
}

MeshNames ConditionalHomes::getHome(OpResult result) const {
  Operation *choice =
      chosen.find(result.getOwner())->second[result.getResultNumber()];
  MeshSet uses = getMeshSet(choice, kUseSetAttr);
  MeshSet sources = getMeshSet(choice, kSrcSetAttr);
  if (!sources.isSpecified() && !uses.isSpecifiedAndNotEmpty())
    return findState(choice);
  if (!sources.isSpecified() ||
      (uses.isSpecifiedAndNotEmpty() && isSubset(uses, sources)))
    return getNames(uses);
  if (sendsLittle)
    if (MeshNames names = findState(choice); !names.empty())
      return names;
  if (std::optional<StringRef> mesh = prioritize(sources, uses))
    return {*mesh};
  // Values have to travel: the smaller ones.
  return {findMesh(choice)};
}

/// The mesh of what the result of an op in the copy meets, or where all but little of
/// what it is made of is. Sources count what may be anywhere, such as a weight, as being
/// where a number is that it is scaled by.
MeshNames ConditionalHomes::findState(Operation *op) const {
  auto func = op->getParentOfType<func::FuncOp>();
  const ValueMeshes &analysis = *meshes.find(func)->second;
  std::optional<unsigned> mesh =
      classes.find(func)->second->getMesh(op->getResult(0));
  MeshBits found = analysis.get(op->getResult(0));
  if (!mesh && sendsLittle && found.count() == 1)
    mesh = found.find_first();
  if (!mesh)
    return {};
  return {analysis.getNumbers().getName(*mesh)};
}

/// The mesh for an op in the copy that reads values of several meshes.
StringRef ConditionalHomes::findMesh(Operation *op) const {
  auto func = op->getParentOfType<func::FuncOp>();
  const ValueMeshes &analysis = *meshes.find(func)->second;
  MeshBits found;
  if (op->getNumResults() > 0)
    found = analysis.get(op->getResult(0));
  return found.empty() ? getFirstMesh(getTopology(func))
                       : analysis.getNumbers().getName(found.find_first());
}

/// The op that represents `op` in the copy; of a conditional, the first of
/// those that choose its results. Null for ops created since.
Operation *ConditionalHomes::findInLine(Operation *op) const {
  if (auto choices = chosen.find(op); choices != chosen.end())
    return choices->second.empty() ? nullptr : choices->second.front();
  return mapping.lookupOrNull(op);
}

StringRef ConditionalHomes::getSource(Operation *op) const {
  Operation *inLine = findInLine(op);
  if (!inLine)
    return {};
  MeshSet sources = getMeshSet(inLine, kSrcSetAttr);
  if (sources.isSpecifiedAndNotEmpty())
    return *prioritize(sources);
  return findMesh(inLine);
}

bool ConditionalHomes::isAcrossMeshes(Operation *op) const {
  Operation *inLine = findInLine(op);
  return inLine && inLine->hasAttr(kReduceAttr);
}

bool ConditionalHomes::readsSeveralMeshes(Operation *op) const {
  Operation *inLine = findInLine(op);
  if (!sendsLittle || !inLine)
    return false;
  auto func = inLine->getParentOfType<func::FuncOp>();
  return meshes.find(func)->second->isAcrossMeshes(inLine);
}
