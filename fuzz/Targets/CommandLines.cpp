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
#include "Support/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

static constexpr std::pair<StringRef, StringRef> kFiles[] = {
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

static constexpr unsigned kMaxSeconds = 10;

namespace {
/// A folder of its own to work in, until the end of the input.
class Workplace {
public:
  Workplace() {
    std::error_code error = llvm::sys::fs::current_path(before);
    if (!error)
      error = llvm::sys::fs::createUniqueDirectory("command", folder);
    if (!error)
      error = llvm::sys::fs::set_current_path(folder);
    if (error)
      reportFinding("no folder to work in: " + error.message());
    for (auto [name, text] : kFiles)
      llvm::raw_fd_ostream(name, error) << text;
  }
  ~Workplace() {
    (void)llvm::sys::fs::set_current_path(before);
    (void)llvm::sys::fs::remove_directories(folder);
  }

private:
  llvm::SmallString<128> before, folder;
};
} // namespace

/// What there is to report of a run; empty if nothing is.
static std::string run(StringRef tool, llvm::ArrayRef<StringRef> arguments) {
  static int anchor;
  llvm::SmallString<128> program(
      llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  llvm::sys::path::remove_filename(program);
  llvm::sys::path::append(program, tool);
  llvm::SmallVector<StringRef> words{tool};
  llvm::append_range(words, arguments);
  Workplace workplace;
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef("said"),
                                          StringRef("said")};
  int code =
      llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects,
                                kMaxSeconds, /*MemoryLimit=*/0, &message);
  auto said = llvm::MemoryBuffer::getFile("said");
  StringRef text = said ? (*said)->getBuffer() : StringRef();
  if (code < 0)
    return (tool + ": " + message + "\n" + text).str();
  if (code > 0 && text.trim().empty())
    return (tool + " ends with code " + llvm::Twine(code) + " and says nothing")
        .str();
  if (text.contains("a mistake in Meshwright"))
    return (tool + " has survived a mistake: " + text).str();
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
