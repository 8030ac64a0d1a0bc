// SPDX-License-Identifier: Apache-2.0
// Reads what meshwright/Draw/DrawPage.cpp wrote into the page.

export interface Mesh {
  name: string;
  busy: number;
  bubble: number;
  peak: number;
  shares: [what: string, amount: number][];
}

/** source, target, bytes, transfers, busy, slack */
export type Link = [number, number, number, number, number, number];
/** mesh, name, origins, kind, runs, time of all runs */
export type GraphNode = [number, number, number, number, number, number];
/** from, to, count, bytes of all */
export type GraphEdge = [number, number, number, number];
/** mesh, name, kind, simulated runs and time, recorded runs and time */
export type Difference = [number, number, number, number, number, number, number];
/** text, letter, colour, colour of a mesh's later stages */
export type Kind = [string, string, string, string];

interface Header {
  title: string;
  summary: string;
  inSeconds: boolean;
  inBytes: boolean;
  makespan: number;
  recordedMakespan: number;
  bubble: number;
  /** How many of the bars were simulated; the others were recorded. */
  bars: number;
  kinds: Kind[];
  meshes: Mesh[];
  links: Link[];
  names: string[];
  graph: { nodes: GraphNode[]; edges: GraphEdge[] };
  differences: Difference[];
  columns: [name: string, type: string, count: number, offset: number][];
}

/** A number for each bar, the recorded ones after the simulated ones. */
export interface Bars {
  kind: Uint8Array;
  mesh: Uint32Array;
  source: Uint32Array;
  name: Uint32Array;
  origins: Uint32Array;
  stage: Int32Array;
  microbatch: Int32Array;
  start: Float64Array;
  stop: Float64Array;
  bytes: Float64Array;
  slack: Float64Array;
  /** Which part of its track's height a bar has, and of how many. */
  slot: Uint8Array;
  slots: Uint8Array;
  firstWait: Uint32Array;
  waits: Uint32Array;
  critical: Uint32Array;
  partner: Uint32Array;
  firstLevel: Uint32Array;
  levelTime: Float64Array;
  level: Float64Array;
}

export type Data = Header & Bars;

export const TRANSFER = 4;
export const COLLECTIVE = 5;
export const NONE = 0xffffffff;

const ARRAYS = {
  u8: Uint8Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
};

async function unpack(text: string): Promise<ArrayBuffer> {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream();
  return new Response(
    stream.pipeThrough(new DecompressionStream("deflate")),
  ).arrayBuffer();
}

export async function readData(text: string): Promise<Data> {
  const buffer = await unpack(text);
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(
    new TextDecoder().decode(new Uint8Array(buffer, 4, size)),
  ) as Header;
  const base = Math.ceil((4 + size) / 8) * 8;
  const data: Record<string, unknown> = { ...header };
  for (const [name, type, count, offset] of header.columns)
    data[name] = new ARRAYS[type as keyof typeof ARRAYS](
      buffer,
      base + offset,
      count,
    );
  return data as unknown as Data;
}
