//===- Functions.cpp - Kinds of functions and their meshes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/IR/SymbolUses.h"
#include "meshwright/Text/NearestName.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

// Nothing verifies these attributes: their names do not say that they are of
// this dialect.
bool mpmd::isMpmdFunction(func::FuncOp func) {
  return func->hasAttrOfType<TopologyAttr>(kTopologyAttr);
}

bool mpmd::isSpmdFunction(func::FuncOp func) {
  return func->hasAttrOfType<sdy::MeshAttr>(kMeshShapeAttr);
}

bool mpmd::isDistributedFunction(func::FuncOp func) {
  return isMpmdFunction(func) || isSpmdFunction(func);
}

bool mpmd::isEntryPointFunction(func::FuncOp func) {
  return isDistributedFunction(func) && func.isPublic();
}

bool mpmd::isMpmdProgram(func::FuncOp func) {
  return isMpmdFunction(func) && func.isPublic() && getReturnOp(func);
}

func::ReturnOp mpmd::getReturnOp(func::FuncOp func) {
  // The verifier lets functions end in other ops, and have branches.
  if (!func.getBody().hasOneBlock())
    return {};
  return dyn_cast<func::ReturnOp>(func.getBody().front().getTerminator());
}

TopologyAttr mpmd::getTopology(func::FuncOp func) {
  return func->getAttrOfType<TopologyAttr>(kTopologyAttr);
}

TopologyAttr mpmd::getTopology(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (TopologyAttr topology = getTopology(func))
      return topology;
  return {};
}

void mpmd::setTopology(func::FuncOp func, TopologyAttr topology) {
  func->setAttr(kTopologyAttr, topology);
}

LogicalResult mpmd::verifyWithTopologyOfCaller(CallOp call,
                                               func::FuncOp callee) {
  auto caller = call->getParentOfType<func::FuncOp>();
  TopologyAttr topology = caller ? getTopology(caller) : TopologyAttr();
  TopologyAttr own = getTopology(callee);
  if (!own || own == topology)
    return success();
  if (topology)
    setTopology(callee, topology);
  else
    callee->removeAttr(kTopologyAttr);
  LogicalResult verified = verify(callee);
  setTopology(callee, own);
  if (succeeded(verified))
    return success();
  InFlightDiagnostic diag = call.emitError() << "calls @" << callee.getSymName()
                                             << ", which does not verify ";
  if (topology)
    diag << "with the topology of @" << caller.getSymName();
  else
    diag << "without a topology, as there is none at the call";
  return diag;
}

bool mpmd::isHomogeneous(TopologyAttr topology) {
  auto realAxes = [](sdy::MeshAttr mesh) {
    SmallVector<sdy::MeshAxisAttr> axes;
    llvm::copy_if(mesh.getAxes(), std::back_inserter(axes),
                  [](sdy::MeshAxisAttr axis) { return axis.getSize() != 1; });
    return axes;
  };
  sdy::MeshAttr first = topology.getMeshes().front().getMesh();
  auto firstAxes = realAxes(first);
  return llvm::all_of(topology.getMeshes(), [&](NamedMeshAttr named) {
    sdy::MeshAttr mesh = named.getMesh();
    return mesh.getDeviceIds() == first.getDeviceIds() &&
           realAxes(mesh) == firstAxes;
  });
}

sdy::MeshAttr mpmd::getMeshByName(TopologyAttr topology, StringRef name) {
  for (NamedMeshAttr mesh : topology.getMeshes())
    if (mesh.getName() == name)
      return mesh.getMesh();
  return {};
}

static func::FuncOp getEnclosingFunction(Operation *op) {
  if (auto func = dyn_cast<func::FuncOp>(op))
    return func;
  return op->getParentOfType<func::FuncOp>();
}

