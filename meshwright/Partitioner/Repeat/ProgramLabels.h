//===- ProgramLabels.h - Which microbatch an item is of ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Calls say of which microbatch they are, and a transfer is of that of the call that
// makes its value, or of the one that reads it. Calls of a function with equal origins are
// one kind, as are transfers of one result of a kind to a mesh, and so an item is found by
// its kind and its microbatch. What a value is for an item follows from where it comes
// from:
//
// - an input, or an item that is there once;
// - an item of a kind, that many microbatches before or after;
// - the part of the item's own microbatch in a column: of a batch that is cut into all
//   microbatches, of which the computations that represent others take the rest;
// - for what is there once, the part of a microbatch in what is collected of all.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_PROGRAMLABELS_H
#define MESHWRIGHT_PARTITIONER_REPEAT_PROGRAMLABELS_H

#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Partitioner/Repeat/RepeatOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>

namespace meshwright {

/// Where a value comes from.
struct ValueSource {
  enum Form {
    Input,    ///< It is the input of number `result`.
    Once,     ///< A result of an item that is there once.
    Relative, ///< Of an item that many microbatches later.
    Absolute  ///< Of an item of that microbatch, of all.
  };
  Form form = Input;
  unsigned kind = 0; ///< Of the item.
  unsigned result = 0;
  int64_t microbatch = 0;

  bool operator==(const ValueSource &other) const {
    return form == other.form && kind == other.kind && result == other.result &&
           microbatch == other.microbatch;
  }
  bool operator!=(const ValueSource &other) const { return !(*this == other); }
};

/// The microbatches of the calls of a function, in order.
struct CallRange {
  unsigned count = 0;
  int64_t first = 0, last = 0;
  bool rises = true, falls = true; ///< By one each time.

  void add(int64_t microbatch) {
    rises &= count == 0 || microbatch == last + 1;
    falls &= count == 0 || microbatch == last - 1;
    if (count++ == 0)
      first = microbatch;
    last = microbatch;
  }
  /// Whether the name of the function says which they are.
  bool isNamed() const { return count > 0 && (rises || falls); }
};

/// The items of a program whose loop over the microbatches was shortened, without those
/// that represent others. The program must outlive it.
class ProgramLabels {
public:
  /// None, and why, if microbatches differ, or something is not understood.
  static std::optional<ProgramLabels> find(const ExportedProgram &program,
                                           const RepeatCounts &counts,
                                           std::string &whyNot);

  unsigned countKinds() const { return numKinds; }
  /// The items in their order.
  const std::vector<RepeatedEntry> &getOrder() const { return order; }
  /// The item of this program of a kind and microbatch.
  unsigned getItem(RepeatedEntry entry) const {
    return items[entry.kind].at(entry.microbatch);
  }
  /// What an item is; none of what represents others.
  std::optional<RepeatedEntry> findEntry(unsigned item) const {
    if (isSubstitute[item])
      return std::nullopt;
    return entries[item];
  }
  /// The item that makes a value; none of an input.
  std::optional<unsigned> findMaker(unsigned value) const {
    if (!makers[value])
      return std::nullopt;
    return makers[value]->first;
  }
  /// The microbatch of this program that one of the whole is like.
  int64_t findLikeMicrobatch(int64_t microbatch) const;
  /// The item of this program that one of the whole is like; none if there is none.
  std::optional<unsigned> findLike(RepeatedEntry entry) const;
  /// Where the operand of an item comes from, for one of that microbatch that is like it.
  ValueSource getSource(unsigned item, unsigned operand,
                        int64_t microbatch) const;
  ValueSource getOutputSource(unsigned output) const {
    return outputSources[output];
  }
  /// The name of a fragment's function in the whole program, where it has those calls; none
  /// if it was cut, or would be named in another way.
  std::optional<std::string> getNewName(unsigned fragment,
                                        const CallRange &calls) const;

private:
  /// The values of all microbatches that come from outside of the loop.
  using Column = std::vector<unsigned>;

  ProgramLabels(const ExportedProgram &program, const RepeatCounts &counts)
      : program(program), counts(counts) {}

  bool findSubstitutes();
  bool addSubstitute(unsigned item);
  void labelItems();
  void findNumbers();
  RepeatedEntry labelCall(unsigned item);
  RepeatedEntry labelTransfer(unsigned item);
  std::optional<int64_t> findReader(unsigned item) const;
  RepeatedEntry addEntry(const std::string &kind, int64_t microbatch);
  bool connect(std::string &whyNot);
  bool readsNoSubstitute(unsigned item) const;
  ValueSource describe(unsigned value) const;
  bool isTheSame(unsigned item, unsigned other) const;
  bool findColumns();
  bool addToColumns();
  bool findSteadyState();
  std::optional<unsigned> findColumn(llvm::ArrayRef<unsigned> items,
                                     unsigned operand);
  bool findQueue(const std::map<int64_t, unsigned> &others,
                 llvm::ArrayRef<unsigned> values,
                 llvm::MutableArrayRef<ValueSource> sources,
                 llvm::BitVector &isOfQueue) const;
  bool findCollected(llvm::ArrayRef<unsigned> values,
                     llvm::MutableArrayRef<ValueSource> sources) const;

  const ExportedProgram &program;
  RepeatCounts counts;
  unsigned numKinds = 0;
  /// The microbatch from which on all are the same.
  int64_t begin = 0;
  std::vector<RepeatedEntry> order;
  std::vector<RepeatedEntry> entries; ///< By item.
  std::map<std::string, unsigned> kindIds;
  /// By kind, microbatch and item.
  std::vector<std::map<int64_t, unsigned>> items;
  std::vector<bool> isSubstitute; ///< By item.
  /// By value: the item that makes it, and which result it is.
  std::vector<std::optional<std::pair<unsigned, unsigned>>> makers;
  /// By value: items that read it.
  std::vector<std::vector<unsigned>> readers;
  /// What substitutes take, microbatch by microbatch.
  std::vector<Column> taken;
  /// Of a value that a substitute gives: the number of what it gives, and the microbatch.
  llvm::DenseMap<unsigned, std::pair<unsigned, int64_t>> given;
  unsigned numGiven = 0;
  std::vector<std::vector<ValueSource>> sources; ///< By item and operand.
  std::vector<ValueSource> outputSources;
  std::vector<CallRange> callRanges; ///< By fragment, of calls with counters.
  /// In the names of the functions that represent others, sorted; none if one has another
  /// name.
  std::optional<std::vector<unsigned>> substituteNumbers;
  /// Columns by kind and operand.
  std::map<std::pair<unsigned, unsigned>, Column> columns;
  std::vector<bool> hasColumns; ///< By kind.
};

} // namespace meshwright

#endif
