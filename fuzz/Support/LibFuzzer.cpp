//===- LibFuzzer.cpp - What libFuzzer calls -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Target.h"
#include "meshwright/Files/DeepStack.h"
#include <cstring>

using namespace meshwright;
using namespace meshwright::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  renewContext();
  runOnDeepStack(
      [&] { takeInput({reinterpret_cast<const char *>(data), size}); });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::string input;
  runOnDeepStack([&] {
    input = mutateInput({reinterpret_cast<const char *>(data), size}, seed);
  });
  size_t newSize = std::min(input.size(), maxSize);
  std::memcpy(data, input.data(), newSize);
  return newSize;
}
