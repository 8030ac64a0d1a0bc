//===- UnflattenCallGraph.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Of the clones that sdy-flatten-call-graph made of a function, those whose
// arguments and results ended up sharded alike are the same function after all:
// their calls call the first of them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "llvm/ADT/DenseMap.h"

#define GEN_PASS_DEF_UNFLATTENCALLGRAPHPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// The name of the function that a function is, or is a clone of.
static StringAttr getOriginalName(func::FuncOp func) {
  auto original = func->getAttrOfType<StringAttr>(kOriginalFuncNameAttr);
  return original ? original : func.getNameAttr();
}

namespace {

/// Distinguishes functions that may not be merged.
using Signature = std::tuple<StringAttr, Type, Attribute>;

struct UnflattenCallGraphPass
    : sdy::impl::UnflattenCallGraphPassBase<UnflattenCallGraphPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DenseMap<Signature, func::FuncOp> firstOfSignature;
    DenseMap<Operation *, func::FuncOp> replacement;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func.isPublic() || func.isDeclaration())
        continue;
      auto [it, isFirst] =
          firstOfSignature.try_emplace(getSignature(func), func);
      if (!isFirst)
        replacement[func] = it->second;
    }
    getOperation().walk([&](func::CallOp call) {
      auto it = replacement.find(getCallee(call, symbols));
      if (it == replacement.end())
        return;
      call.setCallee(it->second.getName());
      ++numCalls;
    });
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      func->removeAttr(kOriginalFuncNameAttr);
  }

private:
  Signature getSignature(func::FuncOp func) {
    SmallVector<Attribute> shardings;
    auto append = [&](TensorShardingAttr sharding) {
      shardings.push_back(sharding ? Attribute(sharding)
                                   : UnitAttr::get(&getContext()));
    };
    if (!dedupFunctionsFully) {
      for (unsigned index : llvm::seq(func.getNumArguments()))
        append(getArgSharding(func, index));
      for (unsigned index : llvm::seq(func.getNumResults()))
        append(getResultSharding(func, index));
    }
    return {getOriginalName(func), func.getFunctionType(),
            ArrayAttr::get(&getContext(), shardings)};
  }
};

} // namespace
