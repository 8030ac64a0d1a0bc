//===- EnforceInputOutputEquisharding.cpp ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A caller that feeds a result back as an argument needs both to be placed
// alike. Where inference could not manage, the result is sent to where the
// argument is:
//
//   constraint 0:0
//   func @f(%x: p) -> q                    func @f(%x: p) -> p
//     return %0 : q                          %1 = mpmd.transfer %0 : q -> p
//                                            return %1 : p
//
// Types are those of the signature before the pass, so two constraints on one
// result do not see each other's transfer.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Place/ChainTransfers.h"
#include "meshwright/Import/Place/MeshAssignment.h"

#define GEN_PASS_DEF_ENFORCEINPUTOUTPUTEQUISHARDINGPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Reports a constraint that does not fit the signature.
static LogicalResult verifyConstraint(func::FuncOp func,
                                      const InputOutputConstraint &constraint) {
  auto [input, output] = constraint;
  if (input < 0 || input >= func.getNumArguments())
    return func.emitError()
           << "constraint " << input << ":" << output
           << " names an input index out of range; the function has "
           << func.getNumArguments() << " arguments";
  if (output < 0 || output >= func.getNumResults())
    return func.emitError()
           << "constraint " << input << ":" << output
           << " names an output index out of range; the function has "
           << func.getNumResults() << " results";

  Type inputType = func.getArgumentTypes()[input];
  Type outputType = func.getResultTypes()[output];
  if (inputType == outputType)
    return success();
  auto source = dyn_cast<MeshTensorType>(outputType);
  auto target = dyn_cast<MeshTensorType>(inputType);
  if (source && target &&
      source.getRankedTensorType() == target.getRankedTensorType())
    return success();
  return func.emitError() << "constraint " << input << ":" << output
                          << " needs two mesh tensors of one global type, but "
                             "the input is "
                          << inputType << " and the output is " << outputType;
}

namespace {
struct EnforceInputOutputEquishardingPass
    : mpmd::impl::EnforceInputOutputEquishardingPassBase<
          EnforceInputOutputEquishardingPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!isMpmdProgram(func) || constraints.empty())
      return markAllAnalysesPreserved();

    for (const InputOutputConstraint &constraint : constraints)
      if (failed(verifyConstraint(func, constraint)))
        return signalPassFailure();

    FunctionType before = func.getFunctionType();
    Operation *terminator = func.front().getTerminator();
    OpBuilder builder(terminator);
    for (auto [input, output] : constraints) {
      Type type = before.getInput(input);
      if (type == before.getResult(output))
        continue;
      OpOperand &returned = terminator->getOpOperand(output);
      returned.set(TransferOp::create(builder, returned.get().getLoc(), type,
                                      returned.get()));
      ++numTransfers;
    }
    updateFunctionType(func);
    if (failed(verifyTransfers(func)))
      signalPassFailure();
  }
};
} // namespace
