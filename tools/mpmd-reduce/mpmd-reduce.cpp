//===- mpmd-reduce.cpp - Makes a program that shows a mistake small -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's mlir-reduce with the dialects and passes of Meshwright, and a pass
// that makes the first large steps (ReduceProgram.h). scripts/reduce.py calls
// it.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "meshwright/Files/DeepStack.h"
#include "meshwright/InitAll.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

using namespace mlir;
using namespace meshwright;

int main(int argc, char **argv) {
  giveThreadsDeepStacks();
  int code = 1;
  runOnDeepStack([&] {
    mlir::registerAllPasses();
    meshwright::registerAllPasses();
    registerReduceProgramPass();
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    code = failed(mlirReduceMain(argc, argv, context));
  });
  return code;
}
