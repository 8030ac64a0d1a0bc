//===- LanguageServer.cpp - What editors send -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is what an editor sends, a message a line, without the headers:
//
//   {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {…}}
//   {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {…}}
//
// The server beside the target reads all of it, and a last request. While no
// message is one that ends it, it has to answer that one, too.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Chance.h"
#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Processes.h"
#include "Support/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <sys/resource.h>

using namespace llvm;
using namespace meshwright;
using namespace meshwright::fuzz;

static constexpr StringLiteral kLast =
    R"({"jsonrpc": "2.0", "id": "last", "method": "shutdown", "params": {}})";

static std::string withHeader(StringRef body) {
  return formatv("Content-Length: {0}\r\n\r\n{1}", body.size(), body);
}

/// Whether the server goes on after a message. What is no JSON it passes over, but
/// it ends at JSON that is no message.
static bool canGoOn(StringRef message) {
  Expected<json::Value> value = json::parse(message);
  if (!value) {
    consumeError(value.takeError());
    return true;
  }
  json::Object *object = value->getAsObject();
  return object && object->getString("jsonrpc") == "2.0" &&
         object->getString("method").value_or("exit") != "exit";
}

/// The bodies of what the server says.
static SmallVector<StringRef> splitAnswers(StringRef output) {
  SmallVector<StringRef> answers;
  while (output.consume_front("Content-Length: ")) {
    size_t length = 0;
    if (output.consumeInteger(10, length) ||
        !output.consume_front("\r\n\r\n") || length > output.size())
      reportFinding("an answer has not the length it is said to have");
    answers.push_back(output.take_front(length));
    output = output.drop_front(length);
  }
  if (!output.empty())
    reportFinding("after the answers there is " + output);
  return answers;
}

void fuzz::takeInput(StringRef input) {
  // Threads of the server have stacks so large that those of a few documents, of
  // which nothing is used, are more than a process of the loop may have.
  rlimit memory = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &memory);
  SmallVector<StringRef> messages;
  input.split(messages, '\n', -1, /*KeepEmpty=*/false);
  std::string sent;
  bool isAnswered = true;
  for (StringRef message : messages) {
    sent += withHeader(message);
    isAnswered &= canGoOn(message);
  }
  sent += withHeader(kLast);
  sent += withHeader(R"({"jsonrpc": "2.0", "method": "exit"})");
  Workplace workplace({{"sent", sent}});
  ProcessResult result = runTool("mpmd-lsp-server", {"--log=error"}, "sent");
  if (result.code < 0)
    reportFinding(result.cause + "\n" + result.errors);
  bool hasLast = false;
  for (StringRef answer : splitAnswers(result.output)) {
    Expected<json::Value> value = json::parse(answer);
    if (!value)
      reportFinding("an answer is no JSON: " + toString(value.takeError()));
    if (json::Object *object = value->getAsObject())
      hasLast |= object->getString("id") == "last";
  }
  if (isAnswered && !hasLast)
    reportFinding("the last request has no answer\n" + result.errors);
}

/// Changes the text of a document as a program; nothing where there is none.
static bool mutateDocument(json::Value &message, uint64_t seed) {
  auto getObject = [](json::Object *from, StringRef name) {
    return from ? from->getObject(name) : nullptr;
  };
  json::Object *document =
      getObject(getObject(message.getAsObject(), "params"), "textDocument");
  std::optional<StringRef> text =
      document ? document->getString("text") : std::nullopt;
  if (!text)
    return false;
  (*document)["text"] = json::fixUTF8(mutateProgram(*text, seed));
  return true;
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  Chance chance(seed);
  SmallVector<StringRef> messages;
  input.split(messages, '\n', -1, /*KeepEmpty=*/false);
  if (messages.empty() || chance.oneIn(3))
    return mutateText(input, seed);
  // With as many documents as there mostly are, one of a few tries finds it.
  for (unsigned i = 0; i < 8; ++i) {
    StringRef &message = messages[chance.below(messages.size())];
    Expected<json::Value> value = json::parse(message);
    if (!value) {
      consumeError(value.takeError());
      continue;
    }
    if (!mutateDocument(*value, seed))
      continue;
    std::string changed = formatv("{0}", *value);
    message = changed;
    return join(messages, "\n");
  }
  return mutateText(input, seed);
}
