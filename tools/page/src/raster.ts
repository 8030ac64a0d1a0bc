// SPDX-License-Identifier: Apache-2.0
// Paints bars into pixels.
//
// Of a hundred thousand bars on a screen most are narrower than a pixel. A canvas
// spends as much on such a bar as on a wide one, so the bars of a track become one
// line of pixels first, in which narrow ones add up their colours, and that line is
// copied as often as the track is high. It costs the same few milliseconds at any
// zoom, and needs no graphics hardware.

import type { Model } from "./model";

/** Pixels of a canvas, one number each: alpha, blue, green, red. */
export interface Pixels {
  data: Uint32Array;
  width: number;
  height: number;
}

export interface Look {
  /** The part of time that the pixels show. */
  from: number;
  to: number;
  /** Bars that are not among them are pale; all are among them without. */
  matches: Uint8Array | null;
  showCritical: boolean;
}

const IDLE: Colour = [241, 243, 245];
const CRITICAL = pack([178, 0, 60]);
/** Narrower bars have neither an edge nor a pattern. */
const EDGE = 3;
const PATTERN = 9;
const PALE = 0.8;

type Colour = [number, number, number];

function parse(colour: string): Colour {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function pack([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function mix(a: Colour, b: Colour, part: number): Colour {
  return [0, 1, 2].map((i) =>
    Math.round(a[i]! * (1 - part) + b[i]! * part),
  ) as Colour;
}

/** Whether the pattern of a kind is dark at a pixel, each 0 to 7. */
const PATTERNS: ((x: number, y: number) => boolean)[] = [
  () => false, // forward
  (x, y) => ((x + y) & 7) === 0, // backward: /
  (x, y) => (x & 3) === 0 && (y & 3) === (x & 4 ? 0 : 2), // weight: dots
  (x, y) => ((x + y) & 7) === 0 || ((x - y) & 7) === 0, // optimizer: x
  (_, y) => (y & 3) === 0, // transfer: -
  (x, y) => ((x - y) & 7) === 0, // collective: \
  (x) => (x & 7) === 0, // other: |
];

export class Raster {
  /** Of each shade, also pale: the colour, and that of edges and patterns. */
  private readonly colours: Colour[] = [];
  private readonly plain: Uint32Array;
  private readonly dark: Uint32Array;
  private readonly patterns: boolean[][];
  private width = 0;
  private red = new Float32Array();
  private green = new Float32Array();
  private blue = new Float32Array();
  private cover = new Float32Array();
  private line = new Uint32Array();
  private shades = new Uint8Array();
  private phases = new Uint8Array();
  private critical = new Uint8Array();
  /** Bars that the last call of `paint` came across. */
  painted = 0;

  constructor(private readonly model: Model) {
    const shades = model.data.kinds.flatMap((kind) => [
      parse(kind[2]),
      parse(kind[3]),
    ]);
    const pale = shades.map((colour) => mix(colour, [255, 255, 255], PALE));
    this.colours = [...shades, ...pale];
    this.plain = Uint32Array.from(this.colours, pack);
    this.dark = Uint32Array.from(this.colours, (colour) =>
      pack(mix(colour, [0, 0, 0], 0.2)),
    );
    this.patterns = PATTERNS.map((isDark) =>
      Array.from({ length: 64 }, (_, i) => isDark(i & 7, i >> 3)),
    );
  }

  private resize(width: number) {
    if (width === this.width) return;
    this.width = width;
    this.red = new Float32Array(width);
    this.green = new Float32Array(width);
    this.blue = new Float32Array(width);
    this.cover = new Float32Array(width);
    this.line = new Uint32Array(width);
    this.shades = new Uint8Array(width);
    this.phases = new Uint8Array(width);
    this.critical = new Uint8Array(width);
  }

  begin(pixels: Pixels) {
    this.painted = 0;
    this.resize(pixels.width);
    pixels.data.fill(0xffffffff);
  }

  /**
   * Paints the bars of a slot into the rows from `top` to before `bottom`, and
   * idle time between them unless it lies over another slot.
   */
  paint(
    pixels: Pixels,
    bars: Uint32Array,
    look: Look,
    top: number,
    bottom: number,
    isOver: boolean,
  ) {
    if (bottom <= 0 || top >= pixels.height) return;
    const hasPattern = this.collect(bars, look, bottom - top >= 6);
    this.compose();
    const { width } = this;
    const edge = Math.min(5, Math.max(2, (bottom - top) >> 3));
    const from = Math.max(0, top);
    const to = Math.min(pixels.height, bottom);
    for (let y = from; y < to; y++) {
      const row = pixels.data.subarray(y * width, (y + 1) * width);
      if (isOver) this.paintOver(row);
      else row.set(this.line);
      if (hasPattern) this.paintPatterns(row, (y - top) & 7);
      if (look.showCritical && y >= bottom - edge)
        this.paintCritical(row);
    }
  }

  /** Adds up what each pixel of a line shows. Tells whether it has patterns. */
  private collect(bars: Uint32Array, look: Look, isHigh: boolean): boolean {
    const { model, width, red, green, blue, cover, shades, phases } = this;
    const { start, stop } = model.data;
    const { shade, isCritical } = model;
    const { from, to, matches } = look;
    const scale = width / (to - from);
    const numShades = this.colours.length / 2;
    red.fill(0);
    green.fill(0);
    blue.fill(0);
    cover.fill(0);
    shades.fill(255);
    this.critical.fill(0);
    let hasPattern = false;
    for (let i = model.firstAfter(bars, from); i < bars.length; i++) {
      const bar = bars[i]!;
      if (start[bar]! >= to) break;
      this.painted++;
      const left = Math.max(0, (start[bar]! - from) * scale);
      const right = Math.min(width, (stop[bar]! - from) * scale);
      const look = shade[bar]! + (matches && !matches[bar] ? numShades : 0);
      const colour = this.colours[look]!;
      if (right - left >= EDGE) {
        const first = Math.round(left);
        const last = Math.round(right);
        const code = isHigh && right - left >= PATTERN ? look : 255;
        if (code !== 255) hasPattern = true;
        for (let x = first; x < last; x++) {
          red[x] = colour[0];
          green[x] = colour[1];
          blue[x] = colour[2];
          cover[x] = 1;
          shades[x] = code;
          phases[x] = (x - first) & 7;
        }
        // A white line tells it from the bar before.
        if (first < last) {
          red[first] = (colour[0] + 510) / 3;
          green[first] = (colour[1] + 510) / 3;
          blue[first] = (colour[2] + 510) / 3;
          shades[first] = 255;
        }
        if (isCritical[bar]) this.critical.fill(1, first, last);
        continue;
      }
      const last = Math.min(width - 1, Math.floor(right));
      for (let x = Math.floor(left); x <= last; x++) {
        const part = Math.min(right, x + 1) - Math.max(left, x);
        if (part <= 0) continue;
        const room = Math.min(part, 1 - cover[x]!);
        if (room <= 0) continue;
        red[x]! += colour[0] * room;
        green[x]! += colour[1] * room;
        blue[x]! += colour[2] * room;
        cover[x]! += room;
        if (isCritical[bar]) this.critical[x] = 1;
      }
    }
    return hasPattern;
  }

  private compose() {
    const { width, red, green, blue, cover, line } = this;
    for (let x = 0; x < width; x++) {
      const rest = 1 - cover[x]!;
      line[x] =
        ((255 << 24) |
          ((blue[x]! + IDLE[2] * rest) << 16) |
          ((green[x]! + IDLE[1] * rest) << 8) |
          (red[x]! + IDLE[0] * rest)) >>>
        0;
    }
  }

  private paintOver(row: Uint32Array) {
    const { width, cover, line } = this;
    for (let x = 0; x < width; x++) if (cover[x]! > 0) row[x] = line[x]!;
  }

  private paintPatterns(row: Uint32Array, y: number) {
    const { width, shades, phases, patterns, dark } = this;
    const numShades = this.colours.length / 2;
    for (let x = 0; x < width; x++) {
      const shade = shades[x]!;
      if (shade === 255) continue;
      const kind = (shade % numShades) >> 1;
      if (patterns[kind]![(y << 3) | phases[x]!]) row[x] = dark[shade]!;
    }
  }

  private paintCritical(row: Uint32Array) {
    const { width, critical } = this;
    for (let x = 0; x < width; x++) if (critical[x]) row[x] = CRITICAL;
  }

  /** A piece of a kind's pattern, for the legend. */
  swatch(kind: number, width: number, height: number): ImageData {
    const image = new ImageData(width, height);
    const data = new Uint32Array(image.data.buffer);
    for (let i = 0; i < data.length; i++) {
      const isDark =
        this.patterns[kind]![
          ((Math.floor(i / width) & 7) << 3) | ((i % width) & 7)
        ];
      data[i] = (isDark ? this.dark : this.plain)[2 * kind]!;
    }
    return image;
  }
}
