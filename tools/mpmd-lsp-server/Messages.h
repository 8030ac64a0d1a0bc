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
//                   file of bytecode names a file in the bytecode of this MLIR; a
//                   document that the parser would not survive is empty
//   to the editor   boolean constants become lists, which JAX's MLIR reads, too;
//                   the error of a document that was left out is reported
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMDLSPSERVER_MESSAGES_H
#define MESHWRIGHT_TOOLS_MPMDLSPSERVER_MESSAGES_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <mutex>
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
/// Other lines pass unchanged, as in the server's mode for tests.
void forwardMessages(FILE *from, FILE *to, const MessageChange &change);

/// What an editor sends, and what it is answered, which two threads may change at
/// a time.
class EditorMessages {
public:
  explicit EditorMessages(const mlir::DialectRegistry &registry);

  /// To the server.
  void change(std::string &message);
  /// To the editor.
  void changeAnswer(std::string &message);

private:
  /// These return whether anything has changed.
  ///
  /// Has a request to read bytecode that JAX may have written name a copy.
  bool copyBytecode(llvm::json::Object &params);
  /// Takes texts out of a document that is opened or changed.
  bool leaveOutTexts(llvm::json::Object &params);
  /// Puts in what is wrong with them.
  bool reportRefusal(llvm::json::Object &params);

  /// A state of a document: its URI as the server writes it, and the version.
  using DocumentState = std::pair<std::string, int64_t>;

  const mlir::DialectRegistry &registry;
  std::list<llvm::FileRemover> copies;
  std::mutex mutex; ///< Of what is below.
  std::map<DocumentState, llvm::lsp::Diagnostic> refusals;
};

} // namespace meshwright

#endif
