// SPDX-License-Identifier: Apache-2.0
// The bars in the order in which they are looked for.

import { COLLECTIVE, type Data, NONE, TRANSFER } from "./data";

/** Bars of a track that have the same part of its height, by their starts. */
export interface Slot {
  index: number;
  count: number;
  bars: Uint32Array;
}

export interface Track {
  mesh: number;
  isRecorded: boolean;
  isReceive: boolean;
  /** Those that have the whole height first. */
  slots: Slot[];
  /** The largest number of bars at once. */
  most: number;
}

export class Model {
  readonly tracks: Track[] = [];
  readonly hasRecorded: boolean;
  /** The end of everything, simulated and recorded. */
  readonly end: number;
  /** Of each bar: 2 * kind, and 1 more for a mesh's later stages. */
  readonly shade: Uint8Array;
  readonly isCritical: Uint8Array;
  private readonly lowestStage: Int32Array;
  private readonly hasSeveralStages: boolean;
  private followers?: { first: Uint32Array; bars: Uint32Array };
  private partners?: Map<number, number>;

  constructor(readonly data: Data) {
    this.hasRecorded = data.kind.length > data.bars;
    this.end = Math.max(data.makespan, data.recordedMakespan) || 1;
    this.lowestStage = new Int32Array(data.meshes.length).fill(-1);
    let hasSeveral = false;
    for (let i = 0; i < data.bars; i++) {
      const stage = data.stage[i]!;
      if (stage < 0 || this.isReceived(i)) continue;
      const mesh = data.mesh[i]!;
      const lowest = this.lowestStage[mesh]!;
      if (lowest >= 0 && lowest !== stage) hasSeveral = true;
      if (lowest < 0 || stage < lowest) this.lowestStage[mesh] = stage;
    }
    this.hasSeveralStages = hasSeveral;
    this.shade = new Uint8Array(data.kind.length);
    for (let i = 0; i < this.shade.length; i++) {
      const stage = data.stage[i]!;
      const isLater = stage >= 0 && stage !== this.lowestStage[data.mesh[i]!];
      this.shade[i] = 2 * data.kind[i]! + (isLater ? 1 : 0);
    }
    this.isCritical = new Uint8Array(data.kind.length);
    for (const bar of data.critical) this.isCritical[bar] = 1;
    this.makeTracks();
  }

  isReceived(bar: number): boolean {
    const kind = this.data.kind[bar];
    return kind === TRANSFER || kind === COLLECTIVE;
  }

  isRecorded(bar: number): boolean {
    return bar >= this.data.bars;
  }

  private makeTracks() {
    const { data } = this;
    const lists = new Map<number, Map<number, number[]>>();
    for (let i = 0; i < data.kind.length; i++) {
      const key = this.trackKey(i);
      let slots = lists.get(key);
      if (!slots) lists.set(key, (slots = new Map([[16, []]])));
      const slot = 16 * data.slots[i]! + data.slot[i]!;
      const bars = slots.get(slot);
      if (bars) bars.push(i);
      else slots.set(slot, [i]);
    }
    for (let mesh = 0; mesh < data.meshes.length; mesh++)
      for (let lane = 0; lane < (this.hasRecorded ? 4 : 2); lane++) {
        const isReceive = (lane & 1) === 1;
        const found = lists.get(4 * mesh + lane);
        if (isReceive && !found) continue;
        const slots = [...(found ?? [[16, []] as const])]
          .sort(([a], [b]) => a - b)
          .map(([slot, bars]) => ({
            index: slot & 15,
            count: slot >> 4,
            bars: Uint32Array.from(bars).sort(
              (a, b) => data.start[a]! - data.start[b]!,
            ),
          }));
        this.tracks.push({
          mesh,
          isRecorded: lane >= 2,
          isReceive,
          slots,
          most: slots.at(-1)!.count,
        });
      }
  }

  private trackKey(bar: number): number {
    return (
      4 * this.data.mesh[bar]! +
      (this.isRecorded(bar) ? 2 : 0) +
      (this.isReceived(bar) ? 1 : 0)
    );
  }

  /** The position of a bar's track. */
  trackOf(bar: number): number {
    const key = this.trackKey(bar);
    return this.tracks.findIndex(
      (track) =>
        4 * track.mesh + (track.isRecorded ? 2 : 0) + (track.isReceive ? 1 : 0) ===
        key,
    );
  }

  /** The first bar of a slot that ends after `time`. */
  firstAfter(bars: Uint32Array, time: number): number {
    let low = 0;
    let high = bars.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.data.stop[bars[middle]!]! <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  label(bar: number): string {
    const { data } = this;
    let label = data.kinds[data.kind[bar]!]![1];
    if (data.microbatch[bar]! >= 0) label += data.microbatch[bar];
    if (
      this.hasSeveralStages &&
      data.stage[bar]! >= 0 &&
      !this.isReceived(bar)
    )
      label = data.stage[bar] + label;
    return label;
  }

  waits(bar: number): Uint32Array {
    const { data } = this;
    if (this.isRecorded(bar)) return new Uint32Array();
    return data.waits.subarray(data.firstWait[bar]!, data.firstWait[bar + 1]!);
  }

  /** The bars that wait for this one. */
  followersOf(bar: number): Uint32Array {
    if (this.isRecorded(bar)) return new Uint32Array();
    const { first, bars } = (this.followers ??= this.makeFollowers());
    return bars.subarray(first[bar]!, first[bar + 1]!);
  }

  private makeFollowers() {
    const { data } = this;
    const first = new Uint32Array(data.bars + 2);
    for (const bar of data.waits) first[bar + 2]!++;
    for (let i = 2; i < first.length; i++) first[i]! += first[i - 1]!;
    const bars = new Uint32Array(data.waits.length);
    for (let i = 0; i < data.bars; i++)
      for (let j = data.firstWait[i]!; j < data.firstWait[i + 1]!; j++)
        bars[first[data.waits[j]! + 1]!++] = i;
    return { first, bars };
  }

  /** The same bar in the other one of simulation and recording. */
  partnerOf(bar: number): number | undefined {
    const { data } = this;
    if (!this.hasRecorded) return undefined;
    if (this.isRecorded(bar)) {
      const partner = data.partner[bar - data.bars]!;
      return partner === NONE ? undefined : partner;
    }
    if (!this.partners) {
      this.partners = new Map();
      data.partner.forEach((partner, i) => {
        if (partner !== NONE) this.partners!.set(partner, data.bars + i);
      });
    }
    return this.partners.get(bar);
  }
}
