//===- Partition.cpp - Programs and configurations, as a user has them ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a module after a line with a configuration:
//
//   // CONFIG: {"topology": {"m": {"x": 2}}, "assignment": {"enc": "m"}}
//
// It is partitioned as `meshwright partition` does it, and what comes of it is
// simulated and erased.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Chance.h"
#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Passes.h"
#include "Support/Programs.h"
#include "Support/SimulateProgram.h"
#include "Support/Target.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

static constexpr StringRef kConfig = "// CONFIG: ";

/// As `meshwright partition` makes its files.
static void writeFiles(mlir::ModuleOp module, const ExportedProgram &program) {
  std::string json;
  llvm::raw_string_ostream os(json);
  writeJson(program, os);
  if (llvm::Expected<llvm::json::Value> value = llvm::json::parse(json); !value)
    reportFinding("schedule.json is no JSON: " +
                  llvm::toString(value.takeError()));
  mlir::SymbolTable symbols(module);
  for (const ExportedProgram::Fragment &fragment : program.fragments) {
    mlir::func::FuncOp function = fragment.function;
    ErrorCount errors(module.getContext());
    auto own = makeFragmentModule(function, symbols);
    if (succeeded(own))
      checkRoundTrip(**own);
    else if (errors.get() == 0)
      reportFinding("a fragment is not written, and no error says why");
  }
}

void fuzz::takeInput(StringRef input) {
  auto [line, text] = input.split('\n');
  if (!line.consume_front(kConfig))
    return;
  ErrorCount errors(getContext());
  auto config = parsePartitionConfig(line, "config", getContext());
  if (failed(config)) {
    if (errors.get() == 0)
      reportFinding("the configuration is rejected without an error");
    return;
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = readProgram(text);
  if (!module)
    return;
  auto result = partition(*module, *config);
  if (failed(result)) {
    if (errors.get() == 0)
      reportFinding("partitioning fails without an error");
    return;
  }
  if (errors.get() != 0)
    reportFinding("partitioning succeeds in spite of an error: " +
                  errors.first());
  if (failed(verify(*module)))
    reportFinding("what was partitioned does not verify: " + errors.first());
  std::optional<std::string> printed = checkRoundTrip(*module);
  if (!printed)
    return;
  if (result->program)
    writeFiles(*module, *result->program);
  simulateProgram(*printed);
  runPasses(*printed, "mpmd-erase-partitioning");
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  Chance chance(seed);
  auto [line, program] = input.split('\n');
  if (line.starts_with(kConfig) && chance.oneIn(3)) {
    std::string config =
        mutateText(line.drop_front(kConfig.size()), chance.below(~0ull));
    llvm::erase(config, '\n');
    return (kConfig + config + "\n" + program).str();
  }
  return mutateProgram(input, chance.below(~0ull));
}
