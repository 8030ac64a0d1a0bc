//===- FragmentInfoTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Merge/MergedAttributes.h"
#include "unittests/Dialect/Mpmd/MpmdTest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class FragmentInfoTest : public MpmdTest {
protected:
  FragmentOp fragment(unsigned n) { return op<FragmentOp>("f", n); }
  /// A function of fragments with these headers and attributes.
  void parseFragments(ArrayRef<std::pair<StringRef, StringRef>> fragments) {
    std::string text = "func.func @f() {\n";
    for (auto [header, attrs] : fragments)
      text += ("mpmd.fragment<mesh=\"m1\", " + header + "> () {" + attrs +
               "} () { mpmd.return } : () -> ()\n")
                  .str();
    parse(text + "return\n}");
  }
};
} // namespace

TEST_F(FragmentInfoTest, DescribesAFragmentWithSortedOrigins) {
  parseFragments({{R"(origin=["g", "f"(1), "f"], stage=3)",
                   "call_counter = 2 : ui32, split_keep_transferred, "
                   "split_drop_transferred"}});
  FragmentInfo info = getFragmentInfo(fragment(0));
  ASSERT_EQ(info.origins.size(), 3u);
  EXPECT_EQ(info.origins[0], (FragmentOrigin{"f", 0}));
  EXPECT_EQ(info.origins[1], (FragmentOrigin{"f", 1}));
  EXPECT_EQ(info.origins[2], (FragmentOrigin{"g", 0}));
  EXPECT_EQ(info.stageId, 3);
  EXPECT_EQ(info.callCounter, 2);
  EXPECT_EQ(info.splitType, SplitFragmentType::kKeepTransferred);
  EXPECT_EQ(info.meshName, "m1");
}

TEST_F(FragmentInfoTest, SettingWhatWasReadChangesNothingButTheOrder) {
  parseFragments(
      {{R"(origin=["f", "g"(1)], stage=3)", "call_counter = 2 : ui32, other"},
       {"origin=[]", "split_drop_transferred"}});
  for (unsigned n : {0u, 1u}) {
    DictionaryAttr before = fragment(n)->getAttrDictionary();
    setFragmentInfo(fragment(n), getFragmentInfo(fragment(n)));
    EXPECT_EQ(fragment(n)->getAttrDictionary(), before);
  }
}

TEST_F(FragmentInfoTest, SettingReplacesAndRemoves) {
  parseFragments({{R"(origin=["f"], stage=3)",
                   "call_counter = 2 : ui32, split_drop_transferred"},
                  {"origin=[]", ""}});
  FragmentInfo first = getFragmentInfo(fragment(0));
  FragmentInfo second = getFragmentInfo(fragment(1));
  setFragmentInfo(fragment(0), second);
  setFragmentInfo(fragment(1), first);
  EXPECT_EQ(getFragmentInfo(fragment(0)), second);
  EXPECT_EQ(getFragmentInfo(fragment(1)), first);
  EXPECT_FALSE(fragment(0)->hasAttr(kCallCounterAttr));
  EXPECT_TRUE(fragment(1)->hasAttr(kSplitDropTransferredAttr));
}

TEST_F(FragmentInfoTest, OrderIsTotalAndAgreesWithEquality) {
  FragmentInfo base{{{"f", 0}}, 1, 2, SplitFragmentType::kKeepTransferred, "m"};
  SmallVector<FragmentInfo> infos(6, base);
  infos[1].origins[0].transposeCount = 1;
  infos[2].stageId = std::nullopt;
  infos[3].callCounter = 0;
  infos[4].splitType = std::nullopt;
  infos[5].meshName = "n";
  for (const FragmentInfo &a : infos)
    for (const FragmentInfo &b : infos)
      EXPECT_EQ((a < b) + (b < a) + (a == b), 1);
}

TEST_F(FragmentInfoTest, PrintsInTheSyntaxOfRules) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << FragmentInfo{
      {{"f", 0}, {"g", 2}}, 1, 2, SplitFragmentType::kDropTransferred, "m1"};
  EXPECT_EQ(text, "FragmentInfo(origins=[\"f\",\"g\"(2)],stage=1,call_counter="
                  "2,split_type=kDropTransferred,mesh_name=\"m1\")");
}

TEST_F(FragmentInfoTest, TransposeCountsOfMixedOrigins) {
  parseFragments({{R"(origin=["f"(1), "g"(1)])", "call_counter = 0 : ui32"},
                  {R"(origin=["f", "g"(1)])", "call_counter = 0 : ui32, remat"},
                  {R"(origin=["f"(2)])", "call_counter = 0 : ui32"},
                  {"origin=[]", "call_counter = 0 : ui32"},
                  {R"(origin=["f"])", "call_counter = \"0\""}});
  EXPECT_TRUE(isBackwardFragment(fragment(0)));
  EXPECT_TRUE(isSchedulingUnit(fragment(0)));
  EXPECT_EQ(getSingleTransposeCount(fragment(1)), std::nullopt);
  EXPECT_EQ(getMaxTransposeCount(fragment(1)), 1);
  EXPECT_EQ(getStageTransposeCount(fragment(1)), 1);
  EXPECT_FALSE(isForwardFragment(fragment(2)) ||
               isBackwardFragment(fragment(2)));
  EXPECT_FALSE(isSchedulingUnit(fragment(2)));
  EXPECT_EQ(getMaxTransposeCount(fragment(3)), std::nullopt);
  EXPECT_TRUE(isInferredFragment(fragment(3)));
  EXPECT_TRUE(isForwardFragment(fragment(4)));
  EXPECT_FALSE(isSchedulingUnit(fragment(4))); // Its counter is no integer.
}

TEST_F(FragmentInfoTest, MergingKeepsWhatTheConventionsSay) {
  parseFragments(
      {{R"(origin=["f", "g"])", "call_counter = 0 : ui32"},
       {R"(origin=["h", "g", "h"], stage=2)", "call_counter = 1 : ui32"},
       {"origin=[]", "call_counter = 2 : ui32"},
       {"origin=[], stage=3", ""}});
  auto both = [&](unsigned first, unsigned second) {
    return MergedAttributes::ofBoth(fragment(first), fragment(second));
  };
  EXPECT_EQ(both(0, 1).origin,
            attr<ArrayAttr>(R"([#mpmd.user_origin<"f">, #mpmd.user_origin<"g">,
                      #mpmd.user_origin<"h">, #mpmd.user_origin<"h">])"));
  EXPECT_EQ(both(0, 1).stage.getInt(), 2);
  EXPECT_EQ(both(3, 1).stage.getInt(), 3);
  EXPECT_TRUE(hasConsistentStages(fragment(0), fragment(1)));
  EXPECT_FALSE(hasConsistentStages(fragment(1), fragment(3)));
  EXPECT_TRUE(both(0, 1).others.empty());
  EXPECT_EQ(both(2, 1).others.get(kCallCounterAttr),
            fragment(1)->getAttr(kCallCounterAttr));
  EXPECT_EQ(both(3, 2).others.get(kCallCounterAttr),
            fragment(2)->getAttr(kCallCounterAttr));
}
