// SPDX-License-Identifier: Apache-2.0
// Puts the parts of the page together.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { Curves, linksOf, memoryOf } from "./curves";
import { readData } from "./data";
import { describe, details, peakOf, say } from "./details";
import * as format from "./format";
import { barOfNode, showGraph } from "./graph";
import { Model } from "./model";
import { search } from "./search";
import * as tables from "./tables";
import { Timeline } from "./timeline";

function get<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

class Page {
  private readonly model: Model;
  private readonly timeline: Timeline;
  private readonly memory: Curves;
  private readonly links: Curves;
  private selected: number | null = null;
  private found: number[] = [];
  private tab = "";
  /** Tabs that are there once they have been looked at. */
  private readonly made = new Set<string>();

  constructor(model: Model) {
    this.model = model;
    const { data } = model;
    document.title = `${data.title} – Meshwright`;
    get("title").textContent = data.title;
    get("summary").textContent = data.summary;
    this.timeline = new Timeline(model, get("timeline"), {
      onView: (from, to) => this.onView(from, to),
      onHover: (bar, x, y) => this.hover(bar, x, y),
      onSelect: (bar) => this.select(bar),
    }, "time");
    const gutter = () => this.timeline.plot.bbox.left / devicePixelRatio;
    const amount = data.inBytes ? format.bytes : String;
    this.memory = new Curves(get("memory"), gutter, "time", data.inSeconds, amount);
    this.links = new Curves(get("links"), gutter, "time", data.inSeconds, (rate) =>
      `${format.bytes(rate)}/s`,
    );
    this.showLegend();
    this.showHint();
    this.openTabs();
    this.listen();
    const bars = document.body.dataset;
    bars.bars = String(data.bars);
    bars.recorded = String(data.kind.length - data.bars);
  }

  // --- Parts that do not change -----------------------------------------

  private showLegend() {
    const { data } = this.model;
    const isThere = new Set(data.kind);
    data.kinds.forEach(([text, letter], kind) => {
      if (!isThere.has(kind)) return;
      const entry = document.createElement("button");
      entry.type = "button";
      entry.title = `Look for ${text}`;
      const ratio = Math.ceil(devicePixelRatio);
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [24 * ratio, 14 * ratio];
      canvas
        .getContext("2d")!
        .putImageData(
          this.timeline.swatches.swatch(kind, 24 * ratio, 14 * ratio),
          0,
          0,
        );
      entry.append(canvas, `${letter} ${text}`);
      entry.onclick = () => {
        const input = get<HTMLInputElement>("search");
        input.value = input.value === text ? "" : text;
        this.search(input.value);
      };
      get("legend").append(entry);
    });
    const idle = document.createElement("span");
    idle.innerHTML = `<i class="idle"></i>idle`;
    get("legend").append(idle);
  }

  private showHint() {
    get("panel").innerHTML = get<HTMLTemplateElement>("hint").innerHTML;
  }

  private openTabs() {
    const { data } = this.model;
    const hasRates = linksOf(this.model, null).length > 0;
    const isThere: Record<string, boolean> = {
      memory: data.level.length > 0,
      links: hasRates,
      differences: this.model.hasRecorded,
      meshes: true,
      edges: data.links.length > 0,
      path: data.critical.length > 0,
      graph: true,
    };
    for (const [tab, has] of Object.entries(isThere)) get(`tab-${tab}`).hidden = !has;
    if (!data.inBytes) get("tab-memory").textContent = "Live microbatches";
    const first = this.model.hasRecorded
      ? "differences"
      : Object.keys(isThere).find((tab) => isThere[tab])!;
    this.openTab(first);
  }

  private openTab(tab: string) {
    this.tab = tab;
    for (const button of document.querySelectorAll<HTMLElement>("[role=tab]")) {
      const isOpen = button.id === `tab-${tab}`;
      button.setAttribute("aria-selected", String(isOpen));
      button.tabIndex = isOpen ? 0 : -1;
      get(button.getAttribute("aria-controls")!).hidden = !isOpen;
    }
    get("main").classList.toggle("tall", tab === "graph");
    get("shares").hidden = tab !== "memory" && tab !== "links";
    const host = get(tab);
    if (tab === "memory" || tab === "links") this.showCurves();
    else if (!this.made.has(tab)) {
      this.made.add(tab);
      if (tab === "meshes") tables.showMeshes(host, this.model);
      else if (tab === "edges") tables.showLinks(host, this.model);
      else if (tab === "path") tables.showCriticalPath(host, this.model);
      else if (tab === "differences") tables.showDifferences(host, this.model);
      else showGraph(host, this.model);
    }
  }

