//===- Doctor.cpp - meshwright doctor -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What can be wrong with an installation is mostly Python's, and so is the
// doctor: python/meshwright/doctor.py.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PythonCommand.h"

using namespace mlir;
using namespace meshwright;

static llvm::cl::SubCommand
    subCommand("doctor", "Check the installation, and print remedies");

static LogicalResult run() { return runPython("doctor.py", {}); }

const Command meshwright::doctorCommand = {subCommand, run};
