//===- LocatedJson.cpp - JSON values that know their position -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/LocatedJson.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace mlir;
using namespace meshwright;
using Kind = JsonValue::Kind;

InFlightDiagnostic JsonValue::emitError() const {
  return mlir::emitError(location);
}

StringRef meshwright::describe(Kind kind) {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "an integer";
  case Kind::Real:
    return "a real number";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  llvm_unreachable("unknown kind");
}

namespace {
/// Turns the nodes of a YAML stream over valid JSON into values.
class Reader {
public:
  Reader(StringRef text, StringRef fileName, MLIRContext *context)
      : text(text), fileName(fileName), context(context),
        stream(text, sourceMgr, /*ShowColors=*/false) {}

  FailureOr<JsonValue> read() {
    JsonValue value;
    if (failed(readNode(stream.begin()->getRoot(), value)))
      return failure();
    return value;
  }

  LocationAttr locate(const char *where) {
    // Nodes come in the order of the file, so counting lines goes on from the
    // last position.
    for (; position < where; ++position)
      if (*position == '\n') {
        ++line;
        lineStart = position + 1;
      }
    return FileLineColLoc::get(context, fileName, line, where - lineStart + 1);
  }

private:
  /// A container's range begins after its bracket.
  const char *findStart(llvm::yaml::Node *node) {
    const char *start = node->getSourceRange().Start.getPointer();
    char bracket = isa<llvm::yaml::MappingNode>(node)    ? '{'
                   : isa<llvm::yaml::SequenceNode>(node) ? '['
                                                         : 0;
    while (bracket && start > text.begin() && *start != bracket)
      --start;
    return start;
  }

  LogicalResult readNode(llvm::yaml::Node *node, JsonValue &value) {
    value.location = locate(findStart(node));
    if (auto *object = dyn_cast<llvm::yaml::MappingNode>(node))
      return readObject(*object, value);
    if (auto *array = dyn_cast<llvm::yaml::SequenceNode>(node)) {
      value.kind = Kind::Array;
      for (llvm::yaml::Node &element : *array)
        if (failed(readNode(&element, value.elements.emplace_back())))
          return failure();
      return success();
    }
    auto *scalar = dyn_cast<llvm::yaml::ScalarNode>(node);
    if (!scalar)
      return value.emitError() << "not a JSON value";
    readScalar(*scalar, value);
    return success();
  }

  LogicalResult readObject(llvm::yaml::MappingNode &object, JsonValue &value) {
    value.kind = Kind::Object;
    llvm::StringSet<> seen;
    for (llvm::yaml::KeyValueNode &entry : object) {
      JsonMember &member = value.members.emplace_back();
      if (failed(readNode(entry.getKey(), member.key)) ||
          failed(readNode(entry.getValue(), member.value)))
        return failure();
      if (!seen.insert(member.key.string).second)
        return member.key.emitError() << "duplicate key \"" << member.key.string
                                      << "\"; remove one of the two";
    }
    return success();
  }

  void readScalar(llvm::yaml::ScalarNode &scalar, JsonValue &value) {
    StringRef raw = scalar.getRawValue().trim();
    if (raw.starts_with("\"")) {
      // llvm::json decodes escapes the way JSON means them.
      value.kind = Kind::String;
      if (llvm::Expected<llvm::json::Value> decoded = llvm::json::parse(raw))
        value.string = decoded->getAsString()->str();
      else
        llvm::consumeError(decoded.takeError());
      return;
    }
    if (raw == "null")
      return;
    if (raw == "true" || raw == "false") {
      value.kind = Kind::Boolean;
      value.boolean = raw == "true";
      return;
    }
    value.kind =
        raw.getAsInteger(10, value.integer) ? Kind::Real : Kind::Integer;
  }

  StringRef text, fileName;
  MLIRContext *context;
  llvm::SourceMgr sourceMgr;
  llvm::yaml::Stream stream;
  const char *position = text.begin(), *lineStart = text.begin();
  unsigned line = 1;
};
} // namespace

LogicalResult meshwright::expectKind(const JsonValue &value,
                                     JsonValue::Kind kind, const Twine &key) {
  if (value.is(kind))
    return success();
  return value.emitError() << key << ": expected " << describe(kind)
                           << ", but got " << describe(value.kind);
}

FailureOr<JsonValue> meshwright::parseJson(StringRef text, StringRef fileName,
                                           MLIRContext *context) {
  if (const char *where = findTooDeepJson(text))
    return emitError(Reader(text, fileName, context).locate(where))
           << "malformed JSON: nested too deeply";
  Location start = FileLineColLoc::get(context, fileName, 1, 1);
  if (llvm::Expected<llvm::json::Value> checked = llvm::json::parse(text);
      !checked) {
    Location where = start;
    std::string message;
    llvm::handleAllErrors(
        checked.takeError(), [&](const llvm::json::ParseError &error) {
          message = error.message();
          // "[line:column, byte=offset]: what"; LLVM has no access to the numbers.
          unsigned line = 0, column = 0;
          StringRef rest = message;
          if (rest.consume_front("[") && !rest.consumeInteger(10, line) &&
              rest.consume_front(":") && !rest.consumeInteger(10, column)) {
            where = FileLineColLoc::get(context, fileName, line, column + 1);
            message = rest.split("]: ").second.str();
          }
        });
    return emitError(where) << "malformed JSON: " << message;
  }
  return Reader(text, fileName, context).read();
}