  private showCurves() {
    const mesh = this.selected === null ? null : this.model.data.mesh[this.selected]!;
    const { from, to } = this.timeline;
    get("shares").innerHTML = peakOf(this.model, mesh);
    if (this.tab === "memory")
      this.memory.show(memoryOf(this.model, mesh), from, to);
    else if (this.tab === "links")
      this.links.show(linksOf(this.model, mesh), from, to);
  }

  // --- What happens -----------------------------------------------------

  private onView(from: number, to: number) {
    if (this.tab === "memory") this.memory.update(from, to);
    else if (this.tab === "links") this.links.update(from, to);
    const { offset, content, page } = this.timeline.scroll;
    const bar = get("scroll");
    bar.hidden = content <= page;
    get("scroll-content").style.height = `${content}px`;
    if (Math.abs(bar.scrollTop - offset) > 1) bar.scrollTop = offset;
    const state = get("timeline").dataset;
    state.from = String(from);
    state.to = String(to);
    state.painted = String(this.timeline.painted);
  }

  private hover(bar: number | null, x: number, y: number) {
    const tip = get("tip");
    tip.hidden = bar === null;
    if (bar === null) return;
    if (tip.dataset.bar !== String(bar)) {
      tip.dataset.bar = String(bar);
      tip.innerHTML = describe(this.model, bar);
    }
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
    const top = Math.min(y + 16, innerHeight - height - 8);
    tip.style.transform = `translate(${Math.max(4, left)}px,${Math.max(4, top)}px)`;
  }

  private select(bar: number | null) {
    this.selected = bar;
    this.timeline.select(bar);
    get("timeline").dataset.selected = bar === null ? "" : String(bar);
    if (bar === null) {
      this.showHint();
      get("status").textContent = "";
    } else {
      get("panel").innerHTML = details(this.model, bar);
      get("panel").scrollTop = 0;
      get("status").textContent = say(this.model, bar);
    }
    this.showCurves();
  }

  private goTo(bar: number) {
    if (bar < 0) return;
    this.select(bar);
    this.timeline.reveal(bar);
  }

  private search(text: string) {
    const matches = search(this.model, text);
    this.timeline.matches = matches;
    this.found = [];
    matches?.forEach((isFound, bar) => isFound && this.found.push(bar));
    this.found.sort((a, b) => this.model.data.start[a]! - this.model.data.start[b]!);
    get("found").textContent = matches ? `${this.found.length} found` : "";
    get("found").dataset.count = matches ? String(this.found.length) : "";
  }

  /** The next of what was found, or the one before. */
  private next(step: number) {
    if (this.found.length === 0) return;
    const at = this.selected === null ? -1 : this.found.indexOf(this.selected);
    const count = this.found.length;
    const index = at < 0 ? (step > 0 ? 0 : count - 1) : (at + step + count) % count;
    this.goTo(this.found[index]!);
  }

  /** The bar beside the selected one, on its track. */
  private step(by: number) {
    const { model, selected } = this;
    if (selected === null) return;
    const { start } = model.data;
    const bars = model.tracks[model.trackOf(selected)]!.slots
      .flatMap((slot) => [...slot.bars])
      .sort((a, b) => start[a]! - start[b]! || a - b);
    const bar = bars[bars.indexOf(selected) + by];
    if (bar !== undefined) this.goTo(bar);
  }

  /** On the track above or below, what runs at the same time or next. */
  private climb(by: number) {
    const { model, selected } = this;
    if (selected === null) return this.timeline.scrollBy(40 * by);
    const track = model.tracks[model.trackOf(selected) + by];
    const slot = track?.slots.find(({ bars }) => bars.length > 0);
    if (!slot) return;
    const index = model.firstAfter(slot.bars, model.data.start[selected]!);
    this.goTo(slot.bars[Math.min(index, slot.bars.length - 1)]!);
  }

