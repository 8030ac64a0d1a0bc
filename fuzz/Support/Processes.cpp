//===- Processes.cpp - Tools, run on an input -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Processes.h"
#include "Context.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace meshwright;
using namespace meshwright::fuzz;

/// Sanitizers take three times what the compiler does.
#if __has_feature(address_sanitizer)
static constexpr unsigned kMaxSeconds = 30;
#else
static constexpr unsigned kMaxSeconds = 10;
#endif

Workplace::Workplace(ArrayRef<File> files) {
  std::error_code error = sys::fs::current_path(before);
  if (!error)
    error = sys::fs::createUniqueDirectory("command", folder);
  if (!error)
    error = sys::fs::set_current_path(folder);
  if (error)
    reportFinding("no folder to work in: " + error.message());
  for (auto [name, text] : files)
    raw_fd_ostream(name, error) << text;
}

Workplace::~Workplace() {
  (void)sys::fs::set_current_path(before);
  (void)sys::fs::remove_directories(folder);
}

static std::string read(StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

ProcessResult fuzz::runTool(StringRef tool, ArrayRef<StringRef> arguments,
                            StringRef input) {
  static int anchor;
  SmallString<128> program(sys::fs::getMainExecutable(nullptr, &anchor));
  sys::path::remove_filename(program);
  sys::path::append(program, tool);
  SmallVector<StringRef> words{tool};
  append_range(words, arguments);
  ProcessResult result;
  std::optional<StringRef> redirects[] = {input, StringRef("output"),
                                          StringRef("errors")};
  result.code =
      sys::ExecuteAndWait(program, words, std::nullopt, redirects, kMaxSeconds,
                          /*MemoryLimit=*/0, &result.cause);
  result.output = read("output");
  result.errors = read("errors");
  return result;
}
