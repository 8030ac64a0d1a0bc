//===- SharedBodies.cpp - Fragments with one body -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/IR/SymbolUses.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::getSharedBodyName;
using sdy::isSharedBodyCall;
using stablehlo::CustomCallOp;

SmallVector<CustomCallOp> mpmd::getSharedBodyCalls(FragmentOp fragment) {
  SmallVector<CustomCallOp> calls;
  for (Operation &op : *fragment.getBody())
    if (isSharedBodyCall(&op))
      calls.push_back(cast<CustomCallOp>(op));
  return calls;
}

func::FuncOp mpmd::getSharedBody(CustomCallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, getSharedBodyName(call));
}

CallsOfBodies mpmd::collectSharedBodies(ModuleOp module,
                                        FragmentVisitor visit) {
  // By name first: calls are many, and each body is looked up once.
  llvm::MapVector<StringAttr, SmallVector<CustomCallOp>> callsOf;
  for (auto func : module.getOps<func::FuncOp>())
    walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
      SmallVector<CustomCallOp> calls = getSharedBodyCalls(fragment);
      for (CustomCallOp call : calls)
        callsOf[getSharedBodyName(call).getAttr()].push_back(call);
      if (visit)
        visit(func, fragment, calls);
    });
  SymbolTable symbols(module);
  CallsOfBodies bodies;
  for (auto &[name, calls] : callsOf)
    bodies.insert({symbols.lookup<func::FuncOp>(name), std::move(calls)});
  return bodies;
}

static bool isPureOrCall(Operation &op) {
  if (!isSharedBodyCall(&op))
    return isPure(&op);
  Block &body = getSharedBody(cast<CustomCallOp>(op)).front();
  return llvm::all_of(body.without_terminator(),
                      [](Operation &inner) { return isPure(&inner); });
}

bool mpmd::isPureFragment(FragmentOp fragment) {
  return llvm::all_of(fragment.getBody()->without_terminator(), isPureOrCall);
}

CustomCallOp mpmd::createSharedBodyCall(OpBuilder &builder, Location loc,
                                        func::FuncOp body, ValueRange operands,
                                        bool hasSideEffect) {
  auto call = CustomCallOp::create(
      builder, loc, body.getResultTypes(), operands,
      ArrayRef<NamedAttribute>(builder.getNamedAttr(
          "call_target_name", builder.getStringAttr(sdy::kSharedBody))));
  call.setHasSideEffect(hasSideEffect);
  call.setCalledComputationsAttr(
      builder.getArrayAttr(FlatSymbolRefAttr::get(body)));
  return call;
}

void mpmd::inlineSharedBodies(FragmentOp fragment, RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  for (CustomCallOp call : getSharedBodyCalls(fragment)) {
    Block &body = getSharedBody(call).front();
    rewriter.setInsertionPoint(call);
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getOperands());
    for (Operation &op : body.without_terminator())
      rewriter.clone(op, mapping);
    SmallVector<Value> results;
    for (Value returned : body.getTerminator()->getOperands())
      results.push_back(mapping.lookup(returned));
    rewriter.replaceOp(call, results);
  }
}

void mpmd::inlineSharedBodiesOfEach(ArrayRef<FragmentOp> fragments) {
  if (fragments.empty())
    return;
  // A fragment reads nothing from around it, and the bodies are only copied.
  FragmentOp first = fragments.front();
  MLIRContext *context = first.getContext();
  parallelForEach(context, fragments, [&](FragmentOp fragment) {
    IRRewriter rewriter(context);
    inlineSharedBodies(fragment, rewriter);
  });
}

void mpmd::inlineSharedBodiesIfUnused(FragmentOp fragment,
                                      RewriterBase &rewriter) {
  auto isUnused = [](OpResult result) { return result.use_empty(); };
  if (llvm::any_of(fragment->getResults(), isUnused))
    inlineSharedBodies(fragment, rewriter);
}

/// The fragments of a module that call shared bodies, in the order of the program.
static SmallVector<FragmentOp> getSharingFragments(ModuleOp module) {
  SmallVector<FragmentOp> fragments;
  for (auto func : module.getOps<func::FuncOp>())
    walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
      if (!getSharedBodyCalls(fragment).empty())
        fragments.push_back(fragment);
    });
  return fragments;
}

unsigned mpmd::changeSharedBodies(
    ModuleOp module, RewriterBase &rewriter,
    llvm::function_ref<unsigned(func::FuncOp body,
                                ArrayRef<stablehlo::CustomCallOp> calls)>
        change) {
  SmallVector<FragmentOp> several;
  CallsOfBodies bodies =
      collectSharedBodies(module, [&](func::FuncOp, FragmentOp fragment,
                                      ArrayRef<CustomCallOp> calls) {
        if (calls.size() > 1)
          several.push_back(fragment);
      });
  for (FragmentOp fragment : several)
    inlineSharedBodies(fragment, rewriter);
  if (!several.empty())
    bodies = collectSharedBodies(module);
  unsigned numInlined = several.size();
  for (auto &[body, calls] : bodies)
    numInlined += change(body, calls);
  if (numInlined > 0)
    eraseUncalledBodies(module);
  return numInlined;
}

unsigned mpmd::unshareBodies(ModuleOp module, RewriterBase &rewriter) {
  SmallVector<FragmentOp> fragments = getSharingFragments(module);
  for (FragmentOp fragment : fragments)
    inlineSharedBodies(fragment, rewriter);
  eraseUncalledBodies(module);
  return fragments.size();
}

/// The names of all functions that ops of a module refer to; nothing if an op is
/// of an unknown dialect and may refer to any.
static std::optional<llvm::DenseSet<StringAttr>> findNamed(ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      meshwright::findSymbolUses(module.getBodyRegion());
  if (!uses)
    return std::nullopt;
  llvm::DenseSet<StringAttr> named;
  for (SymbolTable::SymbolUse use : *uses)
    named.insert(use.getSymbolRef().getRootReference());
  return named;
}

unsigned mpmd::eraseUncalledBodies(ModuleOp module) {
  CallsOfBodies called = collectSharedBodies(module);
  SmallVector<func::FuncOp> uncalled;
  for (auto func : module.getOps<func::FuncOp>())
    if (sdy::isSharedBody(func) && !called.contains(func))
      uncalled.push_back(func);
  if (uncalled.empty())
    return 0;
  std::optional<llvm::DenseSet<StringAttr>> named = findNamed(module);
  unsigned numErased = 0;
  for (func::FuncOp body : uncalled)
    if (named && !body.isPublic() && !named->contains(body.getSymNameAttr())) {
      body.erase();
      ++numErased;
    }
  return numErased;
}

Operation *mpmd::getDefiningOpInBody(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isSharedBodyCall(op)) {
    Block &body = getSharedBody(cast<CustomCallOp>(op)).front();
    value = body.getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    op = value.getDefiningOp();
  }
  return op;
}
