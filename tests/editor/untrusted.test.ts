/** In Restricted Mode kernels are checked, and nothing of the workspace runs until it is trusted. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { CodeServer, required } from "./code_server.ts";
import { Editor } from "./editor.ts";

let server: CodeServer;
let editor: Editor;

/** A Python which leaves a file beside itself when it is started. */
function trap(): string {
  const python = (required("PALLAS_LENS_JAX_PYTHONS").split(path.delimiter).at(-1) ?? "").replace(
    /'/g,
    "'\\''",
  );
  return `#!/bin/sh\ntouch "$0.started"\nexec '${python}' "$@"\n`;
}

const TRAPS = [".venv/bin/python", "named-by-settings/python"];

before(async () => {
  server = await CodeServer.start({
    workspace: path.join(import.meta.dirname, "workspace"),
    trusted: false,
    files: {
      ...Object.fromEntries(TRAPS.map((name) => [name, trap()])),
      ".vscode/settings.json": JSON.stringify({
        "pallasLens.interpreter": "${workspaceFolder}/named-by-settings/python",
        "pallasLens.serverInterpreter": "${workspaceFolder}/named-by-settings/python",
      }),
    },
  });
  for (const name of TRAPS) {
    await chmod(server.file(name), 0o755);
  }
  editor = await Editor.open(server);
});

afterEach(async (context) => {
  await editor.screenshotOfFailure(context);
});

after(async () => {
  await editor.close();
  await server.close();
});

test("an untrusted workspace is checked, and nothing of it runs", async () => {
  await editor.openFile("kernels.py");
  await editor.squiggles("error").first().waitFor();
  await editor.screenshot("untrusted");
  assert.equal(await editor.lens("Run in interpret mode").count(), 0);
  for (const name of TRAPS) {
    assert.ok(!existsSync(server.file(`${name}.started`)), `${name} was started`);
  }
});

test("once it is trusted, its interpreter is used", async () => {
  await editor.command("Workspaces: Manage Workspace Trust");
  await editor.page
    .locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ })
    .first()
    .click();
  await editor.openFile("kernels.py");
  await editor.lens("Run in interpret mode").first().waitFor();
  assert.ok(existsSync(server.file("named-by-settings/python.started")));
});
