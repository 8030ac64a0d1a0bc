// SPDX-License-Identifier: Apache-2.0
// Bundles the page into one file, meshwright/Draw/Page.html, and the licences of
// what it is made with into licences.txt. Of what they were made from, and of what
// was made, bundle.sha256 keeps the hashes, in the form of sha256sum: there they can
// be compared where there is no Node (scripts/check_layout.py).
//
//   node build.mjs           writes them
//   node build.mjs --check   fails if they are not what would be written

import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));

const bundle = await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts"],
  outdir: "out",
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  target: ["chrome90", "firefox113", "safari16.4"],
  legalComments: "none", // Whole licences are in the page.
  metafile: true,
  write: false,
  logLevel: "warning",
});

function textOf(ending) {
  return bundle.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
}

async function describe(name) {
  const path = `${here}node_modules/${name}/package.json`;
  return JSON.parse(await readFile(path, "utf8"));
}

/** The licence of each package that the bundle has something of. */
async function licences() {
  const inputs = Object.values(bundle.metafile.outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path);
  const names = new Set(
    inputs.flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []),
  );
  // A package may have its dependencies bundled in itself.
  const texts = [];
  const all = [...names];
  for (const name of all) {
    const { dependencies } = await describe(name);
    for (const other of Object.keys(dependencies ?? {}))
      if (!all.includes(other)) all.push(other);
  }
  for (const name of all.sort()) {
    const folder = `${here}node_modules/${name}`;
    const { version, license } = await describe(name);
    const text = await readFile(`${folder}/LICENSE`, "utf8");
    texts.push(`${name} ${version}, ${license}\n\n${text.trim()}\n`);
  }
  return texts.join("\n----\n\n");
}

const texts = await licences();
const parts = {
  "@STYLE@": textOf(".css"),
  // What ends the element must not be in it.
  "@SCRIPT@": textOf(".js").replaceAll("</script", "<\\/script"),
  "@LICENCES@": texts.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
};
let page = await readFile(`${here}src/page.html`, "utf8");
for (const [place, text] of Object.entries(parts))
  page = page.replace(place, () => text);

const root = fileURLToPath(new URL("../../", import.meta.url));
const made = new Map([
  ["meshwright/Draw/Page.html", page],
  ["tools/page/licences.txt", texts],
]);

/** What goes into the bundle, and what came out. */
async function hashes() {
  const sources = (await readdir(`${here}src`)).map((name) => `tools/page/src/${name}`);
  for (const name of ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"])
    sources.push(`tools/page/${name}`);
  const lines = [];
  for (const path of [...sources, ...made.keys()].sort()) {
    const text = made.get(path) ?? (await readFile(root + path));
    lines.push(`${createHash("sha256").update(text).digest("hex")}  ${path}\n`);
  }
  return lines.join("");
}

made.set("tools/page/bundle.sha256", await hashes());
for (const [path, text] of made) {
  if (!process.argv.includes("--check")) {
    await writeFile(root + path, text);
  } else if ((await readFile(root + path, "utf8")) !== text) {
    console.error(`${path} is not what tools/page makes; run make page`);
    process.exitCode = 1;
  }
}