FailureOr<sdy::MeshAttr> mpmd::getMeshOrError(Operation *op, StringRef name) {
  func::FuncOp func = getEnclosingFunction(op);
  TopologyAttr topology = func ? getTopology(func) : TopologyAttr();
  if (!topology) {
    InFlightDiagnostic diag = emitError(op->getLoc())
                              << "mesh \"" << name
                              << "\" cannot be looked up without a `"
                              << kTopologyAttr << "` attribute";
    if (func)
      diag << " on function @" << func.getSymName();
    return diag << ", as in `" << kTopologyAttr
                << " = #mpmd.topology<<\"m1\": <[\"x\"=2]>>>`";
  }
  if (sdy::MeshAttr mesh = getMeshByName(topology, name))
    return mesh;
  auto known = llvm::map_to_vector(
      topology.getMeshes(), [](NamedMeshAttr mesh) { return mesh.getName(); });
  return emitError(op->getLoc())
         << "mesh \"" << name << "\" is not in the topology of function @"
         << func.getSymName() << "; " << meshwright::listKnown(name, known);
}

FailureOr<sdy::MeshAttr> mpmd::getMeshOrError(Operation *op) {
  auto fragment = dyn_cast<FragmentOp>(op);
  if (!fragment)
    fragment = op->getParentOfType<FragmentOp>();
  if (fragment)
    return getMeshOrError(op, fragment.getMeshName());
  func::FuncOp func = getEnclosingFunction(op);
  if (auto mesh = func ? func->getAttrOfType<sdy::MeshAttr>(kMeshShapeAttr)
                       : sdy::MeshAttr())
    return mesh;
  return emitError(op->getLoc())
         << "op is neither in a fragment nor in a function with a `"
         << kMeshShapeAttr << "` attribute, so it has no mesh";
}

void mpmd::updateFunctionType(func::FuncOp func) {
  Block &body = func.front();
  TypeRange results = func.getResultTypes();
  // In a function with branches the first block does not return.
  if (auto returnOp = dyn_cast<func::ReturnOp>(body.getTerminator()))
    results = returnOp->getOperandTypes();
  // Not setFunctionType, which leaves the lists of argument and result
  // attributes at their old length.
  func.setType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(), results));
}

Location mpmd::getResultInfoLoc(func::FuncOp func, unsigned result,
                                Location fallback) {
  auto info = func.getResultAttrOfType<StringAttr>(result, kResultInfoAttr);
  return info ? Location(NameLoc::get(info)) : fallback;
}

CallGraph::CallGraph(ModuleOp module) {
  SymbolTableCollection symbols;
  CalleeEffects effects;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto call = dyn_cast<CallOp>(op);
        call && (!call->use_empty() || effects.hasEffects(call)))
      if (Operation *callee =
              symbols.lookupNearestSymbolFrom(call, call.getCalleeAttr()))
        calls[callee].push_back(call);
    if (auto func = dyn_cast<func::FuncOp>(op))
      return isMpmdFunction(func) ? WalkResult::advance() : WalkResult::skip();
    return isa<ModuleOp, ForOp>(op) ? WalkResult::advance()
                                    : WalkResult::skip();
  });
}

ArrayRef<CallOp> CallGraph::getCalls(func::FuncOp callee) const {
  auto it = calls.find(callee);
  return it == calls.end() ? ArrayRef<CallOp>() : ArrayRef(it->second);
}

DenseMap<StringAttr, FunctionReferences>
mpmd::collectFunctionReferences(ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      meshwright::findSymbolUses(module.getBodyRegion());
  if (!uses)
    return DenseMap<StringAttr, FunctionReferences>();
  DenseMap<StringAttr, FunctionReferences> references;
  module.walk<WalkOrder::PreOrder>([&](CallOp call) {
    if (SymbolTable::getNearestSymbolTable(call) == module)
      references[call.getCalleeAttr().getAttr()].calls.push_back(call);
  });
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<CallOp>(use.getUser()))
      references[use.getSymbolRef().getRootReference()].hasOther = true;
  return references;
}
