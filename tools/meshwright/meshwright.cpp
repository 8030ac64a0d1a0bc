//===- meshwright.cpp - The user's command --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Support/Tool.h"
#include "meshwright/Text/WholeFile.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;

static constexpr llvm::StringLiteral kOverview =
    R"(Meshwright partitions one tensor program into programs on many meshes.

  meshwright check program.mlir
  meshwright partition program.mlir --config config.json -o out
  meshwright erase out/partitioned.mlir -o plain.mlir
  meshwright explain-sharding program.mlir --value 'arg 0'
  meshwright schedule 1F1B --meshes 4 --microbatches 8
  meshwright simulate out --device h100
  meshwright traffic out
  meshwright compile out --target v5p:2x2x4
  meshwright plan layers.json --device h100 --devices 16 -o config.json
  meshwright draw out -o page.html
  meshwright doctor

A program is StableHLO, as text or as MLIR bytecode, with computations named by
mpmd.named_computation. The configuration says which meshes there are and which
name runs where:

  {"function": "main",
   "topology": {"m1": {"x": 2}, "m2": {"x": 2}},
   "assignment": {"encoder": "m1", "decoder": "m2"}}

`meshwright VERB --help` lists the options of a verb.
)";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ignoreFileSizeSignal();
  prepareTool();
  llvm::cl::ParseCommandLineOptions(argc, argv, kOverview);
  for (const Command *command :
       {&checkCommand, &compileCommand, &completionCommand, &doctorCommand,
        &drawCommand, &eraseCommand, &explainShardingCommand, &partitionCommand,
        &planCommand, &scheduleCommand, &simulateCommand, &trafficCommand})
    if (command->subCommand)
      return runTool(command->run);
  llvm::errs() << kOverview;
  return 1;
}
