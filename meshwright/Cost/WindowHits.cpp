//===- WindowHits.cpp - Positions of a window that count ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Wanted are the kernel positions k, output positions o and input positions i
// with
//
//   o * stride + k * rhsDilation - padLow = i * lhsDilation.
//
// Which o have an i at all depends on k modulo the dilation. The k for which
// there are any are k = first + t * step. For each of them the o are an
// arithmetic progression, o = c + t * e + u * D, and u runs between two bounds
// that are linear in t, rounded: a sum of rounded linear functions, which is
// computed as Euclid computes a greatest common divisor.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/WindowHits.h"
#include <algorithm>
#include <numeric>
#include <utility>

using namespace meshwright;

// Products of three sizes of 31 bits, and sums of a size's number of them.
__extension__ using Wide = __int128;

static Wide floorDiv(Wide a, Wide b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

static Wide ceilDiv(Wide a, Wide b) { return -floorDiv(-a, b); }

static Wide modulo(Wide a, Wide b) { return a - floorDiv(a, b) * b; }

/// The x in 0..m-1 with a * x = 1 modulo m, for a without a divisor of m.
static Wide invert(Wide a, Wide m) {
  Wide previous = 0, next = 1, rest = modulo(a, m), modulus = m;
  while (rest > 1) {
    Wide quotient = modulus / rest;
    std::swap(modulus -= quotient * rest, rest);
    std::swap(previous -= quotient * next, next);
  }
  return m == 1 ? 0 : modulo(next, m);
}

namespace {
/// floor((offset + slope * t) / divisor)
struct RoundedLine {
  Wide offset, slope, divisor;

  /// The sum of the values at 0..count-1.
  Wide sum(Wide count) const {
    Wide total = 0;
    for (Wide n = count, a = slope, b = offset, m = divisor;;) {
      // Whole parts are an arithmetic series, and leave a, b below m.
      total += floorDiv(a, m) * (n * (n - 1) / 2) + floorDiv(b, m) * n;
      a = modulo(a, m);
      b = modulo(b, m);
      // What remains counts the grid points below a line. By rows instead of
      // columns, from the far corner, they lie below a line again.
      Wide top = a * n + b;
      if (top < m)
        return total;
      n = top / m;
      b = top % m;
      std::swap(a, m);
    }
  }

  Wide sum(Wide begin, Wide end) const {
    if (end <= begin)
      return 0;
    return RoundedLine{offset + slope * begin, slope, divisor}.sum(end - begin);
  }
};
} // namespace

double meshwright::countWindowHits(const WindowDimension &window) {
  constexpr int64_t kMost = int64_t(1) << 31;
  for (int64_t size :
       {window.input, window.kernel, window.output, window.stride,
        window.padLow, window.lhsDilation, window.rhsDilation})
    if (size >= kMost || size <= -kMost)
      return double(window.kernel) * double(window.output);
  if (window.input <= 0 || window.kernel <= 0 || window.output <= 0)
    return 0;
  Wide stride = window.stride, dilation = window.lhsDilation;
  Wide shared = std::gcd(window.stride, window.lhsDilation);
  Wide sharedByAll = std::gcd(int64_t(shared), window.rhsDilation);
  if (window.padLow % int64_t(sharedByAll) != 0)
    return 0;

  // k * rhsDilation = padLow modulo what stride and dilation share.
  Wide step = shared / sharedByAll;
  Wide first = modulo(window.padLow / int64_t(sharedByAll) *
                          invert(window.rhsDilation / sharedByAll, step),
                      step);
  if (first >= window.kernel)
    return 0;
  Wide count = ceilDiv(window.kernel - first, step);

  // o * stride = low - t * move modulo the dilation; i = 0 at o * stride = low.
  Wide low = window.padLow - first * window.rhsDilation;
  Wide high = low + Wide(window.input - 1) * dilation;
  Wide last = Wide(window.output - 1) * stride;
  Wide move = step * window.rhsDilation;
  Wide period = dilation / shared;
  Wide inverse = invert(stride / shared, period);
  Wide c = modulo(low / shared * inverse, period);
  Wide e = modulo(-(move / shared) * inverse, period);

  // At t, o * stride is from max(0, low - t * move) to
  // min(last, high - t * move).
  auto clamp = [&](Wide t) { return std::clamp<Wide>(t, 0, count); };
  Wide begin = clamp(ceilDiv(low - last, move));
  Wide end = clamp(floorDiv(high, move) + 1);
  Wide fromLow = clamp(floorDiv(low, move) + 1);
  Wide toHigh = clamp(ceilDiv(high - last, move));
  Wide divisor = stride * period;
  auto line = [&](Wide bound, bool moves) {
    return RoundedLine{bound - stride * c,
                       -stride * e - (moves ? move : Wide(0)), divisor};
  };
  // The number of u up to a bound, and those below one.
  auto upTo = [&](Wide bound, bool moves, Wide from, Wide to) {
    return line(bound, moves).sum(std::max(from, begin), std::min(to, end));
  };
  Wide hits = upTo(last, false, 0, toHigh) + upTo(high, true, toHigh, count) -
              upTo(low - 1, true, 0, fromLow) - upTo(-1, false, fromLow, count);
  return double(hits);
}
