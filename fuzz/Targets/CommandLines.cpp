//===- CommandLines.cpp - Arguments of the tools --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a tool and its arguments, one a line:
//
//   meshwright
//   partition
//   program.mlir
//   --config=config.json
//
// It runs beside the files below, in a folder that it cannot leave: slashes are
// taken out. The tools are those beside the target.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Processes.h"
#include "Support/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

static constexpr Workplace::File kFiles[] = {
    {"program.mlir", R"(
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = mpmd.named_computation<"a"> (%x) (%y: tensor<8x4xf32>) {
    %2 = stablehlo.sine %y : tensor<8x4xf32>
    mpmd.return %2 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = mpmd.named_computation<"b"> (%0) (%y: tensor<8x4xf32>) {
    %2 = stablehlo.tanh %y : tensor<8x4xf32>
    mpmd.return %2 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
})"},
    {"config.json", R"({"topology": {"m1": {"x": 2}, "m2": {"x": 2}},
                        "assignment": {"a": "m1", "b": "m2"}})"},
    {"layers.json", R"({"batch": 8, "dtype": "bf16", "layers": [
        {"name": "block", "repeat": 4, "flops": 1e9,
         "parameter_bytes": 4e6, "activation_bytes": 8e3}]})"},
    {"plan.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"}};

/// What there is to report of a run; empty if nothing is.
static std::string run(StringRef tool, llvm::ArrayRef<StringRef> arguments) {
  Workplace workplace(kFiles);
  ProcessResult result = runTool(tool, arguments);
  std::string said = result.output + result.errors;
  if (result.code < 0)
    return (tool + ": " + result.cause + "\n" + said).str();
  if (result.code > 0 && StringRef(said).trim().empty())
    return (tool + " ends with code " + llvm::Twine(result.code) +
            " and says nothing")
        .str();
  if (StringRef(said).contains("a bug in Meshwright"))
    return (tool + " has survived a mistake: " + said).str();
  return {};
}

void fuzz::takeInput(StringRef input) {
  std::string inside = input.str();
  llvm::erase(inside, '/');
  llvm::erase(inside, '\0');
  llvm::SmallVector<StringRef> words;
  StringRef(inside).split(words, '\n', -1, /*KeepEmpty=*/false);
  if (words.empty() ||
      !llvm::is_contained({"meshwright", "mpmd-opt", "mpmd-reduce"}, words[0]))
    return;
  // Python's, which takes longer than an input may.
  if (llvm::is_contained(words, "doctor") ||
      llvm::is_contained(words, "traffic"))
    return;
  if (std::string finding = run(words[0], llvm::ArrayRef(words).drop_front());
      !finding.empty())
    reportFinding(finding);
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  auto [tool, arguments] = input.split('\n');
  return (tool + "\n" + mutateText(arguments, seed)).str();
}
