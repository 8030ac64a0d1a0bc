//===- ValidateNoReshards.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A function that returns its arguments computes nothing: all a call of it can
// do is to change shardings, at the price of communication that was not asked
// for. The message shows what is resharded, in the user's names.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Fragments/OriginNames.h"
#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_VALIDATENORESHARDSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool onlyReturnsArguments(func::FuncOp func) {
  if (func.isDeclaration() || !llvm::hasSingleElement(func.getBody()))
    return false;
  auto returnOp = dyn_cast<func::ReturnOp>(func.front().front());
  return returnOp &&
         llvm::all_of(returnOp.getOperands(), llvm::IsaPred<BlockArgument>);
}

/// Whether every result of a call has the sharding of the operand it returns:
/// state that passes through the program.
static bool isPassThrough(FragmentCallOp call, func::FuncOp callee) {
  auto returned = callee.front().getTerminator()->getOperands();
  return llvm::all_of(
      llvm::zip_equal(call->getResultTypes(), returned), [&](auto pair) {
        auto [type, value] = pair;
        unsigned index = cast<BlockArgument>(value).getArgNumber();
        auto from = cast<MeshTensorType>(call->getOperand(index).getType());
        return sdy::areEquivalent(from.getSharding(),
                                  cast<MeshTensorType>(type).getSharding());
      });
}

/// The sharding, then the shape as tensor types have it.
static void printTensor(Type type, llvm::raw_ostream &os) {
  auto tensor = cast<MeshTensorType>(type);
  if (sdy::TensorShardingAttr sharding = tensor.getSharding())
    os << Attribute(sharding);
  else
    os << "Replicated";
  std::string text;
  llvm::raw_string_ostream(text) << tensor.getGlobalTensorType();
  StringRef shape = text;
  shape.consume_front("tensor");
  os << ' ' << shape;
}

/// A result is known by the names that the function's results have.
static void printResult(OpResult result, func::FuncOp func,
                        llvm::raw_ostream &os) {
  printTensor(result.getType(), os);
  for (OpOperand &use : result.getUses())
    if (isa<func::ReturnOp>(use.getOwner()))
      if (auto info = func.getResultAttrOfType<StringAttr>(
              use.getOperandNumber(), kResultInfoAttr))
        os << ' ' << Location(NameLoc::get(info));
}

static std::string describe(FragmentCallOp call) {
  auto func = call->getParentOfType<func::FuncOp>();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "Operands: ";
  llvm::interleaveComma(call->getOperands(), os, [&](Value operand) {
    printTensor(operand.getType(), os);
    os << ' ' << operand.getLoc();
  });
  os << ". Results: ";
  llvm::interleaveComma(call->getResults(), os, [&](OpResult result) {
    printResult(result, func, os);
  });
  return text;
}

namespace {
struct ValidateNoReshardsPass
    : mpmd::impl::ValidateNoReshardsPassBase<ValidateNoReshardsPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SymbolTableCollection symbols;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && isDistributedFunction(func))
        validate(func, symbols);
  }

private:
  void validate(func::FuncOp func, SymbolTableCollection &symbols) {
    for (FragmentCallOp call : func.getOps<FragmentCallOp>()) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (!callee || !onlyReturnsArguments(callee) ||
          (ignorePassThrough && isPassThrough(call, callee)))
        continue;
      // Gathering is what it is for.
      if (isHoisted(call.getOrigin()))
        continue;
      if (failed(report(call)))
        signalPassFailure();
    }
  }

  LogicalResult report(FragmentCallOp call) {
    if (!call.getOrigin().empty())
      return call.emitError()
             << "Internal error: '" << call.getCallee()
             << "' does nothing but reshard, but its fragment has an origin: "
                "it is not an inferred fragment";
    meshwright::identify(
        (failOnReshardOnlyFragments ? call.emitError() : call.emitWarning())
            << "Detected reshard-only fragment '" << call.getCallee()
            << "', which usually indicates an unexpected reshard. "
            << describe(call),
        "reshard");
    return failure(failOnReshardOnlyFragments);
  }
};
} // namespace
