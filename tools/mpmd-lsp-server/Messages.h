//===- Messages.h - Between an editor and the server ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's server reads standard input, files and the text of documents itself, and
// knows only the forms of its own MLIR. What an editor sends, and what it gets, is
// therefore changed on the way:
//
//   to the server   boolean constants of a byte each become those of this MLIR, at
//                   the same place and of the same length; a request to read a
//                   file of bytecode names a file in the bytecode of this MLIR
//   to the editor   boolean constants become lists, which JAX's MLIR reads, too
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMDLSPSERVER_MESSAGES_H
#define MESHWRIGHT_TOOLS_MPMDLSPSERVER_MESSAGES_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FileUtilities.h"
#include <cstdio>
#include <functional>
#include <list>
#include <string>

namespace meshwright {

/// The body of a message, or another line, in place.
using MessageChange = std::function<void(std::string &)>;

/// Passes on messages until the last one, and closes `to`. A message is a header
/// with its length, an empty line and a body in JSON:
///
///   Content-Length: 59
///
///   {"jsonrpc": "2.0", "method": "shutdown", "params": {}, …}
///
/// Other lines stand for themselves, as in the server's mode for tests.
void forwardMessages(FILE *from, FILE *to, const MessageChange &change);

/// What an editor sends.
class EditorMessages {
public:
  explicit EditorMessages(const mlir::DialectRegistry &registry);

  void change(std::string &message);

private:
  /// Has a request to read bytecode that JAX may have written name a copy.
  void copyBytecode(std::string &message);

  const mlir::DialectRegistry &registry;
  std::list<llvm::FileRemover> copies;
};

/// What the server answers.
void changeAnswer(std::string &message);

} // namespace meshwright

#endif
