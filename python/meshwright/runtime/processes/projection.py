# SPDX-License-Identifier: Apache-2.0
"""From the plan of the whole program to the part that one process issues.

Every process plans alike, then keeps the launches on its own devices and its side
of each move that starts or ends there. Nothing is decided from local time, so what
is kept follows the one order that all processes share: launches on a mesh of
several processes meet each other.
"""

from __future__ import annotations

from ...core import collector
from ..program.errors import ProgramError
from ..program.placement import Place, ProgramMesh
from ..program.plan import Plan, assign_drops
from ..program.steps import Copy, FirstShard, Launch, Put, Step
from .edges import Channel, Edge, Elsewhere, find_pieces

#: How many bytes are received earlier than they would be in one process, at most.
AHEAD_BYTES = 1 << 20


@collector.paused()
def project(plan: Plan, channel: Channel) -> set[int]:
    """Reduces a plan to what this process issues.

    Args:
      plan: the plan of the whole program; changed in place.

    Returns:
      The sources that this process has to compile.
    """
    kept = _Projection(plan, channel)
    for step in plan.steps:
        kept.add(step)
    plan.steps = kept.steps
    kept.add_results_elsewhere()
    assign_drops(plan)
    _protect_offers(plan)
    _post_ahead(plan)
    return {step.source for step in plan.steps if isinstance(step, Launch)}


class _Projection:
    def __init__(self, plan: Plan, channel: Channel):
        self.plan, self.channel = plan, channel
        self.me = channel.world.process
        self.steps: list[Step] = []
        # What a first shard was taken from; moved as the whole array it is.
        self.whole: dict[int, tuple[int, Place]] = {}

    def add(self, step: Step) -> None:
        if isinstance(step, Launch):
            if self._here(self.plan.sources[step.source].mesh):
                self.steps.append(step)
        elif isinstance(step, FirstShard):
            (read,) = step.reads
            self.whole[step.writes.start] = read, self.plan.slots[read]
        elif isinstance(step, (Copy, Put)):
            self._add_move(step)
        else:
            raise ProgramError(f"{step.what} cannot be issued in several processes")

    def _here(self, mesh: ProgramMesh) -> bool:
        return self.me in mesh.processes

    def _add_move(self, step: Step) -> None:
        (read,), target = step.reads, step.places[0]
        slot, source = self.whole.get(read, (read, self.plan.slots[read]))
        ends = source.mesh.processes | target.mesh.processes
        if self.me not in ends:
            return
        if ends == {self.me}:
            if read in self.whole:
                self.steps.append(
                    FirstShard(
                        step.item, (slot,), range(read, read + 1), (source,), step.what
                    )
                )
            self.steps.append(step)
            return
        receives = self._here(target.mesh)
        self.steps.append(
            Edge(
                item=step.item,
                reads=(slot,) if self._here(source.mesh) else (),
                writes=step.writes if receives else range(0),
                places=step.places if receives else (),
                what=step.what,
                channel=self.channel,
                number=self.channel.last if step.item is None else step.item,
                source=source,
                target=target,
                pieces=find_pieces(source, target),
            )
        )

    def add_results_elsewhere(self) -> None:
        written = set(range(len(self.plan.inputs)))
        written.update(slot for step in self.steps for slot in step.writes)
        for position, slot in enumerate(self.plan.output_slots):
            if slot not in written:
                place = self.plan.slots[slot]
                writes = range(slot, slot + 1)
                what = f"result {position} of the program"
                self.steps.append(Elsewhere(None, (), writes, (place,), what))
                written.add(slot)


def _protect_offers(plan: Plan) -> None:
    """Offers copies of what may be given away before another process has it.

    A buffer on offer is read whenever the other process pulls it: after this run
    has returned, and after a later run or the caller has donated it.
    """
    held_by_caller = set(range(len(plan.inputs))) | set(plan.output_slots)
    for step in plan.steps:
        if isinstance(step, Edge) and step.reads:
            slot = step.reads[0]
            step.keep = slot in plan.consumed or slot in held_by_caller


def _post_ahead(plan: Plan) -> None:
    """Lets receives that follow each other be posted together, if they are small.

    JAX's thread that asks the other process sleeps between two of them, and to wake
    it costs several times what there is to do. Posted ahead an array takes its
    memory earlier than the schedule says, so no more than a limit are, and none that
    the program delays. No receive passes another: both sides count what comes between
    two acknowledgements.
    """
    first, size = None, 0
    for step in plan.steps:
        if not isinstance(step, Edge) or not step.places:
            continue
        if not step.only_receives:  # It waits for its operand here.
            first = None
            continue
        size += step.received_bytes
        if first is None or size > AHEAD_BYTES or step.item in plan.delayed:
            first, size = step, step.received_bytes
        else:
            first.ahead.append(step)
            step.posted = True
