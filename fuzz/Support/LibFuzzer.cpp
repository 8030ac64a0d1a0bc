//===- LibFuzzer.cpp - What libFuzzer calls -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Mutator/Chance.h"
#include "Target.h"
#include "meshwright/Files/DeepStack.h"
#include <csignal>
#include <cstring>

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

extern "C" {
int LLVMFuzzerRunDriver(int *argc, char ***argv,
                        int (*takeBytes)(const uint8_t *data, size_t size));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
}

static StringRef toText(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

static size_t copyTo(StringRef text, uint8_t *out, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  std::memcpy(out, text.data(), size);
  return size;
}

static int takeBytes(const uint8_t *data, size_t size) {
  renewContext();
  takeInput(toText(data, size));
  return 0;
}

/// Mostly ours, which know what inputs consist of; libFuzzer's own know what
/// bytes the input was compared with.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  Chance chance(seed);
  if (chance.oneIn(4))
    return LLVMFuzzerMutate(data, size, maxSize);
  return copyTo(mutateInput(toText(data, size), seed), data, maxSize);
}

/// The first lines of one and the last of the other. Where the first line says
/// what is done with the others, it is often alone, and so meets another
/// program.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                            const uint8_t *data2, size_t size2,
                                            uint8_t *out, size_t maxSize,
                                            unsigned seed) {
  Chance chance(seed);
  StringRef first = toText(data1, size1), second = toText(data2, size2);
  auto findLineEnd = [&](StringRef text) {
    size_t from =
        text.empty() || chance.oneIn(2) ? 0 : chance.below(text.size());
    return std::min(text.find('\n', from), text.size());
  };
  std::string input = first.take_front(findLineEnd(first)).str();
  input += second.drop_front(findLineEnd(second));
  return copyTo(input, out, maxSize);
}

int main(int argc, char **argv) {
  // The alarm by which libFuzzer looks how long an input takes counts in the
  // thread that fuzzes only, and would be given to the one that waits for it.
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  int code = 1;
  runOnDeepStack([&] {
    pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    code = LLVMFuzzerRunDriver(&argc, &argv, takeBytes);
  });
  return code;
}
