//===- InferMeshRewriteUsingAnalysis.cpp ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Puts every op into a fragment on each mesh where it is used. Bodies are
// rewritten from the end, so that the users of an op are in fragments when its
// turn comes, and say with their assigns which meshes these are:
//
//   %0 = stablehlo.sine %p            %a = mpmd.assign %p : m1
//   %1 = mpmd.assign %0 : m1          %f = mpmd.fragment<m1> (%a) { sine … }
//   %2 = mpmd.fragment<m1> (%1)       // sine has moved into its only user
//
// What has effects goes into one fragment, on one of these meshes.
//
// Callees come first. Where a result or an argument is needed on several
// meshes it is followed by copies, at the end of the list, and `mpmd.copies`
// says where; calls are rewritten accordingly.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/MeshRewriting.h"
#include "meshwright/Import/InferMesh/PlaceMeshlessOp.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_INFERMESHREWRITEUSINGANALYSISPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The same, in the memory where the user put the value, if it is on that mesh.
static MeshTensorType getTypeWhereItIs(Value value, StringRef mesh) {
  MeshTensorType type = getTypeOnMesh(value, mesh);
  auto unassign = value.getDefiningOp<UnassignOp>();
  if (!unassign || unassign.getTensor().getType().getMeshName() != mesh)
    return type;
  return MeshTensorType::get(value.getContext(), mesh,
                             type.getRankedTensorType(), type.getSharding(),
                             unassign.getTensor().getType().getMemoryKind());
}

//===----------------------------------------------------------------------===//
// Callees
//===----------------------------------------------------------------------===//

LogicalResult MeshRewriting::rewriteCallee(func::FuncOp func) {
  rewriteResults(func);
  if (failed(rewriteBlock(func.front(), getFirstMesh(getTopology(func)))))
    return failure();
  return rewriteArguments(func);
}

/// The meshes for a returned value: where it is used, else where it is available.
static SmallVector<StringRef> getResultMeshes(func::FuncOp func,
                                              OpOperand &returned) {
  MeshSet uses = getResultUseSet(func, returned.getOperandNumber());
  if (!uses.getMeshes().empty())
    return llvm::map_to_vector(uses.getMeshes(), [](MeshWithOriginsAttr mesh) {
      return mesh.getMeshName();
    });
  std::optional<StringRef> mesh;
  if (Operation *producer = returned.get().getDefiningOp())
    mesh = prioritize(getMeshSet(producer, kSrcSetAttr));
  return {mesh.value_or(getFirstMesh(getTopology(func)))};
}

/// Sets `mpmd.copies` in those of the dictionaries that have copies, and removes
/// what others say.
static void addCopies(MutableArrayRef<DictionaryAttr> dictionaries,
                      ArrayRef<SmallVector<int64_t>> copies) {
  for (auto [dictionary, positions] : llvm::zip(dictionaries, copies)) {
    NamedAttrList attributes(dictionary);
    if (positions.empty())
      attributes.erase(kCopiesAttr);
    else
      attributes.set(kCopiesAttr, DenseI64ArrayAttr::get(
                                      dictionary.getContext(), positions));
    dictionary = attributes.getDictionary(dictionary.getContext());
  }
}

void MeshRewriting::rewriteResults(func::FuncOp func) {
  func::ReturnOp ret = getReturnOp(func);
  rewriter.setInsertionPoint(ret);
  SmallVector<Value> returned(ret->getOperands());
  SmallVector<SmallVector<int64_t>> copies(returned.size());
  for (OpOperand &operand : ret->getOpOperands()) {
    Value value = operand.get();
    if (!isTensor(value))
      continue;
    unsigned index = operand.getOperandNumber();
    auto loc = getResultInfoLoc(func, index, value.getLoc());
    bool isFirst = true;
    for (StringRef mesh : getResultMeshes(func, operand)) {
      Value assigned = createAssign(loc, value, getTypeWhereItIs(value, mesh));
      if (std::exchange(isFirst, false)) {
        returned[index] = assigned;
        continue;
      }
      copies[index].push_back(returned.size());
      ++counts.copies;
      returned.push_back(assigned);
    }
  }
  ret->setOperands(returned);
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllResultAttrs(dictionaries);
  addCopies(dictionaries, copies);
  func.setAllResultAttrs(dictionaries);
}

