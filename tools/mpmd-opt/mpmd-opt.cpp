//===- mpmd-opt.cpp - Runs passes on a module -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/InitAll.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  meshwright::registerAllPasses();
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "Meshwright optimizer driver\n", registry));
}
