// SPDX-License-Identifier: Apache-2.0
// The graph of the fragments, laid out by dagre.

import { Graph, layout } from "@dagrejs/dagre";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import * as format from "./format";
import type { Model } from "./model";

const MOST_NODES = 700;
const HEIGHT = 40;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function path(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  let d = `M${first!.x},${first!.y}`;
  // Through the middles, bent at the points between.
  for (let i = 0; i + 1 < rest.length; i++) {
    const [a, b] = [rest[i]!, rest[i + 1]!];
    const end = i + 2 === rest.length ? b : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    d += ` Q${a.x},${a.y} ${end.x},${end.y}`;
  }
  if (rest.length === 1) d += ` L${rest[0]!.x},${rest[0]!.y}`;
  return d;
}

export function showGraph(host: HTMLElement, model: Model) {
  const { data } = model;
  const { nodes, edges } = data.graph;
  if (nodes.length > MOST_NODES) {
    host.innerHTML = `<p class="none">${nodes.length} fragments are too many to be laid out here; <code>meshwright draw --format dot</code> writes them for Graphviz.</p>`;
    return;
  }
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 10, ranksep: 60, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(([, name], id) => {
    const width = Math.max(110, 6.6 * Math.min(40, data.names[name]!.length) + 18);
    graph.setNode(String(id), { width, height: HEIGHT });
  });
  edges.forEach(([from, to], id) => {
    graph.setEdge(String(from), String(to), { id });
  });
  layout(graph);
  const { width, height } = graph.graph() as { width: number; height: number };
  const lines = edges.map(([from, to, count, bytes]) => {
    const edge = graph.edge(String(from), String(to)) as { points: { x: number; y: number }[] };
    const middle = edge.points[Math.floor(edge.points.length / 2)]!;
    const text = bytes > 0 ? format.bytes(bytes / count) : "";
    return (
      `<path d="${path(edge.points)}" class="${bytes > 0 ? "sent" : "kept"}" marker-end="url(#tip)"/>` +
      (text ? `<text class="bytes" x="${middle.x}" y="${middle.y - 3}">${text}</text>` : "")
    );
  });
  const boxes = nodes.map(([mesh, name, origins, kind, runs, time], id) => {
    const box = graph.node(String(id)) as Box;
    const label = data.names[name]!;
    const short = label.length > 40 ? `${label.slice(0, 39)}…` : label;
    const mean = format.time(time / runs, data.inSeconds);
    return (
      `<g class="node" tabindex="0" role="button" data-node="${id}" transform="translate(${box.x - box.width / 2},${box.y - box.height / 2})">` +
      `<title>${format.escape(data.names[origins] || label)}</title>` +
      `<rect width="${box.width}" height="${box.height}" rx="5" fill="${data.kinds[kind]![2]}"/>` +
      `<text x="${box.width / 2}" y="16">${format.escape(short)}</text>` +
      `<text x="${box.width / 2}" y="31" class="small">${format.escape(data.meshes[mesh]!.name)}, ${runs} × ${mean}</text></g>`
    );
  });
  host.innerHTML =
    `<svg role="group" aria-label="Fragments and what goes between them">` +
    `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>` +
    `<g>${lines.join("")}${boxes.join("")}</g></svg>`;
  const svg = host.querySelector("svg")!;
  const content = svg.querySelector("g")!;
  const gesture = zoom<SVGSVGElement, unknown>()
    .scaleExtent([0.05, 4])
    .on("zoom", ({ transform }) =>
      content.setAttribute("transform", String(transform)),
    );
  const { clientWidth, clientHeight } = svg;
  const scale = Math.min(1.2, clientWidth / width, clientHeight / height);
  select(svg)
    .call(gesture)
    .on("dblclick.zoom", null)
    .call(
      gesture.transform,
      zoomIdentity
        .translate(
          Math.max(0, (clientWidth - width * scale) / 2),
          Math.max(0, (clientHeight - height * scale) / 2),
        )
        .scale(scale),
    );
}

/** The first run of a fragment. */
export function barOfNode(model: Model, node: number): number {
  const { data } = model;
  const [mesh, name] = data.graph.nodes[node]!;
  for (let bar = 0; bar < data.bars; bar++)
    if (data.name[bar] === name && data.mesh[bar] === mesh) return bar;
  return -1;
}
