//===- Simulation.cpp - Partitioned programs that something has changed ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a partitioned module. It is simulated, and the simulation drawn,
// as `meshwright simulate` and `meshwright draw` do it.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/SimulateProgram.h"
#include "Support/Target.h"
#include "meshwright/Draw/TextDrawing.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  std::string simulation = simulateProgram(input);
  if (simulation.empty())
    return;
  for (const char *format : {"svg", "dot", "text", "perfetto"}) {
    TextDrawingRequest request;
    request.input = simulation;
    request.format = format;
    std::string error;
    if (!drawText(request, error) && isFinding(error))
      reportFinding("what is simulated is not drawn: " + error);
  }
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateProgram(input, seed);
}
