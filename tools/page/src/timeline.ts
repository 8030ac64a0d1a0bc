// SPDX-License-Identifier: Apache-2.0
// The timeline: a chart whose bars Raster paints, with what is written over them.

import { select } from "d3-selection";
import { type D3ZoomEvent, zoom, type ZoomBehavior, zoomIdentity } from "d3-zoom";
import uPlot from "uplot";
import * as format from "./format";
import type { Model, Track } from "./model";
import { type Look, Raster } from "./raster";

interface Place {
  track: Track;
  /** From the top of everything, in CSS pixels. */
  top: number;
  height: number;
}

export interface TimelineEvents {
  onView(from: number, to: number): void;
  onHover(bar: number | null, x: number, y: number): void;
  onSelect(bar: number | null): void;
}

const FONT = "system-ui, sans-serif";
const INK = "#1b1f24";
const AXIS = 30;
const ROW_LEAST = 7;
const ROW_MOST = 52;
const LOW = 0.5; // The height of what is received, as a part of a row's.
const MOST_ARROWS = 40;
const PATTERN_WIDTH = 9;
/** More labels than that wait until nothing moves. */
const MOST_LABELS_MOVING = 1200;

export class Timeline {
  readonly plot: uPlot;
  private readonly raster: Raster;
  private readonly zoom: ZoomBehavior<HTMLElement, unknown>;
  private readonly look: Look;
  private places: Place[] = [];
  private image: ImageData | null = null;
  private readonly gutter: number;
  private contentHeight = 0;
  private offset = 0;
  private selected: number | null = null;
  private frame = 0;
  private settle = 0;
  private isMoving = false;

  constructor(
    private readonly model: Model,
    private readonly host: HTMLElement,
    private readonly events: TimelineEvents,
    syncKey: string,
  ) {
    this.raster = new Raster(model);
    this.look = { from: 0, to: model.end, matches: null, showCritical: false };
    const longest = Math.max(...model.data.meshes.map((m) => m.name.length));
    // The amounts of the curves below need room as well.
    this.gutter = Math.min(160, Math.max(76, 14 + 6.6 * longest));
    this.plot = new uPlot(this.options(syncKey), [[0, model.end], [null, null]], host);
    const over = select(this.plot.over as HTMLElement);
    this.zoom = zoom<HTMLElement, unknown>()
      .scaleExtent([1, 1e7])
      .on("zoom", (event) => this.onZoom(event));
    over.call(this.zoom).on("dblclick.zoom", null);
    this.plot.over.addEventListener("mousemove", (event) => this.hover(event));
    this.plot.over.addEventListener("mouseleave", () =>
      this.events.onHover(null, 0, 0),
    );
    this.plot.over.addEventListener("click", (event) => {
      this.events.onSelect(this.barAt(event.offsetX, event.offsetY));
    });
    host.addEventListener(
      "wheel",
      (event) => {
        if (event.shiftKey) this.scrollBy(event.deltaY || event.deltaX);
      },
      { passive: true },
    );
    this.layout();
  }

  private options(syncKey: string): uPlot.Options {
    return {
      width: this.host.clientWidth,
      height: this.host.clientHeight,
      legend: { show: false },
      padding: [0, 0, 0, 0],
      cursor: {
        sync: { key: syncKey, setSeries: false },
        drag: { x: false, y: false, setScale: false },
        y: false,
        points: { show: false },
      },
      scales: {
        x: { time: false, range: (_, min, max) => [min, max] },
        y: { range: [0, 1] },
      },
      axes: [
        {
          side: 0,
          size: AXIS,
          font: `11px ${FONT}`,
          stroke: "#495057",
          grid: { show: false },
          ticks: { stroke: "#adb5bd", size: 5 },
          values: (_, splits, _axis, _space, step) =>
            format.ticks(splits, step, this.model.data.inSeconds),
        },
        {
          size: () => this.gutter,
          splits: () => [],
          grid: { show: false },
          ticks: { show: false },
        },
      ],
      series: [{}, { show: true, points: { show: false }, paths: () => null }],
      hooks: {
        drawClear: [() => this.paint()],
        draw: [() => this.write()],
      },
    };
  }

  // --- What is seen -----------------------------------------------------

  get from() {
    return this.look.from;
  }
  get to() {
    return this.look.to;
  }
  get painted() {
    return this.raster.painted;
  }
  get swatches() {
    return this.raster;
  }
  private get width() {
    // The plot itself changes its size a little later than its host.
    return Math.max(1, this.host.clientWidth - this.gutter);
  }
  private get height() {
    return Math.max(1, this.host.clientHeight - AXIS);
  }

