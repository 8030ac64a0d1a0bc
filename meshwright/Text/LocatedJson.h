//===- LocatedJson.h - JSON values that know their position -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// llvm::json forgets both the order of keys and where a value was. The order
// of meshes and axes means something in a topology, and an error should point
// at the value it is about. So a file is checked by llvm::json, which decides
// what is JSON, and read by LLVM's YAML parser, which keeps order and place.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_LOCATEDJSON_H
#define MESHWRIGHT_TEXT_LOCATEDJSON_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace meshwright {

struct JsonMember;

struct JsonValue {
  enum class Kind { Null, Boolean, Integer, Real, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0;
  std::string string;
  std::vector<JsonValue> elements;
  std::vector<JsonMember> members; ///< In the order of the file.
  mlir::LocationAttr location;

  bool is(Kind other) const { return kind == other; }
  mlir::InFlightDiagnostic emitError() const;
};

struct JsonMember {
  JsonValue key; ///< Always a string.
  JsonValue value;
};

/// The article and noun of a kind for messages, such as "an object".
llvm::StringRef describe(JsonValue::Kind kind);

/// Diagnoses a value of another kind. `key` says which value is meant.
llvm::LogicalResult expectKind(const JsonValue &value, JsonValue::Kind kind,
                               const llvm::Twine &key);

/// Reads `text`, the contents of `fileName`. Malformed JSON and duplicate keys
/// are diagnosed at their place in the file.
mlir::FailureOr<JsonValue> parseJson(llvm::StringRef text,
                                     llvm::StringRef fileName,
                                     mlir::MLIRContext *context);

} // namespace meshwright

#endif
