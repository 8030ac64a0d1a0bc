//===- Messages.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/Files/JaxBytecode.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace meshwright;

/// A quotation mark inside of a text of JSON.
static constexpr StringLiteral kQuote = "\\\"";
static constexpr StringLiteral kLength = "Content-Length: ";
/// The server refuses longer messages.
static constexpr size_t kMaxLength = size_t(1) << 30;
static constexpr StringLiteral kReadBytecode = "mlir/convertFromBytecode";

void meshwright::forwardMessages(FILE *from, FILE *to,
                                 const MessageChange &change) {
  auto write = [to](StringRef text) {
    return fwrite(text.data(), 1, text.size(), to) == text.size();
  };
  bool isOpen = true;
  size_t length = 0;
  char *line = nullptr;
  size_t capacity = 0;
  for (ssize_t size; isOpen && (size = getline(&line, &capacity, from)) >= 0;) {
    std::string text(line, size);
    StringRef number = StringRef(text).rtrim();
    bool isEnd = number.empty();
    size_t found;
    if (number.consume_front(kLength) && !number.getAsInteger(10, found) &&
        found <= kMaxLength) {
      length = found; // To be written when it is known what the body becomes.
      continue;
    }
    if (isEnd && length) {
      std::string body(length, '\0');
      body.resize(fread(body.data(), 1, length, from));
      length = 0;
      change(body);
      isOpen =
          write((kLength + std::to_string(body.size()) + "\r\n\r\n").str()) &&
          write(body);
    } else {
      change(text);
      isOpen = write(text);
    }
    fflush(to);
  }
  free(line);
  fclose(to);
}

EditorMessages::EditorMessages(const mlir::DialectRegistry &registry)
    : registry(registry) {
  // As the server does, when it may be too late for the first request.
  lsp::URIForFile::registerSupportedScheme("mlir.bytecode-mlir");
}

void EditorMessages::change(std::string &message) {
  if (StringRef(message).contains(kReadBytecode))
    copyBytecode(message);
  packByteBooleans(MutableArrayRef(message.data(), message.size()), kQuote);
}

void EditorMessages::copyBytecode(std::string &message) {
  // What is not understood here, the server answers as it is.
  Expected<json::Value> value = json::parse(message);
  if (!value)
    return consumeError(value.takeError());
  json::Object *request = value->getAsObject();
  if (!request || request->getString("method") != kReadBytecode)
    return;
  json::Object *params = request->getObject("params");
  std::optional<StringRef> name =
      params ? params->getString("uri") : std::nullopt;
  if (!name)
    return;
  Expected<lsp::URIForFile> uri = lsp::URIForFile::fromURI(*name);
  if (!uri)
    return consumeError(uri.takeError());
  auto file = MemoryBuffer::getFile(uri->file());
  if (!file || !mlir::isBytecode(**file))
    return;
  std::string error;
  std::unique_ptr<MemoryBuffer> own =
      convertBytecodeOfJax(**file, registry, error);
  SmallString<128> path;
  int descriptor;
  // The server says of what begins as bytecode, and ends there, that it is none;
  // all of it, it may not survive.
  StringRef contents =
      own ? own->getBuffer() : (*file)->getBuffer().take_front(4);
  if (sys::fs::createTemporaryFile("meshwright", "mlirbc", descriptor, path))
    return;
  copies.emplace_back(path);
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << contents;
  os.close();
  if (os.has_error())
    return os.clear_error();
  Expected<lsp::URIForFile> copy = lsp::URIForFile::fromFile(path);
  if (!copy)
    return consumeError(copy.takeError());
  (*params)["uri"] = copy->uri();
  message = formatv("{0}", *value);
}

void meshwright::changeAnswer(std::string &message) {
  std::string changed;
  raw_string_ostream os(changed);
  printWithBooleanLists(message, os, kQuote);
  message = std::move(changed);
}