  private toggleCritical() {
    const button = get("critical");
    const isOn = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isOn));
    this.timeline.showCritical = isOn;
  }

  private key(event: KeyboardEvent): boolean {
    const { timeline } = this;
    const isSelected = this.selected !== null;
    switch (event.key) {
      case "+": case "=": case "w": case "W": timeline.zoomBy(1.5); return true;
      case "-": case "s": case "S": timeline.zoomBy(1 / 1.5); return true;
      case "a": case "A": timeline.panBy(-0.2); return true;
      case "d": case "D": timeline.panBy(0.2); return true;
      case "ArrowLeft":
        if (isSelected) this.step(-1); else timeline.panBy(-0.1);
        return true;
      case "ArrowRight":
        if (isSelected) this.step(1); else timeline.panBy(0.1);
        return true;
      case "ArrowUp": this.climb(-1); return true;
      case "ArrowDown": this.climb(1); return true;
      case "PageUp": timeline.scrollBy(-timeline.scroll.page); return true;
      case "PageDown": timeline.scrollBy(timeline.scroll.page); return true;
      case "0": case "Home": timeline.setView(0, this.model.end); return true;
      case "f": case "F":
        if (this.selected !== null) this.goTo(this.selected);
        return true;
      case "n": this.next(1); return true;
      case "p": case "N": this.next(-1); return true;
      case "c": case "C": this.toggleCritical(); return true;
      case "b": case "B": {
        // Back to what it waited for last.
        if (this.selected === null) return true;
        const { stop } = this.model.data;
        const waits = [...this.model.waits(this.selected)];
        waits.sort((a, b) => stop[b]! - stop[a]!);
        this.goTo(waits[0] ?? -1);
        return true;
      }
      case "/": get("search").focus(); return true;
      case "?": get<HTMLDialogElement>("help").showModal(); return true;
      case "Escape": this.select(null); this.hover(null, 0, 0); return true;
    }
    return false;
  }

  private listen() {
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest("input, dialog")) return;
      if (target.closest("[role=tablist]") && event.key.startsWith("Arrow")) return;
      if (this.key(event)) event.preventDefault();
    });
    const input = get<HTMLInputElement>("search");
    input.addEventListener("input", () => this.search(input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        input.value = "";
        this.search("");
        get("timeline").focus();
      }
    });
    get("fit").onclick = () => this.timeline.setView(0, this.model.end);
    get("critical").onclick = () => this.toggleCritical();
    get("help-open").onclick = () => get<HTMLDialogElement>("help").showModal();
    const follow = (event: Event) => {
      const target = event.target as Element;
      if (event instanceof KeyboardEvent && event.key !== "Enter") return;
      const bar = target.closest<HTMLElement>("[data-bar]");
      if (bar) this.goTo(Number(bar.dataset.bar));
      const node = target.closest<SVGElement>("[data-node]");
      if (node) this.goTo(barOfNode(this.model, Number(node.dataset.node)));
    };
    for (const host of [get("panel"), get("tabs-content")]) {
      host.addEventListener("click", follow);
      host.addEventListener("keydown", follow);
    }
    const tabs = [...document.querySelectorAll<HTMLElement>("[role=tab]")];
    for (const tab of tabs) {
      tab.onclick = () => this.openTab(tab.id.slice(4));
      tab.onkeydown = (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const shown = tabs.filter((each) => !each.hidden);
        const other = shown[(shown.indexOf(tab) + step + shown.length) % shown.length]!;
        this.openTab(other.id.slice(4));
        other.focus();
      };
    }
    const scroll = get("scroll");
    scroll.onscroll = () =>
      this.timeline.scrollBy(scroll.scrollTop - this.timeline.scroll.offset);
    new ResizeObserver(() => {
      this.timeline.resize();
      this.memory.resize();
      this.links.resize();
    }).observe(get("main"));
  }
}

async function open() {
  const text = get("data").textContent!.trim();
  const model = new Model(await readData(text));
  get("data").remove();
  new Page(model);
  requestAnimationFrame(() => {
    document.body.dataset.ready = String(Math.round(performance.now()));
  });
}

open().catch((error: unknown) => {
  get("summary").textContent = `This page cannot be shown: ${String(error)}`;
  throw error;
});

