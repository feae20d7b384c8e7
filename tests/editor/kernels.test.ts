/** The main job in a real VS Code: finding, hovers, quick fix, and a run from the lens. */

import assert from "node:assert/strict";
import { readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { CodeServer, required } from "./code_server.ts";
import { Editor } from "./editor.ts";

let server: CodeServer;
let editor: Editor;

before(async () => {
  server = await CodeServer.start({ workspace: path.join(import.meta.dirname, "workspace") });
  // The interpreter is found as most people have it: .venv in the workspace folder.
  const jax = required("PALLAS_LENS_JAX_PYTHONS").split(path.delimiter).at(-1) ?? "";
  await symlink(path.dirname(path.dirname(jax)), server.file(".venv"));
  editor = await Editor.open(server);
});

afterEach(async (context) => {
  await editor.screenshotOfFailure(context);
});

after(async () => {
  await editor.close();
  await server.close();
});

test("a block off the tile is underlined", async () => {
  await editor.openFile("kernels.py");
  await editor.squiggles("error").first().waitFor();
  await editor.screenshot("squiggle");
  const said = await editor.hover("BlockSpec((100,", "100", "PAL");
  assert.match(said, /100/);
  assert.match(said, /multiple of 8|divisible by 8/);
  await editor.picture("finding");
  await editor.leaveHover();
});

test("the code of a finding opens the page of its rule", async () => {
  await editor.hover("BlockSpec((100,", "100", "PAL");
  await editor.page.locator(".monaco-hover:visible a", { hasText: /PAL\d/ }).first().click();
  await editor.page.locator(".tab.active", { hasText: /block-not-tile-aligned/ }).waitFor();
  await editor.screenshot("rule");
  await editor.openFile("kernels.py");
});

test("hovering pallas_call shows the VMEM of its windows", async () => {
  const said = await editor.hover("return pl.pallas_call(", "pallas_call", "VMEM");
  assert.match(said, /v5e/);
  assert.match(said, /[KM]iB/);
  await editor.picture("vmem");
  await editor.leaveHover();
});

test("hovering a BlockSpec shows what its block takes", async () => {
  const said = await editor.hover("out_specs=pl.BlockSpec", "BlockSpec", "VMEM");
  assert.match(said, /[KM]iB/);
  await editor.screenshot("block");
  await editor.leaveHover();
});

test("hovering a BlockSpec draws the walk over the array, in a light theme too", async () => {
  for (const [theme, next] of [
    ["dark", "vs"],
    ["light", "vs-dark"],
  ]) {
    await editor.hover("out_specs=pl.BlockSpec", "BlockSpec", "VMEM");
    const image = editor.page.locator(".monaco-hover:visible img").first();
    await image.waitFor();
    // An image whose data the editor refuses, or cannot read, has no width.
    assert.ok((await image.evaluate((one: HTMLImageElement) => one.naturalWidth)) > 100);
    await (theme === "dark" ? editor.picture("walk") : editor.screenshot(`walk-${theme}`));
    await editor.leaveHover();
    await editor.command("Preferences: Toggle between Light/Dark Themes");
    await editor.page.locator(`.monaco-workbench.${next}`).waitFor();
  }
});

test("hovering an operation in a kernel shows its cost", async () => {
  const said = await editor.hover("weights = jnp.exp", "exp", /🟢|🌕|🔴/u);
  assert.match(said, /bundles/);
  assert.match(said, /f32/);
  await editor.picture("cost");
  await editor.leaveHover();
});

test("the language status names server, Python and JAX", async () => {
  const item = editor.page.locator("#status\\.languageStatus");
  const shown = editor.page.locator(".hover-language-status", { hasText: "JAX" });
  await item.hover();
  await shown.first().waitFor();
  assert.match(await shown.first().innerText(), /Pallas Lens \d[\s\S]*Python 3\.\d+\.\d+ · JAX \d/);
  await editor.screenshot("status");
  await editor.leaveHover();
});

test("run in interpret mode, from the lens, notifies and underlines", async () => {
  await editor.openFile("logarithm.py");
  await editor.lens("Run in interpret mode").first().waitFor();
  await editor.screenshot("lens");
  await editor.lens("Run in interpret mode").first().click();
  await editor.notification(/NaN/).first().waitFor();
  await editor.page
    .locator(".editor-instance")
    .locator(".squiggly-error, .squiggly-warning")
    .first()
    .waitFor();
  await editor.picture("interpret");
  await editor.command("Notifications: Clear All Notifications");
});

test("a quick fix changes the file", async () => {
  await editor.openFile("renamed.py");
  await editor.squiggles("error").first().waitFor();
  await editor.goTo(17, 40);
  await editor.quickFix(/CompilerParams/);
  await editor.page.locator(".view-line", { hasText: "pltpu.CompilerParams(" }).waitFor();
  await editor.save();
  const before = await readFile(path.join(import.meta.dirname, "workspace", "renamed.py"), "utf8");
  const saved = await readFile(server.file("renamed.py"), "utf8");
  assert.equal(saved, before.replace("TPUCompilerParams", "CompilerParams"));
  await editor.squiggles("error").first().waitFor({ state: "detached" });
  await editor.screenshot("fixed");
});

test("the debug information says what runs", async () => {
  await editor.command("Pallas Lens: Show Debug Information");
  await editor.lines().filter({ hasText: "server: running" }).waitFor();
  const said = await editor.text();
  assert.match(said, /^Pallas Lens: \d/m);
  assert.match(said, /^workspace trusted: yes$/m);
  assert.match(
    said,
    /^interpreter: Python 3\.\d+\.\d+, .*\.venv.*, from \.venv of the folder workspace$/m,
  );
  await editor.screenshot("debug");
});

test("a restart of the server leaves the findings as they were", async () => {
  await editor.openFile("kernels.py");
  await editor.squiggles("error").first().waitFor();
  await editor.command("Pallas Lens: Restart Server");
  // The stopped server takes its findings with it; these are the new one's.
  await editor.squiggles("error").first().waitFor({ state: "detached" });
  await editor.squiggles("error").first().waitFor();
});