FailureOr<AssignsByMesh> MeshRewriting::groupAssigns(BlockArgument arg) {
  AssignsByMesh groups;
  for (Operation *user : arg.getUsers()) {
    auto assign = dyn_cast<AssignOp>(user);
    if (!assign)
      return user->emitError() << "reads argument " << arg.getArgNumber()
                               << ", which has no mesh" << kRunFromStart;
    groups[assign.getType().getMeshName()].push_back(assign);
  }
  return groups;
}

LogicalResult MeshRewriting::rewriteArguments(func::FuncOp func) {
  Block &block = func.front();
  rewriter.setInsertionPoint(&block, block.begin());
  unsigned numArgs = block.getNumArguments();
  SmallVector<SmallVector<int64_t>> copies(numArgs);
  for (unsigned index = 0; index != numArgs; ++index) {
    BlockArgument arg = block.getArgument(index);
    if (!isTensor(arg))
      continue;
    FailureOr<AssignsByMesh> groups = groupAssigns(arg);
    if (failed(groups))
      return failure();
    auto meshes = llvm::map_to_vector(
        *groups, [](const auto &group) { return group.first; });
    llvm::stable_sort(meshes, meshBefore);
    if (meshes.empty()) // It is unused, but calls still pass it.
      meshes.push_back(prioritize(getArgMeshSet(arg, kUseSetAttr))
                           .value_or(getFirstMesh(getTopology(func))));
    auto tensorType = cast<RankedTensorType>(arg.getType());
    for (StringRef mesh : meshes) {
      auto type = MeshTensorType::getFullyReplicated(func.getContext(), mesh,
                                                     tensorType);
      BlockArgument onMesh = arg;
      if (mesh == meshes.front()) {
        arg.setType(type);
      } else {
        onMesh = block.addArgument(type, arg.getLoc());
        copies[index].push_back(onMesh.getArgNumber());
        ++counts.copies;
      }
      if (groups->empty())
        continue;
      Value value = createUnassign(arg.getLoc(), onMesh);
      for (AssignOp assign : (*groups)[mesh])
        assign->setOperand(0, value);
    }
  }
  SmallVector<DictionaryAttr> dictionaries;
  func.getAllArgAttrs(dictionaries);
  addCopies(dictionaries, copies);
  func.setAllArgAttrs(dictionaries);
  return success();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

LogicalResult MeshRewriting::rewriteBlock(Block &block, StringRef firstMesh) {
  PlacedEffects placed(effects);
  // What is inserted on the way is in the mpmd dialect and needs no visit.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    LogicalResult result = success();
    placed.visit(&op);
    if (auto call = dyn_cast<CallOp>(op)) {
      ++counts.calls;
      result = rewriteCall(call);
    } else if (auto loop = dyn_cast<ForOp>(op)) {
      ++counts.calls;
      result = rewriteLoop(loop, firstMesh);
    } else if (isMeshlessOp(&op)) {
      ++counts.ops;
      result = placeMeshlessOp(&op, maxClones, placed, rewriter);
    }
    if (failed(result))
      return failure();
  }
  return success();
}

static ArrayRef<int64_t> getCopies(Attribute attr) {
  auto positions = dyn_cast_or_null<DenseI64ArrayAttr>(attr);
  return positions ? positions.asArrayRef() : ArrayRef<int64_t>();
}