  setView(from: number, to: number) {
    const { end } = this.model;
    const span = Math.min(end, Math.max(to - from, end / 1e7));
    from = Math.min(Math.max(0, from), end - span);
    const scale = end / span;
    const shift = (-from / end) * this.width * scale;
    select(this.plot.over as HTMLElement).call(
      this.zoom.transform,
      zoomIdentity.translate(shift, 0).scale(scale),
    );
  }

  /** Zooms by a factor around the middle, or around a bar that is selected. */
  zoomBy(factor: number) {
    const { from, to } = this.look;
    const { start, stop } = this.model.data;
    let middle = (from + to) / 2;
    if (this.selected !== null) {
      const at = (start[this.selected]! + stop[this.selected]!) / 2;
      if (at > from && at < to) middle = at;
    }
    this.setView(middle + (from - middle) / factor, middle + (to - middle) / factor);
  }

  panBy(part: number) {
    const { from, to } = this.look;
    this.setView(from + part * (to - from), to + part * (to - from));
  }

  scrollBy(pixels: number) {
    const most = Math.max(0, this.contentHeight - this.height);
    this.offset = Math.min(most, Math.max(0, this.offset + pixels));
    this.move();
  }

  get scroll() {
    return { offset: this.offset, content: this.contentHeight, page: this.height };
  }

  set matches(matches: Uint8Array | null) {
    this.look.matches = matches;
    this.redraw();
  }

  set showCritical(isShown: boolean) {
    this.look.showCritical = isShown;
    this.redraw();
  }

  select(bar: number | null) {
    this.selected = bar;
    this.redraw();
  }

  /** Moves to a bar; zooms in if it would hardly be seen. */
  reveal(bar: number) {
    const { start, stop } = this.model.data;
    const { from, to } = this.look;
    const length = Math.max(stop[bar]! - start[bar]!, this.model.end * 1e-9);
    const middle = (start[bar]! + stop[bar]!) / 2;
    let span = to - from;
    if ((length / span) * this.width < 14) span = length * 30;
    if (start[bar]! < from || stop[bar]! > to || span !== to - from)
      this.setView(middle - span / 2, middle + span / 2);
    const place = this.placeOf(bar);
    if (!place) return;
    if (place.top < this.offset) this.scrollBy(place.top - this.offset - 8);
    const below = place.top + place.height - this.offset - this.height;
    if (below > 0) this.scrollBy(below + 8);
  }

  resize() {
    const { from, to } = this.look;
    this.plot.setSize({
      width: this.host.clientWidth,
      height: this.host.clientHeight,
    });
    this.layout();
    this.setView(from, to);
    this.redraw();
  }

  private onZoom(event: D3ZoomEvent<HTMLElement, unknown>) {
    const { end } = this.model;
    const { k, x } = event.transform;
    const span = end / k;
    const from = Math.min(Math.max(0, (-x / (this.width * k)) * end), end - span);
    const source = event.sourceEvent as MouseEvent | null;
    if (source?.type === "mousemove") this.scrollBy(-source.movementY);
    // Kept inside: the transform of the gesture goes on from what is seen.
    const shift = (-from / end) * this.width * k;
    if (Math.abs(shift - x) > 1e-6)
      (this.plot.over as unknown as { __zoom: unknown }).__zoom =
        zoomIdentity.translate(shift, 0).scale(k);
    this.look.from = from;
    this.look.to = from + span;
    this.move();
  }

