/** Where the Python extension is installed, the interpreter selected there is used, also after a change. */

import assert from "node:assert/strict";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { CodeServer, required } from "./code_server.ts";
import { Editor } from "./editor.ts";

const first = required("PALLAS_LENS_JAX_PYTHONS").split(path.delimiter).at(-1) ?? "";
const other = required("PALLAS_LENS_PYTHON");

let server: CodeServer;
let editor: Editor;

before(async () => {
  server = await CodeServer.start({
    workspace: path.join(import.meta.dirname, "workspace"),
    extensions: [path.join(import.meta.dirname, "python_extension")],
    environment: { STAND_IN_FIRST: first, STAND_IN_OTHER: other },
  });
  editor = await Editor.open(server);
});

afterEach(async (context) => {
  await editor.screenshotOfFailure(context);
});

after(async () => {
  await editor.close();
  await server.close();
});

/** The line of the debug information on the user's interpreter; the document is left open, and another opened next. */
async function interpreterLine(): Promise<string> {
  await editor.openFile("kernels.py");
  await editor.command("Pallas Lens: Show Debug Information");
  await editor.lines().filter({ hasText: "server: running" }).waitFor();
  return /^interpreter: .*$/m.exec(await editor.text())?.[0] ?? "";
}

test("the interpreter selected in the Python extension is used", async () => {
  await editor.openFile("kernels.py");
  await editor.squiggles("error").first().waitFor();
  const line = await interpreterLine();
  assert.match(line, /from the Python extension$/);
  assert.ok(line.includes(first), line);
});

test("another one selected there restarts the server with it", async () => {
  await editor.openFile("kernels.py");
  await editor.squiggles("error").first().waitFor();
  await editor.command("Stand-in: Select the Other Interpreter");
  await editor.squiggles("error").first().waitFor({ state: "detached" });
  await editor.squiggles("error").first().waitFor();
  const line = await interpreterLine();
  assert.ok(line.includes(other), line);
});
