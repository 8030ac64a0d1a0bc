//===- MeshAssignment.cpp - Where the user wants things to run ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshAssignment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::mpmd;
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

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const MeshAndStage &value) {
  os << value.target;
  if (value.stage)
    os << '/' << *value.stage;
  return os;
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const NameAssignment &value) {
  llvm::interleaveComma(value.entries, os, [&](const auto &entry) {
    os << entry.first << '@' << entry.second;
  });
  return os;
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const IndexAssignment &value) {
  llvm::interleaveComma(value.entries, os, [&](const auto &entry) {
    os << entry.first << '@' << entry.second;
  });
  return os;
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const InputOutputConstraint &value) {
  return os << value.input << ':' << value.output;
}

//===----------------------------------------------------------------------===//
// Parsers
//===----------------------------------------------------------------------===//

/// Calls `parseEntry(key, mesh)` for each comma-separated `key@mesh` of `arg`.
/// Returns true after an error, as option parsers do.
static bool
parseEntries(llvm::cl::Option &opt, StringRef arg, StringRef form,
             llvm::function_ref<bool(StringRef, StringRef)> parseEntry) {
  SmallVector<StringRef> entries;
  arg.split(entries, ',');
  if (entries.back().trim().empty()) // An empty value, or a trailing comma.
    entries.pop_back();
  for (StringRef entry : entries) {
    entry = entry.trim();
    if (!entry.contains('@'))
      return opt.error("missing '@' in an entry, expected " + form +
                       " but got: " + entry);
    auto [key, mesh] = entry.split('@');
    if (parseEntry(key, mesh))
      return true;
  }
  return false;
}

/// Prints one line of --print-options: the option, its value and its default.
static void printDiff(const llvm::cl::Option &opt, const Twine &value,
                      size_t globalWidth) {
  llvm::outs() << "  --" << opt.ArgStr;
  if (globalWidth > opt.ArgStr.size())
    llvm::outs().indent(globalWidth - opt.ArgStr.size());
  llvm::outs() << " = " << value << '\n';
}

namespace llvm::cl {

bool parser<NameAssignment>::parse(Option &opt, StringRef argName,
                                   StringRef arg, NameAssignment &value) {
  value.entries.clear();
  return parseEntries(opt, arg, "name@mesh or name@mesh/stage",
                      [&](StringRef name, StringRef rest) {
                        MeshAndStage entry;
                        auto [target, stage] = rest.split('/');
                        entry.target = target.str();
                        if (rest.contains('/')) {
                          int64_t number;
                          if (stage.getAsInteger(10, number))
                            return opt.error(
                                "invalid stage number for \"" + name +
                                "\", expected an integer but got: " + stage);
                          entry.stage = number;
                        }
                        value.entries[name.str()] = std::move(entry);
                        return false;
                      });
}

void parser<NameAssignment>::printOptionDiff(const Option &opt,
                                             const NameAssignment &value,
                                             const OptVal &defaultValue,
                                             size_t globalWidth) const {
  printDiff(opt, llvm::to_string(value), globalWidth);
}

bool parser<IndexAssignment>::parse(Option &opt, StringRef argName,
                                    StringRef arg, IndexAssignment &value) {
  value.entries.clear();
  return parseEntries(
      opt, arg, "index@mesh", [&](StringRef key, StringRef target) {
        int64_t index;
        if (key.getAsInteger(10, index))
          return opt.error("invalid index, expected an integer but got: " +
                           key);
        value.entries[index] = target.str();
        return false;
      });
}

void parser<IndexAssignment>::printOptionDiff(const Option &opt,
                                              const IndexAssignment &value,
                                              const OptVal &defaultValue,
                                              size_t globalWidth) const {
  printDiff(opt, llvm::to_string(value), globalWidth);
}

bool parser<InputOutputConstraint>::parse(Option &opt, StringRef argName,
                                          StringRef arg,
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

void parser<InputOutputConstraint>::printOptionDiff(
    const Option &opt, const InputOutputConstraint &value,
    const OptVal &defaultValue, size_t globalWidth) const {
  printDiff(opt, llvm::to_string(value), globalWidth);
}

} // namespace llvm::cl
