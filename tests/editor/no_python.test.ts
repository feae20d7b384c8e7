/** Where no Python will do, a message says what is missing and what to do. */

import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { CodeServer } from "./code_server.ts";
import { Editor } from "./editor.ts";

let commands: string;
let server: CodeServer;
let editor: Editor;

before(async () => {
  commands = await mkdtemp(path.join(tmpdir(), "pallas-lens-path-"));
  const old = path.join(commands, "python3");
  await writeFile(old, '#!/bin/sh\necho "python 3.9.18 $0"\n');
  await chmod(old, 0o755);
  server = await CodeServer.start({
    workspace: path.join(import.meta.dirname, "workspace"),
    environment: { PATH: commands },
  });
  editor = await Editor.open(server);
});

afterEach(async (context) => {
  await editor.screenshotOfFailure(context);
});

after(async () => {
  await editor.close();
  await server.close();
  await rm(commands, { recursive: true, force: true });
});

test("with only an old Python the message names it and offers the settings", async () => {
  await editor.openFile("kernels.py");
  const message = editor.notification("needs Python 3.11 or later");
  await message.filter({ hasText: "3.9.18" }).waitFor();
  await editor.screenshot("no-python");
  await message.locator(".monaco-button", { hasText: "Open Settings" }).click();
  await editor.page.locator(".settings-editor", { hasText: "Server Interpreter" }).waitFor();
});
