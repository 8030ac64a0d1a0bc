//===- mpmd-lsp-server.cpp - Language server for our dialects -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Support/Tool.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/InitAll.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>

/// An editor's messages, in JSON: a header with the length, an empty line, the
/// body.
static void forwardMessages(FILE *from, FILE *to) {
  auto forward = [&](std::vector<char> &text) {
    meshwright::packByteBooleans(text, /*quote=*/"\\\"");
    return fwrite(text.data(), 1, text.size(), to) == text.size();
  };
  std::vector<char> body;
  size_t length = 0;
  char *line = nullptr;
  size_t capacity = 0;
  for (ssize_t size; (size = getline(&line, &capacity, from)) >= 0;) {
    std::vector<char> header(line, line + size);
    llvm::StringRef text = llvm::StringRef(line, size).rtrim();
    bool isEnd = text.empty();
    if (text.consume_front("Content-Length: "))
      text.getAsInteger(10, length);
    if (!forward(header))
      break;
    if (isEnd && length) {
      body.resize(length);
      body.resize(fread(body.data(), 1, length, from));
      length = 0;
      if (!forward(body))
        break;
    }
    fflush(to);
  }
  free(line);
  fclose(to);
}

/// Puts a thread between the editor and the server, which reads standard input
/// itself: boolean constants as JAX prints them become those of this MLIR, at
/// the same place and of the same length.
static bool interceptInput() {
  int ends[2];
  int input = dup(STDIN_FILENO);
  if (input < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  close(ends[0]);
  FILE *from = fdopen(input, "r"), *to = fdopen(ends[1], "w");
  if (!from || !to)
    return false;
  std::thread(forwardMessages, from, to).detach();
  return true;
}

int main(int argc, char **argv) {
  meshwright::prepareTool();
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  if (!interceptInput()) {
    perror("standard input cannot be read");
    return 1;
  }
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
