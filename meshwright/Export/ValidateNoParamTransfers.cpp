//===- ValidateNoParamTransfers.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Parameters are large, and a program should keep each where it is read. JAX
// gives the location of an argument its path in the user's tree of parameters,
// and so says which transfers move one.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_VALIDATENOPARAMTRANSFERSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using Names = llvm::SmallSetVector<StringRef, 2>;

/// The names of a transfer's operand and of the transfer that have the pattern.
static Names findParamNames(TransferOp transfer, StringRef pattern) {
  Names names;
  for (Location loc : {transfer.getTensor().getLoc(), transfer.getLoc()})
    if (auto name = dyn_cast<NameLoc>(loc))
      if (name.getName().getValue().contains(pattern))
        names.insert(name.getName());
  return names;
}

static void report(InFlightDiagnostic diag, TransferOp transfer,
                   StringRef pattern, const Names &names) {
  std::string list;
  llvm::raw_string_ostream os(list);
  llvm::interleaveComma(names, os,
                        [&](StringRef name) { os << '"' << name << '"'; });
  diag << "cross-mesh transfer of a parameter (a name with \"" << pattern
       << "\"), from mesh \"" << transfer.getTensor().getType().getMeshName()
       << "\" to mesh \"" << transfer.getType().getMeshName()
       << "\"; JAX locations: [" << list << "]";
}

namespace {
struct ValidateNoParamTransfersPass
    : mpmd::impl::ValidateNoParamTransfersPassBase<
          ValidateNoParamTransfersPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    for (TransferOp transfer : func.getOps<TransferOp>())
      if (transfer.isInterMesh() && failed(validate(transfer)))
        signalPassFailure();
  }

private:
  LogicalResult validate(TransferOp transfer) {
    Names names = findParamNames(transfer, paramPattern.getValue().text);
    if (names.empty())
      return success();
    report(failOnParamTransfers ? transfer.emitError() : transfer.emitWarning(),
           transfer, paramPattern.getValue().text, names);
    return failure(failOnParamTransfers);
  }
};
} // namespace
