//===- Commands.h - The verbs of the meshwright tool ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_COMMANDS_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_COMMANDS_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LogicalResult.h"

namespace meshwright {

/// A verb: its subcommand, and what runs when it was given.
struct Command {
  llvm::cl::SubCommand &subCommand;
  llvm::LogicalResult (*run)();
};

extern const Command checkCommand;
extern const Command compileCommand;
extern const Command completionCommand;
extern const Command doctorCommand;
extern const Command drawCommand;
extern const Command eraseCommand;
extern const Command explainShardingCommand;
extern const Command partitionCommand;
extern const Command planCommand;
extern const Command scheduleCommand;
extern const Command simulateCommand;
extern const Command trafficCommand;

} // namespace meshwright

#endif
