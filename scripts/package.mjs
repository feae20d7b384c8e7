/** `npm run package`: builds, and writes the one .vsix for every platform. */

import { existsSync } from "node:fs";
import { cp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "./build.mjs";
import { developmentEnvironment, nodeModules } from "./environments.mjs";
import { ROOT, run, script, step } from "./steps.mjs";

/** All that the .vsix holds, beside what the build makes for it. */
const CONTENTS = [
  ...["package.json", "README.md", "CHANGELOG.md", "LICENSE", "client/icon.png"],
  ...["dist/extension.cjs", "dist/THIRD-PARTY.txt", "bundled", "snippets", "docs"],
];

/**
 * Build and package.
 *
 * @param {string} python of the development environment
 * @returns {Promise<string>} absolute path of the .vsix
 */
export async function packageExtension(python) {
  await build(python);
  const text = await readFile(path.join(ROOT, "package.json"), "utf8");
  /** @type {unknown} */
  const parsed = JSON.parse(text);
  const manifest = /** @type {{ name: string, version: string }} */ (parsed);
  const vsix = path.join(ROOT, "dist", `${manifest.name}-${manifest.version}.vsix`);
  await step(`package ${path.relative(ROOT, vsix)}`, async () => {
    const folder = await stage();
    const vsce = path.join(ROOT, "node_modules", "@vscode", "vsce", "vsce");
    await run(
      process.execPath,
      [
        ...[vsce, "package", "--no-dependencies", "--allow-missing-repository"],
        // There is no web address that relative links could be rewritten to.
        "--no-rewrite-relative-links",
        ...["--out", vsix],
      ],
      { cwd: folder },
    );
  });
  return vsix;
}

/** A folder with the contents only: vsce would look at every file of every environment here. */
async function stage() {
  const folder = path.join(ROOT, "dist", "contents");
  await rm(folder, { recursive: true, force: true });
  for (const name of CONTENTS.filter((one) => existsSync(path.join(ROOT, one)))) {
    await cp(path.join(ROOT, name), path.join(folder, name), {
      recursive: true,
      filter: (file) => !/(__pycache__|\.pyc|\.pallas-lens-made-from)$/.test(file),
    });
  }
  return folder;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => {
    const [python] = await Promise.all([developmentEnvironment(), nodeModules()]);
    await packageExtension(python);
  });
}
