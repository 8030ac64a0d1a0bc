//===- Main.cpp - Changed copies of programs ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// fuzz-mutate FIRST OUT < PATHS takes a path of a program from each line, and
// writes changed copies to OUT/FIRST, OUT/FIRST+1 and so on. A copy depends on
// the program and its number alone.
//
//===----------------------------------------------------------------------===//

#include "../Support/Context.h"
#include "Mutator.h"
#include "meshwright/Files/DeepStack.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace meshwright;

static Error writeMutants(uint64_t number, StringRef folder) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> paths = MemoryBuffer::getSTDIN();
  if (!paths)
    return createStringError(paths.getError(), "standard input");
  for (line_iterator path(**paths); !path.is_at_end(); ++path, ++number) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> program =
        MemoryBuffer::getFile(*path);
    if (!program)
      return createStringError(program.getError(), *path);
    SmallString<128> output = folder;
    sys::path::append(output, Twine(number));
    fuzz::renewContext();
    if (Error error = writeToOutput(output, [&](raw_ostream &os) {
          os << fuzz::mutateProgram((*program)->getBuffer(), number);
          return Error::success();
        }))
      return error;
  }
  return Error::success();
}

int main(int argc, char **argv) {
  uint64_t first;
  if (argc != 3 || !to_integer(argv[1], first)) {
    errs() << "usage: fuzz-mutate FIRST OUT < PATHS, with a number and a "
              "folder\n";
    return 1;
  }
  int code = 1;
  runOnDeepStack([&] {
    Error error = writeMutants(first, argv[2]);
    code = error ? 1 : 0;
    logAllUnhandledErrors(std::move(error), errs(), "fuzz-mutate: ");
  });
  return code;
}
