/** `npm run package`: builds, and writes the one .vsix for every platform. */

import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "./build.mjs";
import { developmentEnvironment, nodeModules } from "./environments.mjs";
import { ROOT, run, script, step } from "./steps.mjs";

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
    await rm(vsix, { force: true });
    const vsce = path.join(ROOT, "node_modules", "@vscode", "vsce", "vsce");
    await run(process.execPath, [
      ...[vsce, "package", "--no-dependencies", "--allow-missing-repository"],
      // There is no web address that relative links could be rewritten to.
      "--no-rewrite-relative-links",
      ...["--out", vsix],
    ]);
  });
  return vsix;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => {
    const [python] = await Promise.all([developmentEnvironment(), nodeModules()]);
    await packageExtension(python);
  });
}
