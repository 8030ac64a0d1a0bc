//===- MeshAssignment.h - Where the user wants things to run ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of the import options, and how they are written:
//
//   names        enc@m1,dec@m2/3    computations and tensors: mesh, maybe stage
//   indices      0@m1,4@m2#device   arguments or results: mesh
//   constraint   0:2                argument 0 and result 2 are placed alike
//
// A mesh is written `mesh` or `mesh#kind`, where kind is a memory kind. What
// the kind means is up to the pass. Names and meshes with blanks or with signs
// that have a meaning here are in quotes, with `\XX` for the character of a
// hex code; in a pipeline, braces around the option keep it together:
//
//   {assignment={"a@b"@m1,"layer 1"@"pod 2"/3}}
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACE_MESHASSIGNMENT_H
#define MESHWRIGHT_IMPORT_PLACE_MESHASSIGNMENT_H

#include "meshwright/Text/OptionParser.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mlir::mpmd {

/// What a name is assigned to: a mesh, maybe with `#kind`, and maybe a stage.
struct MeshAndStage {
  std::string target;
  std::optional<int64_t> stage;

  bool operator==(const MeshAndStage &other) const {
    return target == other.target && stage == other.stage;
  }
  bool operator!=(const MeshAndStage &other) const { return !(*this == other); }
};

/// Prints `target` or `target/stage`.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const MeshAndStage &value);

/// A mesh as written in an assignment, taken apart at the first `#`. A `#` with
/// nothing after it belongs to the name.
struct MeshAndKind {
  llvm::StringRef mesh;
  std::optional<llvm::StringRef> kind;
};
MeshAndKind splitMemoryKind(llvm::StringRef target);

/// Named computations and named tensors to meshes, ordered by name.
struct NameAssignment {
  std::map<std::string, MeshAndStage, std::less<>> entries;

  /// Returns the entry of exactly this name, or null.
  const MeshAndStage *find(llvm::StringRef name) const {
    auto it = entries.find(std::string_view(name));
    return it == entries.end() ? nullptr : &it->second;
  }
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const NameAssignment &value);

/// Function arguments or function results to meshes, ordered by index.
struct IndexAssignment {
  std::map<int64_t, std::string> entries;

  IndexAssignment() = default;
  /// One entry per value; values without a mesh stay unassigned.
  explicit IndexAssignment(llvm::ArrayRef<std::optional<std::string>> meshes);
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const IndexAssignment &value);

/// An argument and a result of the entry function that are placed alike.
struct InputOutputConstraint {
  int64_t input = 0;
  int64_t output = 0;

  bool operator==(const InputOutputConstraint &other) const {
    return input == other.input && output == other.output;
  }
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const InputOutputConstraint &value);

bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 NameAssignment &value);
bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 IndexAssignment &value);
bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 InputOutputConstraint &value);

} // namespace mlir::mpmd

namespace llvm::cl {

template <>
class parser<mlir::mpmd::NameAssignment>
    : public meshwright::OptionParser<mlir::mpmd::NameAssignment> {
public:
  using OptionParser::OptionParser;
};
template <>
class parser<mlir::mpmd::IndexAssignment>
    : public meshwright::OptionParser<mlir::mpmd::IndexAssignment> {
public:
  using OptionParser::OptionParser;
};
template <>
class parser<mlir::mpmd::InputOutputConstraint>
    : public meshwright::OptionParser<mlir::mpmd::InputOutputConstraint> {
public:
  using OptionParser::OptionParser;
};

} // namespace llvm::cl

#endif
