//===- ProfileTest.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Profile.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace meshwright;

static std::string getProfileError(llvm::StringRef text) {
  auto profile = parseProfile(text);
  return profile ? "" : llvm::toString(profile.takeError());
}

static const char *const kProfile = R"json({
  "format": "meshwright-profile", "version": 1, "issue_seconds": 2e-5,
  "fragments": [
    {"name": "p0_enc_fwd_calls0to3.step", "mesh": "m1", "origins": ["enc"],
     "flops": 100, "calls": 4, "seconds": 0.5},
    {"name": "p1_enc_bwd_call3.step", "mesh": "m1", "origins": ["enc(1)"],
     "flops": 300, "calls": 1, "seconds": 2},
    {"name": "p2_enc_bwd_calls0to2.step", "mesh": "m1", "origins": ["enc(1)"],
     "flops": 200, "calls": 3, "seconds": 1}],
  "transfers": [
    {"name": "m1 -> m2", "bytes": 64, "calls": 4, "seconds": 0.25},
    {"name": "m1 -> m2", "bytes": 4096, "calls": 4, "seconds": 0.75}]})json";

TEST(ProfileTest, FindsFragmentsByNameElseByWork) {
  Profile profile = llvm::cantFail(parseProfile(kProfile));
  EXPECT_EQ(profile.issueSeconds, 2e-5);
  auto find = [&](llvm::StringRef name, const std::string &origin,
                  double flops) {
    return profile.findSeconds(name, "m1", {origin}, flops);
  };
  EXPECT_EQ(find("p0_enc_fwd_calls0to3.step", "enc", 100), 0.5);
  // Another number of microbatches: other names.
  EXPECT_EQ(find("p0_enc_fwd_calls0to7.step", "enc", 100), 0.5);
  EXPECT_EQ(find("p9_enc_bwd_call7.step", "enc(1)", 300), 2);
  EXPECT_EQ(find("p9_enc_bwd_calls0to6.step", "enc(1)", 200), 1);
  // Smaller microbatches take as much less.
  EXPECT_EQ(find("p0_enc_fwd_calls0to7.step", "enc", 50), 0.25);
  EXPECT_EQ(find("p0_dec.step", "dec", 100), std::nullopt);
  EXPECT_EQ(profile.findSeconds("p0_enc_fwd_calls0to3.step", "m2", {"enc"}, 1),
            std::nullopt);
  EXPECT_EQ(profile.findTransferSeconds("m1", "m2", 60), 0.25);
  EXPECT_EQ(profile.findTransferSeconds("m1", "m2", 9000), 0.75);
  EXPECT_EQ(profile.findTransferSeconds("m2", "m1", 64), std::nullopt);
}

/// An event on mesh m; `more` are further keys, with a comma before each.
static std::string makeEvent(const std::string &kind, const std::string &name,
                             int run, int item, double seconds,
                             const std::string &more = "") {
  return R"({"kind": ")" + kind + R"(", "name": ")" + name +
         R"(", "mesh": "m", "origins": [], "bytes": 0, "issue_seconds": 0.5,
           "error": null, "start": 1, "run": )" +
         std::to_string(run) + R"(, "item": )" + std::to_string(item) +
         R"(, "stop": )" + std::to_string(1 + seconds) + more + "}";
}

static Profile readEvents(llvm::ArrayRef<std::string> events) {
  return llvm::cantFail(parseProfile("{\"version\": 1, \"events\": [" +
                                     llvm::join(events, ",") + "]}"));
}