  private move() {
    this.isMoving = true;
    clearTimeout(this.settle);
    this.settle = window.setTimeout(() => {
      this.isMoving = false;
      this.redraw();
    }, 120);
    this.redraw();
  }

  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const { from, to } = this.look;
      const { min, max } = this.plot.scales.x!;
      if (min === from && max === to) this.plot.redraw(false, false);
      else this.plot.setScale("x", { min: from, max: to });
      this.events.onView(from, to);
    });
  }

  // --- Where it is ------------------------------------------------------

  private layout() {
    const { tracks } = this.model;
    let weight = 0;
    for (const track of tracks) weight += this.weigh(track);
    const gap = this.height / weight > 16 ? 5 : 1;
    const groups = this.model.data.meshes.length;
    const room = this.height - groups * gap - 4;
    const row = Math.min(ROW_MOST, Math.max(ROW_LEAST, room / weight));
    let top = 2;
    let mesh = 0;
    this.places = tracks.map((track) => {
      if (track.mesh !== mesh) top += gap;
      mesh = track.mesh;
      const height = row * this.weigh(track);
      const place = { track, top, height };
      top += height;
      return place;
    });
    this.contentHeight = top + 2;
    this.scrollByNothing();
  }

  private scrollByNothing() {
    const most = Math.max(0, this.contentHeight - this.height);
    this.offset = Math.min(most, this.offset);
  }

  private weigh(track: Track): number {
    return (track.isReceive ? LOW : 1) * (1 + 0.4 * (track.most - 1));
  }

  private placeOf(bar: number): Place | undefined {
    return this.places[this.model.trackOf(bar)];
  }

  /** In CSS pixels of the plot; of what is narrow, at least two of them. */
  private boxOf(bar: number) {
    const place = this.placeOf(bar);
    if (!place) return null;
    const { data } = this.model;
    const scale = this.width / (this.look.to - this.look.from);
    const left = (data.start[bar]! - this.look.from) * scale;
    const right = (data.stop[bar]! - this.look.from) * scale;
    const height = place.height / data.slots[bar]!;
    return {
      left,
      right: Math.max(right, left + 2),
      top: place.top - this.offset + height * data.slot[bar]!,
      height,
    };
  }

  barAt(x: number, y: number): number | null {
    const at = y + this.offset;
    const place = this.places.find(
      ({ top, height }) => at >= top && at < top + height,
    );
    if (!place) return null;
    const perPixel = (this.look.to - this.look.from) / this.width;
    const time = this.look.from + x * perPixel;
    const part = (at - place.top) / place.height;
    for (const { index, count, bars } of place.track.slots) {
      if (Math.floor(part * count) !== index) continue;
      const bar = this.barNear(bars, time, perPixel);
      if (bar !== null) return bar;
    }
    return null;
  }

  /** What is narrow can be met a pixel beside it. */
  private barNear(bars: Uint32Array, time: number, reach: number): number | null {
    const { start } = this.model.data;
    const index = this.model.firstAfter(bars, time - reach);
    const bar = bars[index];
    if (bar === undefined || start[bar]! > time + reach) return null;
    const next = bars[index + 1];
    return next !== undefined && start[next]! <= time ? next : bar;
  }

  private hover(event: MouseEvent) {
    const bar = event.buttons ? null : this.barAt(event.offsetX, event.offsetY);
    this.plot.over.style.cursor = bar === null ? "grab" : "pointer";
    this.events.onHover(bar, event.clientX, event.clientY);
  }

  // --- How it looks -----------------------------------------------------

  private paint() {
    const { left, top, width, height } = this.plot.bbox;
    if (width < 1 || height < 1) return;
    if (this.image?.width !== width || this.image.height !== height)
      this.image = new ImageData(width, height);
    const pixels = {
      data: new Uint32Array(this.image.data.buffer),
      width,
      height,
    };
    const ratio = uPlot.pxRatio;
    this.raster.begin(pixels);
    for (const { track, top, height } of this.places)
      track.slots.forEach(({ index, count, bars }, i) => {
        const edge = (part: number) =>
          Math.round((top - this.offset + (height * part) / count) * ratio);
        const [upper, lower] = [edge(index), edge(index + 1)];
        this.raster.paint(pixels, bars, this.look, upper, lower, i > 0);
      });
    this.plot.ctx.putImageData(this.image, left, top);
  }

  private write() {
    const { ctx, bbox } = this.plot;
    ctx.save();
    const ratio = uPlot.pxRatio;
    ctx.scale(ratio, ratio);
    ctx.translate(0, bbox.top / ratio);
    this.writeNames(ctx);
    ctx.translate(bbox.left / ratio, 0);
    ctx.beginPath();
    ctx.rect(0, 0, this.width, this.height);
    ctx.clip();
    this.writeLabels(ctx);
    if (this.selected !== null) this.drawSelection(ctx, this.selected);
    ctx.restore();
  }

  private writeNames(ctx: CanvasRenderingContext2D) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, this.gutter, this.height);
    ctx.clip();
    ctx.textBaseline = "middle";
    const { meshes } = this.model.data;
    let free = -Infinity; // Where there is room for the next name.
    for (const { track, top, height } of this.places) {
      const y = top - this.offset + height / 2;
      if (y < -height || y > this.height + height) continue;
      const size = Math.min(12, Math.max(8.5, height - 1));
      ctx.textAlign = "right";
      if (track.isReceive || y - size / 2 < free) continue;
      free = y + size / 2;
      ctx.font = `${size}px ${FONT}`;
      if (track.isRecorded) {
        ctx.fillStyle = "#495057";
        ctx.fillText("recorded", this.gutter - 8, y);
      } else {
        ctx.fillStyle = INK;
        ctx.fillText(meshes[track.mesh]!.name, this.gutter - 8, y, this.gutter - 12);
      }
    }
    ctx.restore();
  }

  private writeLabels(ctx: CanvasRenderingContext2D) {
    const { model, look } = this;
    const { start, stop } = model.data;
    const scale = this.width / (look.to - look.from);
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillStyle = INK;
    let budget = this.isMoving ? MOST_LABELS_MOVING : Infinity;
    for (const { track, top, height } of this.places) {
      const y = top - this.offset;
      if (y > this.height || y + height < 0) continue;
      for (const { index, count, bars } of track.slots) {
        const high = height / count;
        if (high < 8.5) continue;
        ctx.font = `${Math.min(11, high - 0.5)}px ${FONT}`;
        const letter = ctx.measureText("0").width;
        let i = model.firstAfter(bars, look.from);
        for (; i < bars.length && budget > 0; i++) {
          const bar = bars[i]!;
          if (start[bar]! >= look.to) break;
          const left = Math.max(0, (start[bar]! - look.from) * scale);
          const right = Math.min(this.width, (stop[bar]! - look.from) * scale);
          if (right - left < 2 * letter) continue;
          const label = model.label(bar);
          if (right - left < letter * label.length + 3) continue;
          if (look.matches && !look.matches[bar]) continue;
          const middle = y + high * (index + 0.5);
          this.writeLabel(ctx, bar, label, left, right, middle, letter);
          budget--;
        }
      }
    }
  }

  /** With the name of the fragment where there is room. */
  private writeLabel(
    ctx: CanvasRenderingContext2D,
    bar: number,
    label: string,
    left: number,
    right: number,
    y: number,
    letter: number,
  ) {
    const { data } = this.model;
    const full = `${label} · ${data.names[data.name[bar]!]}`;
    const room = right - left;
    const text = room > letter * full.length + 12 ? full : label;
    const x = (left + right) / 2;
    const [, , colour, later] = data.kinds[data.kind[bar]!]!;
    if (room >= PATTERN_WIDTH) {
      // The pattern ends at the letters.
      const width = Math.min(ctx.measureText(text).width + 4, room - 2);
      ctx.fillStyle = this.model.shade[bar]! & 1 ? later : colour;
      ctx.fillRect(x - width / 2 + 0.5, y - 6, width, 11);
    }
    ctx.fillStyle = INK;
    ctx.fillText(text, x + 0.5, y + 0.5);
  }

  private drawSelection(ctx: CanvasRenderingContext2D, bar: number) {
    const box = this.boxOf(bar);
    if (!box) return;
    const waits = [...this.model.waits(bar)].slice(0, MOST_ARROWS);
    const followers = [...this.model.followersOf(bar)].slice(0, MOST_ARROWS);
    ctx.lineWidth = 1.5;
    for (const wait of waits) this.drawArrow(ctx, wait, bar, "#0b4f8a");
    for (const follower of followers)
      this.drawArrow(ctx, bar, follower, "#8a2d0b");
    const partner = this.model.partnerOf(bar);
    for (const [each, colour, width] of [
      [partner, "#495057", 2],
      [bar, "#000", 2.5],
    ] as const) {
      const at = each === undefined ? null : this.boxOf(each);
      if (!at) continue;
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect(at.left, at.top, at.right - at.left, at.height);
    }
  }

  private drawArrow(
    ctx: CanvasRenderingContext2D,
    from: number,
    to: number,
    colour: string,
  ) {
    const a = this.boxOf(from);
    const b = this.boxOf(to);
    if (!a || !b) return;
    const [x1, y1] = [a.right, a.top + a.height / 2];
    const [x2, y2] = [b.left, b.top + b.height / 2];
    const bend = Math.max(12, Math.abs(x2 - x1) / 2);
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    // On one row the line would run through the bars between.
    const isLevel = Math.abs(y1 - y2) < 1 && x2 - x1 > 12;
    const lift = isLevel ? (y1 < 60 ? -1 : 1) * Math.min(36, a.height) : 0;
    ctx.bezierCurveTo(x1 + bend, y1 - lift, x2 - bend, y2 - lift, x2 - 3, y2);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x2 + 1, y2);
    ctx.lineTo(x2 - 6, y2 - 3.5);
    ctx.lineTo(x2 - 6, y2 + 3.5);
    ctx.fill();
    ctx.strokeStyle = colour;
    ctx.setLineDash([4, 3]);
    const other = colour === "#0b4f8a" ? a : b;
    ctx.strokeRect(other.left, other.top, other.right - other.left, other.height);
    ctx.setLineDash([]);
  }
}
