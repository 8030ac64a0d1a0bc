// SPDX-License-Identifier: Apache-2.0
// What meshes hold and links carry, over the same time as the timeline.

import uPlot from "uplot";
import * as format from "./format";
import type { Model } from "./model";
import { TRANSFER } from "./data";

/** An amount from each time on. */
export interface Steps {
  label: string;
  times: ArrayLike<number>;
  amounts: ArrayLike<number>;
}

const COLOURS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#8a6d00",
  "#1b1f24",
  "#56b4e9",
  "#e69f00",
];
const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2], [1, 2], [8, 8]];
const MOST = COLOURS.length;
const SAMPLES = 700;

export function memoryOf(model: Model, chosen: number | null): Steps[] {
  const { data } = model;
  const meshes = data.meshes
    .map((mesh, index) => ({ mesh, index }))
    .filter(({ index }) => data.firstLevel[index + 1]! > data.firstLevel[index]!)
    .sort(
      (a, b) =>
        Number(b.index === chosen) - Number(a.index === chosen) ||
        b.mesh.peak - a.mesh.peak,
    );
  return meshes.slice(0, MOST).map(({ mesh, index }) => {
    const [from, to] = [data.firstLevel[index]!, data.firstLevel[index + 1]!];
    return {
      label: mesh.name,
      times: data.levelTime.subarray(from, to),
      amounts: data.level.subarray(from, to),
    };
  });
}

/** The bytes a second of transfers, those from and to `chosen` first. */
export function linksOf(model: Model, chosen: number | null): Steps[] {
  const { data } = model;
  const links = new Map<string, { changes: [number, number][]; bytes: number }>();
  const rank = new Map<string, number>();
  for (let bar = 0; bar < data.bars; bar++) {
    const length = data.stop[bar]! - data.start[bar]!;
    if (data.kind[bar] !== TRANSFER || length <= 0 || !data.bytes[bar]) continue;
    const [source, mesh] = [data.source[bar]!, data.mesh[bar]!];
    const label = `${data.meshes[source]!.name} → ${data.meshes[mesh]!.name}`;
    let link = links.get(label);
    if (!link) links.set(label, (link = { changes: [], bytes: 0 }));
    const rate = data.bytes[bar]! / length;
    link.changes.push([data.start[bar]!, rate], [data.stop[bar]!, -rate]);
    link.bytes += data.bytes[bar]!;
    rank.set(label, source === chosen || mesh === chosen ? 1 : 0);
  }
  return [...links]
    .sort(
      ([a, x], [b, y]) => rank.get(b)! - rank.get(a)! || y.bytes - x.bytes,
    )
    .slice(0, MOST)
    .map(([label, { changes }]) => {
      changes.sort((a, b) => a[0] - b[0]);
      let amount = 0;
      const amounts = changes.map(([, change]) => {
        amount += change;
        return Math.max(0, Math.abs(amount) < 1e-6 * Math.abs(change) ? 0 : amount);
      });
      return { label, times: changes.map(([time]) => time), amounts };
    });
}

function firstAfter(times: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The most in each of many equal parts of the time: peaks are never lost. */
function sample({ times, amounts }: Steps, from: number, to: number): number[] {
  const step = (to - from) / SAMPLES;
  let next = firstAfter(times, from);
  let now = next > 0 ? amounts[next - 1]! : 0;
  return Array.from({ length: SAMPLES }, (_, i) => {
    let most = now;
    for (; next < times.length && times[next]! < from + (i + 1) * step; next++) {
      now = amounts[next]!;
      most = Math.max(most, now);
    }
    return most;
  });
}

export class Curves {
  private plot: uPlot | null = null;
  private curves: Steps[] = [];
  private labels = "";

  constructor(
    private readonly host: HTMLElement,
    private readonly gutter: () => number,
    private readonly syncKey: string,
    private readonly inSeconds: boolean,
    private readonly print: (amount: number) => string,
  ) {}

  show(curves: Steps[], from: number, to: number) {
    this.curves = curves;
    const labels = JSON.stringify(curves.map((curve) => curve.label));
    if (labels !== this.labels) {
      this.labels = labels;
      this.plot?.destroy();
      this.plot = new uPlot(this.options(), this.sample(from, to), this.host);
    }
    this.update(from, to);
  }

  private options(): uPlot.Options {
    const { print } = this;
    return {
      width: this.host.clientWidth,
      height: this.host.clientHeight - 30,
      padding: [8, 0, 0, 0],
      cursor: {
        sync: { key: this.syncKey, setSeries: false },
        drag: { x: false, y: false },
        y: false,
      },
      legend: { live: true },
      scales: {
        x: { time: false, range: (_, min, max) => [min, max] },
        y: { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          size: 26,
          stroke: "#495057",
          grid: { stroke: "#e9ecef", width: 1 },
          ticks: { stroke: "#ced4da", size: 4 },
          values: (_, splits, _axis, _space, step) =>
            format.ticks(splits, step, this.inSeconds),
        },
        {
          size: this.gutter,
          stroke: "#495057",
          grid: { stroke: "#e9ecef", width: 1 },
          ticks: { show: false },
          // Bytes are round at powers of two, and so are small counts.
          incrs: Array.from({ length: 60 }, (_, i) => 2 ** i),
          values: (_, splits) => splits.map(print),
        },
      ],
      series: [
        {
          label: "time",
          value: (_, value) =>
            value === null ? "" : format.time(value, this.inSeconds),
        },
        ...this.curves.map((curve, i) => ({
          label: curve.label,
          stroke: COLOURS[i]!,
          dash: DASHES[i]!,
          width: 1.5,
          points: { show: false },
          paths: uPlot.paths.stepped!({ align: 1 }),
          value: (_: uPlot, value: number | null) =>
            value === null ? "" : print(value),
        })),
      ],
    };
  }

  private sample(from: number, to: number): uPlot.AlignedData {
    const step = (to - from) / SAMPLES;
    return [
      Array.from({ length: SAMPLES }, (_, i) => from + i * step),
      ...this.curves.map((curve) => sample(curve, from, to)),
    ];
  }

  update(from: number, to: number) {
    if (!this.plot || this.host.clientHeight === 0) return;
    this.plot.setData(this.sample(from, to), false);
    this.plot.setScale("x", { min: from, max: to });
  }

  resize() {
    if (this.host.clientHeight > 0)
      this.plot?.setSize({
        width: this.host.clientWidth,
        height: this.host.clientHeight - 30,
      });
  }
}
