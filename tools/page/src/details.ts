// SPDX-License-Identifier: Apache-2.0
// What is said of a bar: beside the pointer, and in the panel when it is selected.

import * as format from "./format";
import type { Model } from "./model";

const MOST_LISTED = 12;

function kindOf(model: Model, bar: number): string {
  return model.data.kinds[model.data.kind[bar]!]![0];
}

/** Lines of names and values, those that the bar has. */
function facts(model: Model, bar: number): [string, string][] {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  const mesh = (id: number) => data.meshes[id]!.name;
  const rows: [string, string][] = [["Kind", kindOf(model, bar)]];
  if (data.source[bar] !== data.mesh[bar])
    rows.push(["From", mesh(data.source[bar]!)], ["To", mesh(data.mesh[bar]!)]);
  else rows.push(["Mesh", mesh(data.mesh[bar]!)]);
  if (data.stage[bar]! >= 0) rows.push(["Stage", String(data.stage[bar])]);
  if (data.microbatch[bar]! >= 0)
    rows.push(["Microbatch", String(data.microbatch[bar])]);
  const origins = data.names[data.origins[bar]!]!;
  if (origins) rows.push(["Origins", origins]);
  const [start, stop] = [data.start[bar]!, data.stop[bar]!];
  rows.push(
    ["Time", time(stop - start)],
    ["From – to", `${time(start)} – ${time(stop)}`],
  );
  if (data.bytes[bar]! > 0) {
    const rate = data.bytes[bar]! / (stop - start);
    const speed =
      data.inSeconds && stop > start ? `, ${format.bytes(rate)}/s` : "";
    rows.push(["Bytes", format.bytes(data.bytes[bar]!) + speed]);
  }
  if (!model.isRecorded(bar))
    rows.push([
      "Slack",
      data.slack[bar]! > 0
        ? time(data.slack[bar]!)
        : "none: any delay delays the end",
    ]);
  const partner = model.partnerOf(bar);
  if (partner !== undefined) {
    const other = data.stop[partner]! - data.start[partner]!;
    rows.push([
      model.isRecorded(bar) ? "Simulated" : "Recorded",
      `${time(other)}, from ${time(data.start[partner]!)}`,
    ]);
  }
  return rows;
}

function table(rows: [string, string][]): string {
  const lines = rows.map(
    ([name, value]) =>
      `<dt>${format.escape(name)}</dt><dd>${format.escape(value)}</dd>`,
  );
  return `<dl>${lines.join("")}</dl>`;
}

function heading(model: Model, bar: number): string {
  const { data } = model;
  const colour = data.kinds[data.kind[bar]!]![model.shade[bar]! & 1 ? 3 : 2];
  const run = model.isRecorded(bar) ? " <small>recorded</small>" : "";
  return (
    `<h2><span class="mark" style="background:${colour}">` +
    `${format.escape(model.label(bar))}</span> ` +
    `${format.escape(data.names[data.name[bar]!]!)}${run}</h2>`
  );
}

export function describe(model: Model, bar: number): string {
  return heading(model, bar) + table(facts(model, bar));
}

/** For those who hear the page. */
export function say(model: Model, bar: number): string {
  const rows = facts(model, bar).map(([name, value]) => `${name} ${value}`);
  return `${model.label(bar)}, ${model.data.names[model.data.name[bar]!]}. ${rows.join(", ")}`;
}

function list(model: Model, title: string, bars: number[], note: Note): string {
  if (bars.length === 0)
    return `<h3>${title}</h3><p class="none">${note.none}</p>`;
  const { data } = model;
  const rows = bars.slice(0, MOST_LISTED).map((bar) => {
    const where = data.meshes[data.mesh[bar]!]!.name;
    const extra = note.of(bar);
    return (
      `<li><button data-bar="${bar}"><b>${format.escape(model.label(bar))}</b> ` +
      `${format.escape(data.names[data.name[bar]!]!)} ` +
      `<span>${format.escape(where)}</span>` +
      `${extra ? ` <em>${format.escape(extra)}</em>` : ""}</button></li>`
    );
  });
  if (bars.length > MOST_LISTED)
    rows.push(`<li class="none">and ${bars.length - MOST_LISTED} more</li>`);
  return `<h3>${title}</h3><ul>${rows.join("")}</ul>`;
}

interface Note {
  none: string;
  of(bar: number): string;
}

export function details(model: Model, bar: number): string {
  const { data } = model;
  const time = (value: number) => format.time(value, data.inSeconds);
  const waits = [...model.waits(bar)].sort(
    (a, b) => data.stop[b]! - data.stop[a]!,
  );
  const gap = (length: number) =>
    length > model.end * 1e-9 ? `${time(length)} between` : "at once";
  let html = describe(model, bar);
  if (model.isCritical[bar])
    html += `<p class="critical">On the critical path: what shortens this, or what it waited for last, may shorten the whole.</p>`;
  if (model.isRecorded(bar)) return html;
  html += list(model, "Waited for", waits, {
    none: "Nothing: it could start at any time.",
    of: (wait) =>
      (wait === waits[0] ? "the last, " : "") +
      gap(data.start[bar]! - data.stop[wait]!),
  });
  const followers = [...model.followersOf(bar)].sort(
    (a, b) => data.start[a]! - data.start[b]!,
  );
  return (
    html +
    list(model, "Waits for it", followers, {
      none: "Nothing waits for it.",
      of: (follower) => gap(data.start[follower]! - data.stop[bar]!),
    })
  );
}

/** What a mesh holds at most: the chosen one, or the one that holds most. */
export function peakOf(model: Model, chosen: number | null): string {
  const { meshes, inBytes } = model.data;
  const most = meshes.reduce(
    (best, mesh, index) => (mesh.peak > meshes[best]!.peak ? index : best),
    0,
  );
  const mesh = meshes[chosen ?? most];
  if (!mesh) return "";
  const peak = inBytes ? format.bytes(mesh.peak) : `${mesh.peak} microbatches`;
  const rows = mesh.shares.map(([what, amount]): [string, string] => [
    what,
    format.bytes(amount),
  ]);
  const which = chosen === null && meshes.length > 1 ? ", the most of all" : "";
  return `<h3>Peak of ${format.escape(mesh.name)}: ${peak}${which}</h3>${table(rows)}`;
}
