//===- JsonFiles.cpp - Profiles, devices, layers, times, drawings ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// All readers of JSON but that of the configuration.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Target.h"
#include "meshwright/Cost/CustomCost.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/Profile.h"
#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Planning/Layers.h"
#include "meshwright/Schedule/Search/StageTimes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

template <typename Value>
static bool check(llvm::Expected<Value> value, StringRef what) {
  if (value)
    return true;
  if (llvm::toString(value.takeError()).empty())
    reportFinding(what + " is rejected without an error");
  return false;
}

static void draw(StringRef input) {
  llvm::Expected<Drawing> drawing = readDrawing(input);
  if (!drawing) {
    if (llvm::toString(drawing.takeError()).empty())
      reportFinding("a drawing is rejected without an error");
    return;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(input);
  if (!value)
    reportFinding("what is no JSON is drawn: " +
                  llvm::toString(value.takeError()));
  llvm::consumeError(addRecording(*value, std::nullopt, *drawing));
  std::string text;
  llvm::raw_string_ostream os(text);
  printSvg(*drawing, os);
  printText(*drawing, /*columns=*/80, /*withColours=*/false, os);
}

void fuzz::takeInput(StringRef input) {
  check(parseProfile(input), "a profile");
  check(parseDevices(input), "a table of devices");
  check(parseLayers(input), "a table of layers");
  check(parseStageTimes(input), "a table of times");
  CustomCosts costs;
  llvm::consumeError(addCustomCost(input, costs));
  draw(input);
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
