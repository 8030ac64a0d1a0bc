//===- ConditionalHomes.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Conditionals/ConditionalHomes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetPropagation.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::mpmd;

bool mpmd::isConditional(Operation *op) {
  return isa<stablehlo::IfOp, stablehlo::CaseOp>(op);
}

/// Puts the branches of `op` in line before it, and in its place an op per
/// result that reads what each branch gives. The predicate is left out: it is
/// small and can travel.
static SmallVector<Operation *> inlineBranches(Operation *op) {
  SmallVector<SmallVector<Value>> candidates(op->getNumResults());
  for (Region &branch : op->getRegions()) {
    Block &body = branch.front();
    for (auto [list, value] :
         llvm::zip_equal(candidates, body.getTerminator()->getOperands()))
      list.push_back(value);
    body.getTerminator()->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           body.getOperations());
  }
  OpBuilder builder(op);
  SmallVector<Operation *> chosen;
  for (auto [result, values] : llvm::zip_equal(op->getResults(), candidates)) {
    Operation *choice = UnrealizedConversionCastOp::create(
        builder, op->getLoc(), TypeRange(result.getType()), values);
    result.replaceAllUsesWith(choice->getResult(0));
    chosen.push_back(choice);
  }
  op->erase();
  return chosen;
}

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
    return findClass(choice);
  if (!sources.isSpecified() ||
      (uses.isSpecifiedAndNotEmpty() && isSubset(uses, sources)))
    return getNames(uses);
  if (sendsLittle)
    if (MeshNames names = findClass(choice); !names.empty())
      return names;
  if (std::optional<StringRef> mesh = prioritize(sources, uses))
    return {*mesh};
  // Values have to travel: the smaller ones.
  return {findMesh(choice)};
}

/// The mesh of what the result of an op in the copy meets.
MeshNames ConditionalHomes::findClass(Operation *op) const {
  auto func = op->getParentOfType<func::FuncOp>();
  std::optional<unsigned> mesh =
      classes.find(func)->second->getMesh(op->getResult(0));
  if (!mesh)
    return {};
  return {meshes.find(func)->second->getNumbers().getName(*mesh)};
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
