//===- SimulateProgram.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Support/SimulateProgram.h"
#include "Support/Context.h"
#include "meshwright/Simulator/TextSimulator.h"

using namespace meshwright;
using llvm::StringRef;

bool fuzz::isFinding(StringRef error) {
  return error.empty() || error.contains("bug in Meshwright");
}

std::string fuzz::simulateProgram(StringRef program) {
  SimulationRequest request;
  request.program = program;
  request.device = "h100";
  SimulationResult result = simulateText(request);
  if (!result.succeeded && isFinding(result.error))
    reportFinding("simulation: " + result.error);
  return result.succeeded ? result.json : "";
}
