//===- CallInliner.cpp - Copies callees to their calls --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Inline/CallInliner.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The location of an op of a callee when it is inlined at `caller`. A stack of
/// call sites that the location already is grows at its outer end.
static LocationAttr getInlinedLoc(LocationAttr loc, Location caller) {
  SmallVector<Location> callees;
  while (auto callSite = dyn_cast<CallSiteLoc>(loc)) {
    callees.push_back(callSite.getCallee());
    loc = callSite.getCaller();
  }
  Location stack = CallSiteLoc::get(loc, caller);
  for (Location callee : llvm::reverse(callees))
    stack = CallSiteLoc::get(callee, stack);
  return stack;
}

FailureOr<func::FuncOp> CallInliner::getCallee(CallOp call) {
  auto callee = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || !getReturnOp(callee))
    return call.emitError() << "callee @" << call.getCallee()
                            << " is not a function whose body is one block "
                               "that returns, which inlining needs";
  if (call->getNumOperands() != callee.getNumArguments() ||
      call->getNumResults() != callee.getNumResults())
    return call.emitError()
           << "call has " << call->getNumOperands() << " operands and "
           << call->getNumResults() << " results, but callee @"
           << call.getCallee() << " has " << callee.getNumArguments()
           << " arguments and " << callee.getNumResults() << " results";
  if (failed(verifyWithTopologyOfCaller(call, callee)))
    return failure();
  return callee;
}

/// Of a function without calls there is one template for all copies. Where a
/// call was inlined before, the copy includes what has become of it.
std::shared_ptr<const BlockTemplate>
CallInliner::getTemplate(func::FuncOp callee) {
  if (changing.contains(callee))
    return std::make_shared<BlockTemplate>(callee.front());
  std::shared_ptr<const BlockTemplate> &known = templates[callee];
  if (!known)
    known = std::make_shared<BlockTemplate>(callee.front());
  return known;
}

LogicalResult CallInliner::run(CallOp call,
                               function_ref<void(Operation *)> onCopy) {
  FailureOr<func::FuncOp> callee = getCallee(call);
  if (failed(callee))
    return failure();
  std::shared_ptr<const BlockTemplate> body = getTemplate(*callee);
  numOps += body->getNumOps();
  if (numOps > options.maxOps)
    return call.emitError()
           << "inlining the calls of this program makes more than "
           << options.maxOps
           << " operations; call less, or allow more by the option "
              "mpmd_max_inlined_ops of a configuration, max-inlined-ops of a "
              "pass";
  auto locs = llvm::map_to_vector(body->getLocs(), [&](auto used) -> Location {
    if (used.isNested && !options.markNestedLocs)
      return used.loc;
    return getInlinedLoc(used.loc, call.getLoc());
  });
  SmallVector<Value> results =
      body->copyBefore(*call->getBlock(), call->getIterator(),
                       call->getOperands(), locs, onCopy);
  call->replaceAllUsesWith(results);
  call->erase();
  return success();
}

/// DEPARTURE(moved-entries): Whether an attribute of a call lists what a dialect
/// knows of its operands or results, as where they are kept: ops of the callee have
/// others.
static bool describesValues(NamedAttribute attr) {
  auto entries = dyn_cast<ArrayAttr>(attr.getValue());
  if (!entries ||
      (attr.getName() != kArgAttrsAttr && attr.getName() != kResAttrsAttr))
    return false;
  return llvm::any_of(entries, [](Attribute entry) {
    auto attributes = dyn_cast<DictionaryAttr>(entry);
    return attributes && llvm::any_of(attributes, [](NamedAttribute known) {
             return known.getName().strref().contains('.');
           });
  });
}

void mpmd::giveDiscardableAttrs(ArrayRef<NamedAttribute> attrs, Operation *op) {
  for (NamedAttribute attr : attrs)
    if (!describesValues(attr) && !op->getInherentAttr(attr.getName()))
      op->setDiscardableAttr(attr.getName(), attr.getValue());
}
