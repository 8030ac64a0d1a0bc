//===- StepGraph.h - The steps of a plan, and what they read ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A plan for reading it often: eight bytes for an action, and as much to find it by stage,
// kind and microbatch. What actions read of each other is said once for all microbatches
// of a stage and kind, as links between works (ActionInputs):
//
//   work 0F  ◄── link 0 ── work 1F  ◄── link 0, its own ── work 1B
//
// Transfers are not listed: they are the links between stages on different meshes.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PIPELINE_STEPGRAPH_H
#define MESHWRIGHT_SIMULATOR_PIPELINE_STEPGRAPH_H

#include "meshwright/Schedule/ActionInputs.h"
#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>
#include <vector>

namespace meshwright {

class StepGraph {
public:
  struct Entry {
    uint32_t work : 31;
    uint32_t joinsNext : 1;
    int32_t microbatch;
  };

  /// What an action reads of another one with the same microbatch.
  struct Link {
    ActionInputs::Need need;
    /// Of its own stage, and so without a transfer.
    bool isOwn;
    /// Whether it is what the stage keeps from the forward of a microbatch on.
    bool isKept;
    /// Of a step before on the same mesh, always: then the order says it as well.
    bool isImplied = false;
  };

  /// A work that reads another one, by its link of that number.
  struct Reader {
    uint32_t work, number;
    Link link;
  };

  /// Whether this can have a plan: its microbatches are numbers that others write, too.
  static bool canHave(const Plan &plan);

  /// Takes the lists of a plan that it can have, one by one, so that what is large is
  /// not there twice.
  explicit StepGraph(Plan plan);

  /// Whether links say what all actions read: no action is there twice, and each gradient
  /// of weights comes after one of the input.
  bool isComplete() const;
  /// The plan that it was made of.
  Plan writeOut() const;

  size_t countMeshes() const { return meshes.size(); }
  size_t countActions(uint32_t mesh) const { return meshes[mesh].size(); }
  const Entry &getEntry(const ActionId &id) const {
    return meshes[id.mesh][id.index];
  }
  Action getAction(const ActionId &id) const;
  llvm::ArrayRef<Link> getLinks(const ActionId &id) const {
    return links[getEntry(id).work];
  }
  llvm::ArrayRef<ActionInputs::Work> getWorks() const {
    return inputs.getWorks();
  }
  /// The most links that one action has.
  size_t countMostLinks() const;

  // Steps are one action or, in an overlapped pair, two. A step goes by the first.
  bool isPair(const ActionId &step) const { return getEntry(step).joinsNext; }
  uint32_t countActions(const ActionId &step) const {
    return isPair(step) ? 2 : 1;
  }
  ActionId getStep(const ActionId &action) const {
    bool isSecond = hasPairs && action.index > 0 &&
                    getEntry({action.mesh, action.index - 1}).joinsNext;
    return {action.mesh, action.index - isSecond};
  }
  bool isLast(const ActionId &step) const {
    return step.index + countActions(step) == meshes[step.mesh].size();
  }
  /// The step after one that is not the last, and before one that is not the first.
  ActionId getNext(const ActionId &step) const {
    return {step.mesh, step.index + countActions(step)};
  }
  ActionId getPrevious(const ActionId &step) const {
    return getStep({step.mesh, step.index - 1});
  }
  llvm::SmallVector<Action, 2> getActions(const ActionId &step) const;

  /// Whether its stage keeps what it has made for another action.
  bool isKept(const ActionId &maker) const {
    return llvm::any_of(readers[getEntry(maker).work],
                        [](const Reader &of) { return of.link.isKept; });
  }
  /// The action that a link of `reader` leads to; null if there is none.
  const ActionId *find(const Link &link, const Entry &reader) const {
    return inputs.find(link.need, reader.microbatch);
  }
  /// Whether what is read goes from one mesh to another.
  static bool isTransfer(const Link &link, const ActionId &maker,
                         const ActionId &reader) {
    return !link.isOwn && maker.mesh != reader.mesh;
  }
  /// How many actions a step reads, with or without those that the order implies.
  uint32_t countInputs(const ActionId &step, bool withImplied) const;
  /// How many transfers bring to an action what it reads by its first links.
  uint32_t
  countTransfers(const ActionId &reader,
                 size_t numLinks = std::numeric_limits<size_t>::max()) const;
  /// Whether actions of different microbatches read the same: each stage and kind is on
  /// one mesh and has all microbatches from 0 on, and the order implies what a stage
  /// leaves to itself.
  bool isUniform() const;

  /// Visits the number of each link, the link, and the action that is read.
  template <typename Visit>
  void forEachInput(const ActionId &reader, Visit visit) const {
    const Entry &entry = getEntry(reader);
    for (uint32_t number = 0; number < links[entry.work].size(); ++number) {
      const Link &link = links[entry.work][number];
      if (const ActionId *maker = find(link, entry))
        visit(number, link, *maker);
    }
  }
  /// Visits each action that reads one, and how.
  template <typename Visit>
  void forEachReader(const ActionId &maker, Visit visit,
                     bool withImplied = true) const {
    const Entry &entry = getEntry(maker);
    for (const Reader &reader : readers[entry.work]) {
      if (reader.link.isImplied && !withImplied)
        continue;
      const ActionId *found =
          inputs.getWorks()[reader.work].find(entry.microbatch);
      // Else it reads what is there in place of this.
      if (found && (reader.link.need.unless == ActionInputs::kNone ||
                    inputs.has(reader.link.need, entry.microbatch)))
        visit(*found, reader);
    }
  }

private:
  void addList(uint32_t mesh, llvm::ArrayRef<Action> list);
  void linkWorks();
  void addLink(uint32_t work, Link link);
  bool isImplied(const ActionInputs::Work &maker,
                 const ActionInputs::Work &reader) const;

  std::vector<std::vector<Entry>> meshes;
  bool hasPairs = false;
  ActionInputs inputs;
  /// Of each work, and what reads it.
  std::vector<llvm::SmallVector<Link, 3>> links;
  std::vector<llvm::SmallVector<Reader, 3>> readers;
  int64_t sequenceChunks;
  StageGraph graph;
};

} // namespace meshwright

#endif
