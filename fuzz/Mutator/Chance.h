//===- Chance.h - Random choices --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_MUTATOR_CHANCE_H
#define MESHWRIGHT_FUZZ_MUTATOR_CHANCE_H

#include <cstdint>
#include <random>

namespace meshwright::fuzz {

/// A generator whose choices are the same with every standard library.
class Chance {
public:
  explicit Chance(uint64_t seed) : generator(seed) {}

  /// From 0 to `end`, exclusive, which is not 0.
  uint64_t below(uint64_t end) { return generator() % end; }
  bool oneIn(uint64_t count) { return below(count) == 0; }
  template <typename List> decltype(auto) of(List &&list) {
    return list[below(list.size())];
  }

private:
  std::mt19937_64 generator;
};

} // namespace meshwright::fuzz

#endif
