// SPDX-License-Identifier: Apache-2.0
// Figures as tables: meshes, links, the critical path, differences.

import * as format from "./format";
import type { Model } from "./model";

type Cell = string | number;

interface Column {
  title: string;
  /** Numbers are right-aligned, and sort by size. */
  print?: (value: number) => string;
}

interface Table {
  columns: Column[];
  rows: Cell[][];
  /** The bar that a row leads to. */
  bars?: number[];
  note?: string;
}

const MOST_ROWS = 500;

function cell(value: Cell, column: Column): string {
  if (!column.print) return `<td>${format.escape(String(value))}</td>`;
  const text = Number.isNaN(value) ? "–" : column.print(value as number);
  return `<td class="number">${format.escape(text)}</td>`;
}

function body(table: Table, order: number[]): string {
  return order
    .slice(0, MOST_ROWS)
    .map((index) => {
      const cells = table.rows[index]!.map((value, i) =>
        cell(value, table.columns[i]!),
      );
      const bar = table.bars?.[index];
      const link = bar === undefined ? "" : ` data-bar="${bar}" tabindex="0"`;
      return `<tr${link}>${cells.join("")}</tr>`;
    })
    .join("");
}

/** Writes a table that is sorted by the column whose title is clicked. */
function show(host: HTMLElement, table: Table) {
  const heads = table.columns.map(
    (column, i) =>
      `<th${column.print ? ' class="number"' : ""}><button data-column="${i}">${column.title}</button></th>`,
  );
  const all = table.rows.map((_, i) => i);
  const rest =
    all.length > MOST_ROWS
      ? `<p class="none">The first ${MOST_ROWS} of ${all.length}.</p>`
      : "";
  host.innerHTML =
    (table.note ? `<p>${format.escape(table.note)}</p>` : "") +
    `<table><thead><tr>${heads.join("")}</tr></thead><tbody>${body(table, all)}</tbody></table>${rest}`;
  let sorted = -1;
  let isDown = false;
  host.querySelector("thead")!.onclick = (event) => {
    const button = (event.target as HTMLElement).closest("button");
    if (!button) return;
    const column = Number(button.dataset.column);
    isDown = column === sorted ? !isDown : !!table.columns[column]!.print;
    sorted = column;
    const order = [...all].sort((a, b) => {
      const [x, y] = [table.rows[a]![column]!, table.rows[b]![column]!];
      const compared =
        typeof x === "number"
          ? x - (y as number)
          : x.localeCompare(y as string, undefined, { numeric: true });
      return isDown ? -compared : compared;
    });
    host.querySelector("tbody")!.innerHTML = body(table, order);
  };
}

export function showMeshes(host: HTMLElement, model: Model) {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  show(host, {
    columns: [
      { title: "Mesh" },
      { title: "Busy", print: time },
      { title: "Bubble", print: format.percent },
      {
        title: data.inBytes ? "Peak memory" : "Peak live microbatches",
        print: data.inBytes ? format.bytes : String,
      },
      { title: "What the peak is made of" },
    ],
    rows: data.meshes.map((mesh) => [
      mesh.name,
      mesh.busy,
      mesh.bubble,
      mesh.peak,
      mesh.shares
        .slice(0, 4)
        .map(([what, amount]) => `${what} ${format.bytes(amount)}`)
        .join(", "),
    ]),
  });
}

export function showLinks(host: HTMLElement, model: Model) {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  show(host, {
    columns: [
      { title: "From" },
      { title: "To" },
      { title: "Bytes", print: format.bytes },
      { title: "Transfers", print: String },
      { title: "Busy", print: time },
      { title: "Slack", print: time },
    ],
    rows: data.links.map(([source, target, ...figures]) => [
      data.meshes[source]!.name,
      data.meshes[target]!.name,
      ...figures,
    ]),
  });
}

export function showCriticalPath(host: HTMLElement, model: Model) {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  const bars = Array.from(data.critical);
  let before = 0;
  show(host, {
    note: "Each could start when the one before had ended. To shorten the whole, shorten one of these, or the time between two.",
    columns: [
      { title: "Bar" },
      { title: "Name" },
      { title: "Mesh" },
      { title: "Start", print: time },
      { title: "Time", print: time },
      { title: "Gap before", print: time },
    ],
    bars,
    rows: bars.map((bar) => {
      const gap = Math.max(0, data.start[bar]! - before);
      before = data.stop[bar]!;
      return [
        model.label(bar),
        data.names[data.name[bar]!]!,
        data.meshes[data.mesh[bar]!]!.name,
        data.start[bar]!,
        data.stop[bar]! - data.start[bar]!,
        gap,
      ];
    }),
  });
}

export function showDifferences(host: HTMLElement, model: Model) {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  const signed = (value: number) => (value > 0 ? "+" : "") + time(value);
  const factor = (value: number) => `× ${value.toFixed(2)}`;
  const first = (list: number[], name: number, mesh: number) =>
    list.find((bar) => data.name[bar] === name && data.mesh[bar] === mesh);
  const bars = Array.from({ length: data.kind.length }, (_, bar) => bar);
  show(host, {
    note:
      `Simulated ${time(data.makespan)}, recorded ${time(data.recordedMakespan)}: ` +
      `${signed(data.recordedMakespan - data.makespan)}. Times are of all runs of a fragment.`,
    columns: [
      { title: "Fragment or transfer" },
      { title: "Mesh" },
      { title: "Runs simulated", print: String },
      { title: "Runs recorded", print: String },
      { title: "Simulated", print: time },
      { title: "Recorded", print: time },
      { title: "Difference", print: signed },
      { title: "Factor", print: factor },
    ],
    bars: data.differences.map(([mesh, name]) => first(bars, name, mesh)!),
    rows: data.differences.map(
      ([mesh, name, , runs, simulated, recordedRuns, recorded]) => [
        data.names[name]!,
        data.meshes[mesh]!.name,
        runs,
        recordedRuns,
        simulated,
        recorded,
        recorded - simulated,
        simulated > 0 && recordedRuns > 0 ? recorded / simulated : NaN,
      ],
    ),
  });
}