TEST(ProfileTest, MeansKeepTheSumOfARecording) {
  // The end of the second call was noticed with that of the third.
  Profile profile = readEvents({makeEvent("fragment", "f", 0, 0, 2),
                                makeEvent("fragment", "f", 0, 1, 4),
                                makeEvent("fragment", "f", 0, 2, 0),
                                makeEvent("transfer", "m -> n", 0, 3, 4),
                                makeEvent("transfer", "m -> n", 0, 4, 1),
                                makeEvent("transfer", "m -> n", 0, 5, 1)});
  ASSERT_EQ(profile.fragments.size(), 1u);
  EXPECT_EQ(profile.fragments.front().calls, 3);
  EXPECT_EQ(profile.fragments.front().longest, 4);
  EXPECT_EQ(printProfile(llvm::cantFail(parseProfile(printProfile(profile)))),
            printProfile(profile));
  EXPECT_EQ(profile.findSeconds("f", "m", {}, 0), 2);
  EXPECT_EQ(profile.findTransferSeconds("m", "n", 0), 2);
  EXPECT_EQ(profile.issueSeconds, 0.5);
}

TEST(ProfileTest, StepsOfATransferAreOne) {
  Profile profile = readEvents(
      {makeEvent("transfer", "m -> n", 0, 0, 1),
       makeEvent("transfer", "m -> n", 0, 0, 2),
       makeEvent("transfer", "m -> n", 0, 0, 7, R"(, "process": 1)")});
  ASSERT_EQ(profile.transfers.size(), 1u);
  EXPECT_EQ(profile.transfers.front().calls, 1);
  EXPECT_EQ(profile.findTransferSeconds("m", "n", 0), 7);
}

TEST(ProfileTest, LeavesOutRunsThatWereHeldUp) {
  std::vector<std::string> events;
  for (int run = 0; run < 3; ++run)
    events.push_back(makeEvent("fragment", "f", run, 0, run ? run : 9));
  // Another program, which ran twice: either may be the usual one.
  events.push_back(makeEvent("fragment", "g", 3, 0, 9));
  events.push_back(makeEvent("fragment", "g", 4, 0, 1));
  Profile profile = readEvents(events);
  EXPECT_EQ(profile.findSeconds("f", "m", {}, 0), 1.5);
  EXPECT_EQ(profile.findSeconds("g", "m", {}, 0), 5);
}

TEST(ProfileTest, TellsWhatIsWrong) {
  EXPECT_NE(getProfileError("{}").find("save_profile"), std::string::npos);
  EXPECT_NE(
      getProfileError(R"({"version": 2, "events": []})").find("expected 1"),
      std::string::npos);
  EXPECT_NE(getProfileError(R"({"format": "meshwright-profile", "version": 1})")
                .find("expected a list"),
            std::string::npos);
  EXPECT_NE(getProfileError(R"({"version": 1, "events": [{"kind": 3}]})")
                .find("expected a string"),
            std::string::npos);
  EXPECT_NE(getProfileError(
                R"({"version": 1, "events": [{"kind": "fragment", "name": "f",
                   "mesh": "m", "origins": [], "bytes": 0, "issue_seconds": 0,
                   "start": 5, "stop": 1}]})")
                .find("expected a time not before \"start\""),
            std::string::npos);
}

TEST(ProfileTest, TimesHaveABound) {
  for (llvm::StringRef seconds : {"1e31", "1e999"})
    EXPECT_NE(getProfileError((R"({"format": "meshwright-profile", "version": 1,
                            "fragments": [], "transfers": [],
                            "issue_seconds": )" +
                               seconds + "}")
                                  .str())
                  .find("expected a number of at most 1e30 at "
                        "profile.issue_seconds"),
              std::string::npos);
}

TEST(ProfileTest, CallsAreWholeNumbers) {
  auto withCalls = [](const std::string &calls) {
    return R"({"format": "meshwright-profile", "version": 1, "fragments": [],
               "transfers": [{"name": "a -> b", "bytes": 1, "seconds": 1,
                              "calls": )" +
           calls + "}]}";
  };
  Profile profile =
      llvm::cantFail(parseProfile(withCalls("9223372036854775807")));
  EXPECT_EQ(profile.transfers.front().calls, 9223372036854775807);
  for (const char *wrong : {"9223372036854775808", "1.5", "-1", "null"})
    EXPECT_NE(getProfileError(withCalls(wrong)).find("expected a whole number"),
              std::string::npos)
        << wrong;
}
