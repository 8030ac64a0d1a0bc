// SPDX-License-Identifier: Apache-2.0
// Words that a bar has to have, all of them:
//
//   enc            in the name, the origins, the kind or the mesh
//   mb:3 stage:1   of this microbatch, of this stage
//   F3             as it is shown in the bar

import type { Model } from "./model";

type Test = (bar: number) => boolean;

function numberTest(values: Int32Array, text: string): Test {
  const number = Number(text);
  return (bar) => values[bar] === number;
}

function wordTest(model: Model, word: string): Test {
  const { data } = model;
  const [key, value] = word.split(":");
  if (value && (key === "mb" || key === "microbatch"))
    return numberTest(data.microbatch, value);
  if (value && key === "stage") return numberTest(data.stage, value);
  if (value && key === "mesh") {
    const named = data.meshes.map((mesh) => mesh.name.toLowerCase() === value);
    return (bar) => named[data.mesh[bar]!]!;
  }
  if (/^\d*[fbwotcx]\d+$/.test(word)) {
    const label = word.toUpperCase();
    return (bar) => model.label(bar) === label;
  }
  const has = (text: string) => text.toLowerCase().includes(word);
  const names = data.names.map(has);
  const kinds = data.kinds.map((kind) => has(kind[0]));
  const meshes = data.meshes.map((mesh) => has(mesh.name));
  return (bar) =>
    names[data.name[bar]!]! ||
    names[data.origins[bar]!]! ||
    kinds[data.kind[bar]!]! ||
    meshes[data.mesh[bar]!]!;
}

/** For each bar whether it is found; null if nothing is looked for. */
export function search(model: Model, text: string): Uint8Array | null {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const tests = words.map((word) => wordTest(model, word));
  return Uint8Array.from({ length: model.data.kind.length }, (_, bar) =>
    tests.every((test) => test(bar)) ? 1 : 0,
  );
}
