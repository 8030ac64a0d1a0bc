//===- Profile.h - How long fragments took ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What `meshwright.profile` recorded, in the short form that
// `Recording.save_profile` writes, or as a whole recording:
//
//   {"format": "meshwright-profile", "version": 1,
//    "fragments": [{"name": "p0_enc_fwd_calls0to3.step", "mesh": "m1",
//                   "origins": ["enc"], "flops": 2048, "calls": 4,
//                   "seconds": 0.0012, "longest": 0.0019}],
//    "transfers": [{"name": "m1 -> m2", "mesh": "m2", "bytes": 4096, "calls": 4,
//                   "seconds": 0.0003, "longest": 0.0005}],
//    "issue_seconds": 0.00002}
//
// Seconds are means over the runs that were not held up.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_PROFILE_H
#define MESHWRIGHT_COST_PROFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

struct Profile {
  struct Fragment {
    std::string name, mesh;
    std::vector<std::string> origins;
    double flops = 0; ///< 0 if that is not known.
    int64_t calls = 0;
    double seconds = 0, longest = 0;
  };
  struct Transfer {
    std::string name; ///< `m1 -> m2`.
    double bytes = 0; ///< Global.
    int64_t calls = 0;
    double seconds = 0, longest = 0;
  };

  std::vector<Fragment> fragments;
  std::vector<Transfer> transfers;
  /// What the issuing thread took for a launch or copy.
  double issueSeconds = 0;

  /// The seconds of a fragment: of the one with its name, if it ran on that
  /// mesh and from these origins; else, as programs of other microbatch counts
  /// have other names, of those with its mesh and origins the one with the
  /// nearest work, in proportion to the work.
  std::optional<double> findSeconds(llvm::StringRef name, llvm::StringRef mesh,
                                    llvm::ArrayRef<std::string> origins,
                                    double flops) const;
  /// The seconds of a transfer from mesh to mesh: of the nearest size.
  std::optional<double> findTransferSeconds(llvm::StringRef from,
                                            llvm::StringRef to,
                                            double bytes) const;
};

/// Errors say where in the text something is missing or wrong.
llvm::Expected<Profile> parseProfile(llvm::StringRef text);

/// The same for a file, which errors name.
llvm::Expected<Profile> readProfile(llvm::StringRef path);

/// The short form of what was read.
std::string printProfile(const Profile &profile);

} // namespace meshwright

#endif
