//===- Messages.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/Files/JaxBytecode.h"
#include "meshwright/Files/TextLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace meshwright;

/// A quotation mark inside of a text of JSON.
static constexpr StringLiteral kQuote = "\\\"";
static constexpr StringLiteral kLength = "Content-Length: ";
/// The server refuses longer messages.
static constexpr size_t kMaxLength = size_t(1) << 30;
static constexpr StringLiteral kReadBytecode = "mlir/convertFromBytecode";
/// didOpen, didChange and others.
static constexpr StringLiteral kChangeDocument = "textDocument/did";
static constexpr StringLiteral kTellDiagnostics =
    "textDocument/publishDiagnostics";
/// What the server reads as JSON, finds not to be any, and passes over.
static constexpr StringLiteral kNoMessage = "{";

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

/// Has `change` change what is sent for a method; what is not understood here stays
/// as it is, for the server to answer.
static void changeParams(std::string &message, StringRef method,
                         function_ref<bool(json::Object &params)> change) {
  if (!StringRef(message).contains(method))
    return;
  Expected<json::Value> value = parsePlainJson(message);
  if (!value)
    return consumeError(value.takeError());
  json::Object *request = value->getAsObject();
  if (!request ||
      !request->getString("method").value_or("").starts_with(method))
    return;
  json::Object *params = request->getObject("params");
  if (params && change(*params))
    message = formatv("{0}", *value);
}

void EditorMessages::change(std::string &message) {
  // Readers of JSON, here and in the server, have no bounds for it.
  if (findTextExcess(MemoryBufferRef(message, ""))) {
    message = kNoMessage;
    return;
  }
  changeParams(message, kReadBytecode,
               [&](json::Object &params) { return copyBytecode(params); });
  changeParams(message, kChangeDocument,
               [&](json::Object &params) { return leaveOutTexts(params); });
  packByteBooleans(MutableArrayRef(message.data(), message.size()), kQuote);
}

bool EditorMessages::copyBytecode(json::Object &params) {
  std::optional<StringRef> name = params.getString("uri");
  if (!name)
    return false;
  Expected<lsp::URIForFile> uri = lsp::URIForFile::fromURI(*name);
  if (!uri) {
    consumeError(uri.takeError());
    return false;
  }
  auto file = MemoryBuffer::getFile(uri->file());
  if (!file || !mlir::isBytecode(**file))
    return false;
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
    return false;
  copies.emplace_back(path);
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << contents;
  os.close();
  if (os.has_error()) {
    os.clear_error();
    return false;
  }
  Expected<lsp::URIForFile> copy = lsp::URIForFile::fromFile(path);
  if (!copy) {
    consumeError(copy.takeError());
    return false;
  }
  params["uri"] = copy->uri().str(); // JSON refers to texts it is not given.
  return true;
}

static lsp::Diagnostic describe(const TextExcess &excess, StringRef text) {
  StringRef before = text.take_front(excess.place);
  lsp::Position place(before.count('\n'),
                      before.size() - (before.rfind('\n') + 1));
  lsp::Diagnostic diagnostic;
  diagnostic.range = lsp::Range(place);
  diagnostic.severity = lsp::DiagnosticSeverity::Error;
  diagnostic.source = "mlir"; // As the server's own.
  diagnostic.message = excess.message;
  return diagnostic;
}

bool EditorMessages::leaveOutTexts(json::Object &params) {
  json::Object *document = params.getObject("textDocument");
  if (!document)
    return false;
  std::optional<lsp::Diagnostic> refusal;
  auto leaveOut = [&](json::Object &holder) {
    std::optional<StringRef> text = holder.getString("text");
    std::optional<TextExcess> excess =
        text ? findTextExcess(MemoryBufferRef(*text, "")) : std::nullopt;
    if (!excess)
      return;
    refusal = describe(*excess, *text);
    holder["text"] = "";
  };
  leaveOut(*document);
  // The server asks for whole texts, also of what has changed.
  if (json::Array *changes = params.getArray("contentChanges"))
    for (json::Value &changed : *changes)
      if (json::Object *holder = changed.getAsObject())
        leaveOut(*holder);
  if (!refusal)
    return false;
  Expected<lsp::URIForFile> uri =
      lsp::URIForFile::fromURI(document->getString("uri").value_or(""));
  if (!uri) {
    consumeError(uri.takeError());
    return true;
  }
  std::lock_guard<std::mutex> lock(mutex);
  refusals[{uri->uri().str(), document->getInteger("version").value_or(0)}] =
      std::move(*refusal);
  return true;
}

bool EditorMessages::reportRefusal(json::Object &params) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = refusals.find({params.getString("uri").value_or("").str(),
                              params.getInteger("version").value_or(0)});
  if (found == refusals.end())
    return false;
  params["diagnostics"] = json::Array{lsp::toJSON(found->second)};
  refusals.erase(found);
  return true;
}

void EditorMessages::changeAnswer(std::string &message) {
  changeParams(message, kTellDiagnostics,
               [&](json::Object &params) { return reportRefusal(params); });
  std::string changed;
  raw_string_ostream os(changed);
  printWithBooleanLists(message, os, kQuote);
  message = std::move(changed);
}