LogicalResult MeshRewriting::rewriteCall(CallOp call) {
  func::FuncOp callee = flow.getCallee(call);
  if (!callee)
    return call.emitError() << "calls @" << call.getCallee()
                            << ", which has no topology; run "
                               "mpmd-copy-topology-from-main first";
  // The type of the callee is still the old one.
  if (call.getNumOperands() != callee.getNumArguments() ||
      call.getNumResults() != callee.getNumResults())
    return call.emitError()
           << "has " << call.getNumOperands() << " operands and "
           << call.getNumResults() << " results, but @" << call.getCallee()
           << " has " << callee.getNumArguments() << " arguments and "
           << callee.getNumResults() << " results"
           << (call->use_empty() ? "; nothing reads the call, remove it" : "");

  rewriter.setInsertionPointAfter(call);
  Block::BlockArgListType args = callee.front().getArguments();
  SmallVector<Value> operands(args.size());
  for (auto [index, operand] : llvm::enumerate(call->getOperands())) {
    operands[index] = operand;
    if (!isTensor(operand))
      continue;
    operands[index] =
        createAssign(call.getLoc(), operand, args[index].getType());
    for (int64_t copy : getCopies(callee.getArgAttr(index, kCopiesAttr)))
      operands[copy] =
          createAssign(call.getLoc(), operand, args[copy].getType());
  }
  auto newCall = CallOp::create(rewriter, call.getLoc(),
                                getReturnOp(callee)->getOperandTypes(),
                                operands, call.getCalleeAttr());
  newCall->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  for (unsigned i = 0, e = call.getNumResults(); i != e; ++i)
    if (failed(connectResult(call, newCall, i, callee)))
      return failure();
  rewriter.eraseOp(call);
  return success();
}

/// Lets the assigns of a result read the result or the copy on their mesh.
LogicalResult MeshRewriting::connectResult(CallOp call, CallOp newCall,
                                           unsigned index,
                                           func::FuncOp callee) {
  Value result = call->getResult(index);
  if (!isTensor(result)) {
    rewriter.replaceAllUsesWith(result, newCall->getResult(index));
    return success();
  }
  SmallVector<Value> candidates{newCall->getResult(index)};
  for (int64_t copy : getCopies(callee.getResultAttr(index, kCopiesAttr)))
    candidates.push_back(newCall->getResult(copy));
  for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
    auto assign = dyn_cast<AssignOp>(user);
    if (!assign)
      return user->emitError() << "reads a result of @" << call.getCallee()
                               << ", which has no mesh" << kRunFromStart;
    auto sameType = [&](Value value) {
      return value.getType() == assign.getType();
    };
    auto sameMesh = [&](Value value) {
      return cast<MeshTensorType>(value.getType()).getMeshName() ==
             assign.getType().getMeshName();
    };
    auto *match = llvm::find_if(candidates, sameType);
    if (match == candidates.end()) // It may be in another memory.
      match = llvm::find_if(candidates, sameMesh);
    if (match == candidates.end())
      return assign.emitError()
             << "needs result " << index << " of @" << call.getCallee()
             << " on mesh \"" << assign.getType().getMeshName()
             << "\", on which the function does not return it" << kRunFromStart;
    assign->setOperand(0, createUnassign(call.getLoc(), *match));
  }
  return success();
}

namespace {
struct InferMeshRewriteUsingAnalysisPass
    : mpmd::impl::InferMeshRewriteUsingAnalysisPassBase<
          InferMeshRewriteUsingAnalysisPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyNamedByCalls(module)))
      return signalPassFailure();
    MeshRewriting rewriting(module, maxClones);
    for (func::FuncOp func : getCallees(module))
      if (failed(rewriting.rewriteCallee(func)) || rewriting.isWrong())
        return signalPassFailure();
    for (func::FuncOp func : getEntryPoints(module))
      if (failed(rewriting.rewriteBlock(func.front(),
                                        getFirstMesh(getTopology(func)))))
        return signalPassFailure();
    if (rewriting.isWrong())
      return signalPassFailure();
    for (func::FuncOp func : getMpmdFunctions(module))
      updateFunctionType(func);
    numOps += rewriting.getCounts().ops;
    numCalls += rewriting.getCounts().calls;
    numCopies += rewriting.getCounts().copies;
  }
};
} // namespace
