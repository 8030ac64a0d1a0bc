//===- Times.cpp - Ticks, seconds, and texts of both ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Times.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace meshwright;

Ticks meshwright::toTicks(double seconds) {
  // What does not fit, or is no number, is longer than any step.
  constexpr double kLongest = 1e18;
  double ticks = seconds * kTicksPerSecond;
  return static_cast<Ticks>(std::llround(ticks < kLongest ? ticks : kLongest));
}

double meshwright::getIdlePart(Ticks busy, Ticks makespan) {
  double part = makespan == 0
                    ? 0
                    : static_cast<double>(busy) / static_cast<double>(makespan);
  return 1 - part;
}

std::string meshwright::toSeconds(Ticks ticks) {
  constexpr Ticks kSecond = static_cast<Ticks>(kTicksPerSecond);
  std::string text = std::to_string(ticks / kSecond);
  if (Ticks rest = ticks % kSecond) {
    std::string digits = std::to_string(rest);
    text += "." + std::string(12 - digits.size(), '0') + digits;
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string meshwright::toDuration(Ticks ticks) {
  static constexpr const char *kUnits[] = {"ps", "ns", "us", "ms", "s"};
  double value = static_cast<double>(ticks);
  unsigned step = 0;
  while (value >= 999.95 && step + 1 < std::size(kUnits)) {
    value /= 1000;
    ++step;
  }
  return llvm::formatv(ticks == 0 ? "0"
                       : step     ? "{0:F1} {1}"
                                  : "{0:F0} {1}",
                       value, kUnits[step])
      .str();
}
