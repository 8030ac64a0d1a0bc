//===- mpmd-lsp-server.cpp - Language server for our dialects -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "Support/Tool.h"
#include "meshwright/Files/DeepStack.h"
#include "meshwright/InitDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace meshwright;

namespace {
/// Puts a thread between the server, which reads and writes standard input and
/// output itself, and the editor.
class Interception {
public:
  /// Changes what is read from now on.
  bool startInput(MessageChange change);
  /// Drops what is not read yet.
  void finishInput();
  /// Changes what is written until finishOutput.
  bool startOutput(MessageChange change);
  /// Waits until everything is written, and puts the output back.
  void finishOutput();

private:
  int output = -1; ///< The editor's.
  std::thread writer;
};
} // namespace

bool Interception::startInput(MessageChange change) {
  int ends[2];
  int input = dup(STDIN_FILENO);
  if (input < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  close(ends[0]);
  FILE *from = fdopen(input, "r"), *to = fdopen(ends[1], "w");
  if (!from || !to)
    return false;
  // It may wait for an editor that sends nothing more, so it is not joined.
  std::thread(forwardMessages, from, to, std::move(change)).detach();
  return true;
}

void Interception::finishInput() {
  // A writer to a full pipe without a reader, the thread or at the end of the
  // process its stream, would wait forever.
  signal(SIGPIPE, SIG_IGN);
  close(STDIN_FILENO);
}

bool Interception::startOutput(MessageChange change) {
  int ends[2];
  output = dup(STDOUT_FILENO);
  int target = dup(STDOUT_FILENO);
  if (output < 0 || target < 0 || pipe(ends) != 0 ||
      dup2(ends[1], STDOUT_FILENO) < 0)
    return false;
  close(ends[1]);
  FILE *from = fdopen(ends[0], "r"), *to = fdopen(target, "w");
  if (!from || !to)
    return false;
  writer = std::thread(forwardMessages, from, to, std::move(change));
  return true;
}

void Interception::finishOutput() {
  if (!writer.joinable())
    return;
  llvm::outs().flush();
  // The last writing end of the pipe, so the thread comes to its end.
  dup2(output, STDOUT_FILENO);
  writer.join();
}

int main(int argc, char **argv) {
  prepareTool();
  giveThreadsDeepStacks();
  // Not on the stack: threads use them until the process is gone, and the command
  // line may end it, with an answer to --help.
  static mlir::DialectRegistry registry;
  static Interception interception;
  static EditorMessages messages(registry);
  registerAllDialects(registry);
  llvm::outs(); // Goes after what is registered next.
  atexit([] {
    interception.finishInput();
    interception.finishOutput();
  });
  if (!interception.startInput(
          [](std::string &message) { messages.change(message); }) ||
      !interception.startOutput(
          [](std::string &message) { messages.changeAnswer(message); })) {
    perror("standard input and output cannot be read");
    return 1;
  }
  bool hasFailed = false;
  runOnDeepStack([&] {
    hasFailed = failed(mlir::MlirLspServerMain(argc, argv, registry));
  });
  return hasFailed;
}
