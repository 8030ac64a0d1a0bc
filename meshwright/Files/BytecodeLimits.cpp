//===- BytecodeLimits.cpp - Bytecode that no reader can take --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BytecodeLimits.h"
#include "meshwright/Files/BytecodeCursor.h"
#include "meshwright/Files/BytecodeOperations.h"
#include "mlir/Bytecode/Encoding.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace meshwright;
namespace bytecode = mlir::bytecode;

/// Groups of entries, each of one dialect, that must come out at `count`.
static std::optional<std::string> checkGroups(BytecodeCursor &cursor,
                                              uint64_t count, StringRef what) {
  while (count > 0 && !cursor.isEmpty()) {
    (void)cursor.takeNumber(); // The dialect.
    uint64_t size = cursor.takeNumber();
    if (cursor.isBad())
      break;
    if (size > count)
      return formatv("a group of {0} has {1} where {2} are left", what, size,
                     count)
          .str();
    count -= size;
    cursor.skipNumbers(size);
  }
  return std::nullopt;
}

/// Entries that take a byte each, at least, after how many they are.
static std::optional<std::string> checkCount(uint64_t count, size_t numBytes,
                                             StringRef what) {
  if (count <= numBytes)
    return std::nullopt;
  return formatv("{0} {1} are declared in {2} bytes", count, what, numBytes)
      .str();
}

static std::optional<std::string> checkAttributesAndTypes(StringRef contents) {
  BytecodeCursor cursor(contents);
  uint64_t numAttributes = cursor.takeNumber();
  uint64_t numTypes = cursor.takeNumber();
  if (auto damage = checkCount(numAttributes, contents.size(), "attributes"))
    return damage;
  if (auto damage = checkCount(numTypes, contents.size(), "types"))
    return damage;
  if (auto damage = checkGroups(cursor, numAttributes, "attributes"))
    return damage;
  return checkGroups(cursor, numTypes, "types");
}

static std::optional<std::string> checkDialects(StringRef contents,
                                                uint64_t version) {
  BytecodeCursor cursor(contents);
  uint64_t numDialects = cursor.takeNumber();
  if (auto damage = checkCount(numDialects, contents.size(), "dialects"))
    return damage;
  if (version < bytecode::kElideUnknownBlockArgLocation)
    return std::nullopt;
  while (numDialects-- > 0 && !cursor.isBad()) {
    bool hasVersion = cursor.takeNumber() & 1; // And its name.
    if (hasVersion)
      (void)cursor.takeSection();
  }
  return checkCount(cursor.takeNumber(), contents.size(),
                    "names of operations");
}

static std::optional<std::string> checkSection(unsigned id, StringRef contents,
                                               uint64_t version) {
  auto checkFirst = [&](StringRef what) {
    return checkCount(BytecodeCursor(contents).takeNumber(), contents.size(),
                      what);
  };
  switch (id) {
  case bytecode::Section::kString:
    return checkFirst("texts");
  case bytecode::Section::kDialect:
    return checkDialects(contents, version);
  case bytecode::Section::kAttrTypeOffset:
    return checkAttributesAndTypes(contents);
  case bytecode::Section::kProperties:
    return checkFirst("properties");
  case bytecode::Section::kIR:
    return findDamagedOperations(contents, version);
  default:
    return std::nullopt;
  }
}

std::optional<std::string>
meshwright::findBytecodeDamage(MemoryBufferRef program) {
  BytecodeCursor file(program.getBuffer());
  for (unsigned i = 0; i < 4; ++i)
    (void)file.takeByte(); // That it is bytecode.
  uint64_t version = file.takeNumber();
  if (version > bytecode::kVersion)
    return std::nullopt;
  file.skipText(); // The producer.
  while (!file.isEmpty()) {
    auto [id, contents] = file.takeSection();
    // Of what is cut off, the reader takes nothing.
    if (file.isBad())
      break;
    if (auto damage = checkSection(id, contents, version))
      return damage;
  }
  return std::nullopt;
}
