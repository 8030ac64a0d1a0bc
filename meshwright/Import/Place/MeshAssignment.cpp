//===- MeshAssignment.cpp - Where the user wants things to run ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/MeshAssignment.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Text/QuotedText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::mpmd;
using namespace meshwright;
using llvm::raw_ostream;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

MeshAndKind mlir::mpmd::splitMemoryKind(StringRef target) {
  auto [mesh, kind] = target.split('#');
  if (kind.empty())
    return {target, std::nullopt};
  return {mesh, kind};
}

IndexAssignment::IndexAssignment(
    llvm::ArrayRef<std::optional<std::string>> meshes) {
  for (auto [index, mesh] : llvm::enumerate(meshes))
    if (mesh)
      entries[index] = *mesh;
}

static bool isPlainTarget(StringRef target) {
  StringRef mesh = target.take_until([](char c) { return c == '#'; });
  StringRef kind = target.substr(mesh.size());
  mesh.consume_back(kCpuSuffix);
  return isPlainText(mesh, "/") && (kind.empty() || isPlainText(kind, "/"));
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const MeshAndStage &value) {
  if (isPlainTarget(value.target))
    os << value.target;
  else
    printQuoted(value.target, os);
  if (value.stage)
    os << '/' << *value.stage;
  return os;
}

/// Where there are blanks or texts in quotes, braces keep the option together.
template <typename Entries, typename PrintFn, typename IsPlainFn>
static raw_ostream &printEntries(raw_ostream &os, const Entries &entries,
                                 IsPlainFn isPlainEntry, PrintFn print) {
  bool isPlainList = entries.size() < 2 && llvm::all_of(entries, isPlainEntry);
  os << (isPlainList ? "" : "{");
  llvm::interleaveComma(entries, os, print);
  return os << (isPlainList ? "" : "}");
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const NameAssignment &value) {
  return printEntries(
      os, value.entries,
      [](const auto &entry) {
        return isPlainText(entry.first, "@") &&
               isPlainTarget(entry.second.target);
      },
      [&](const auto &entry) {
        if (isPlainText(entry.first, "@"))
          os << entry.first;
        else
          printQuoted(entry.first, os);
        os << '@' << entry.second;
      });
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const IndexAssignment &value) {
  return printEntries(
      os, value.entries,
      [](const auto &entry) { return isPlainText(entry.second); },
      [&](const auto &entry) {
        os << entry.first << '@';
        if (isPlainText(entry.second))
          os << entry.second;
        else
          printQuoted(entry.second, os);
      });
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const InputOutputConstraint &value) {
  return os << value.input << ':' << value.output;
}

//===----------------------------------------------------------------------===//
// Parsers
//===----------------------------------------------------------------------===//

/// Calls `parseEntry(key, mesh)` for each comma-separated `key@mesh` of `arg`.
/// Commas and the like in quotes belong to a name. Returns true after an error,
/// as option parsers do.
static bool
parseEntries(llvm::cl::Option &opt, StringRef arg, StringRef form,
             llvm::function_ref<bool(StringRef, StringRef)> parseEntry) {
  SmallVector<StringRef> entries;
  bool isQuoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < arg.size(); ++i) {
    isQuoted ^= arg[i] == '"';
    if (arg[i] == ',' && !isQuoted) {
      entries.push_back(arg.slice(begin, i));
      begin = i + 1;
    }
  }
  entries.push_back(arg.substr(begin));
  if (entries.back().trim().empty()) // An empty value, or a trailing comma.
    entries.pop_back();
  for (StringRef entry : entries) {
    entry = entry.trim();
    StringRef rest = entry;
    std::string key;
    if (!takeText(rest, "@", key))
      return opt.error("missing '\"' in an entry, got: " + entry);
    if (!rest.consume_front("@"))
      return opt.error("missing '@' in an entry, expected " + form +
                       " but got: " + entry);
    if (parseEntry(key, rest))
      return true;
  }
  return false;
}

/// `mesh/cpu` is a name, unlike `mesh/3`. A memory kind may follow.
static void takeCpuSuffix(StringRef &rest, std::string &target) {
  StringRef tail = rest;
  if (!tail.consume_front(kCpuSuffix) ||
      !(tail.empty() || tail.starts_with("/") || tail.starts_with("#")))
    return;
  StringRef kind = tail.take_until([](char c) { return c == '/'; });
  target += (kCpuSuffix + kind).str();
  rest = tail.substr(kind.size());
}

bool mlir::mpmd::parseOption(llvm::cl::Option &opt, StringRef arg,
                             NameAssignment &value) {
  value.entries.clear();
  return parseEntries(
      opt, arg, "name@mesh or name@mesh/stage",
      [&](StringRef name, StringRef rest) {
        MeshAndStage entry;
        if (!takeText(rest, "/", entry.target))
          return opt.error("missing '\"' in an entry, got: " + rest);
        takeCpuSuffix(rest, entry.target);
        if (!rest.empty() && !rest.starts_with("/"))
          return opt.error("expected '/' and a stage after a "
                           "mesh in quotes, but got: " +
                           rest);
        if (rest.consume_front("/")) {
          int64_t number;
          if (rest.getAsInteger(10, number))
            return opt.error("invalid stage number for \"" + name +
                             "\", expected an integer but got: " + rest);
          entry.stage = number;
        }
        value.entries[name.str()] = std::move(entry);
        return false;
      });
}

bool mlir::mpmd::parseOption(llvm::cl::Option &opt, StringRef arg,
                             IndexAssignment &value) {
  value.entries.clear();
  return parseEntries(
      opt, arg, "index@mesh", [&](StringRef key, StringRef target) {
        int64_t index;
        if (key.getAsInteger(10, index))
          return opt.error("invalid index, expected an integer but got: " +
                           key);
        std::string mesh;
        if (!takeText(target, "", mesh) || !target.empty())
          return opt.error("a quote in a mesh does not end where the mesh "
                           "does, got: " +
                           target);
        value.entries[index] = mesh;
        return false;
      });
}

bool mlir::mpmd::parseOption(llvm::cl::Option &opt, StringRef arg,
                             InputOutputConstraint &value) {
  auto [input, output] = arg.split(':');
  if (input.trim().getAsInteger(10, value.input))
    return opt.error("invalid input index of a constraint, expected "
                     "input:output but got: " +
                     input);
  if (output.trim().getAsInteger(10, value.output))
    return opt.error("invalid output index of a constraint, expected "
                     "input:output but got: " +
                     output);
  return false;
}
