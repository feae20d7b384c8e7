/** What a person does in the editor, and sees there; every step waits for what it causes. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { SuiteContext, TestContext } from "node:test";

import { chromium, type BrowserContext, type Locator, type Page } from "playwright-core";

import { required, type CodeServer } from "./code_server.ts";

/** Long enough for a cold start of everything on a busy machine. */
const PATIENCE = 90_000;
/** How long a key gets to show its effect before it is pressed again. */
const KEY_PATIENCE = 3_000;

const SCREENSHOTS = path.join(import.meta.dirname, "screenshots");
const PICTURES = path.join(import.meta.dirname, "..", "..", "docs", "images");

export class Editor {
  readonly page: Page;
  private readonly context: BrowserContext;
  private readonly profile: string;

  private constructor(page: Page, context: BrowserContext, profile: string) {
    this.page = page;
    this.context = context;
    this.profile = profile;
  }

  /** Open the workspace of a server in a new browser. */
  static async open(server: CodeServer): Promise<Editor> {
    const profile = await mkdtemp(path.join(tmpdir(), "pallas-lens-browser-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: required("PALLAS_LENS_CHROMIUM"),
      headless: true,
      viewport: { width: 1280, height: 800 },
      // Chromium's sandbox does not start for root, and this browser opens nothing but the test's own server.
      chromiumSandbox: false,
      env: definedOnly({
        ...process.env,
        FONTCONFIG_FILE: path.join(import.meta.dirname, "fonts.conf"),
      }),
      args: [
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
    const page = context.pages()[0] ?? (await context.newPage());
    page.setDefaultTimeout(PATIENCE);
    await page.goto(server.address());
    await page.locator(".monaco-workbench").waitFor();
    return new Editor(page, context, profile);
  }

  async close(): Promise<void> {
    await this.context.close();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Open a file of the workspace through Quick Open. */
  async openFile(name: string): Promise<void> {
    const box = this.quickInput();
    await this.pressUntil("Control+P", box);
    await box.fill(name);
    await this.page
      .locator(".quick-input-list .monaco-list-row", { hasText: name })
      .first()
      .click();
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.lines().first().waitFor();
  }

  /** Put the cursor at a line and column, both from 1. */
  async goTo(line: number, column: number): Promise<void> {
    const box = this.quickInput();
    await this.pressUntil("Control+G", box);
    await box.fill(`:${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await box.waitFor({ state: "hidden" });
    await this.page
      .locator("#status\\.editor\\.selection", { hasText: `Ln ${line}, Col ${column}` })
      .waitFor();
  }

  /** Run a command of the palette by its title. */
  async command(title: string): Promise<void> {
    const box = this.quickInput();
    await this.pressUntil("F1", box);
    await box.fill(`>${title}`);
    await this.page
      .locator(".quick-input-list .monaco-list-row", { hasText: title })
      .first()
      .click();
  }

  /** The text of the editor, as far as it is in view. */
  async text(): Promise<string> {
    const lines = await this.lines().allInnerTexts();
    return lines.map((line) => line.replace(/\u00a0/g, " ")).join("\n");
  }

  lines(): Locator {
    return this.page.locator(".editor-instance .view-line");
  }

  squiggles(severity: "error" | "warning"): Locator {
    return this.page.locator(`.editor-instance .squiggly-${severity}`);
  }

  lens(title: string): Locator {
    return this.page.locator(".codelens-decoration a", { hasText: title });
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast.notification-fade-in-done", { hasText: text });
  }

  /** Point at a word in the line that has `lineText`, and wait for a hover that has `expected`; its text. */
  async hover(lineText: string, word: string, expected: string | RegExp): Promise<string> {
    const shown = this.page.locator(".monaco-hover:visible", { hasText: expected });
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      // A hover asked for before the server is ready is empty, and a lens that comes late moves the line.
      const at = await this.placeOf(lineText, word);
      await this.page.mouse.move(at.x, at.y + 150);
      await this.page.mouse.move(at.x, at.y, { steps: 4 });
      try {
        await shown.first().waitFor({ timeout: KEY_PATIENCE });
        return await shown.first().innerText();
      } catch (error) {
        if (performance.now() > deadline) {
          throw error;
        }
      }
    }
  }

  async leaveHover(): Promise<void> {
    await this.page.keyboard.press("Escape");
    await this.page.mouse.move(5, 5);
    await this.page.locator(".monaco-hover:visible").first().waitFor({ state: "hidden" });
  }

  /** Open the quick-fix menu at the cursor and take the entry. */
  async quickFix(title: string | RegExp): Promise<void> {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    const entry = rows.filter({ hasText: title }).first();
    await this.pressUntil("Control+.", entry);
    await entry.click();
    await entry.waitFor({ state: "hidden" });
  }

  async save(): Promise<void> {
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.active:not(.dirty)").waitFor();
  }

  /**
   * Keep a picture of the editor for the README, in docs/images; without --update-pictures, as `screenshot` does.
   */
  async picture(name: string): Promise<void> {
    await this.screenshot(name);
    if (process.env.PALLAS_LENS_UPDATE_PICTURES === "1") {
      const part = this.page.locator(".part.editor");
      await part.screenshot({ path: path.join(PICTURES, `${name}.png`) });
    }
  }

  /** Keep a picture of the window, for who looks into a failure; git leaves these out. */
  async screenshot(name: string): Promise<void> {
    await mkdir(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
  }

  /** Where a test has failed, keep a picture under its name. */
  async screenshotOfFailure(context: TestContext | SuiteContext): Promise<void> {
    if ("passed" in context && !context.passed) {
      await this.screenshot(`FAILED ${context.name.replace(/[^\w ]/g, "")}`);
    }
  }

  /** Press a key until something shows: one pressed while the focus moves is lost. */
  async pressUntil(key: string, shown: Locator): Promise<void> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      await this.page.keyboard.press(key);
      try {
        await shown.waitFor({ timeout: KEY_PATIENCE });
        return;
      } catch (error) {
        if (performance.now() > deadline) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  private quickInput(): Locator {
    return this.page.locator(".quick-input-widget input.input").first();
  }

  /** Where a word is drawn: the middle of it, in pixels of the window. */
  private async placeOf(lineText: string, word: string): Promise<{ x: number; y: number }> {
    const line = this.lines().filter({ hasText: lineText }).first();
    await line.scrollIntoViewIfNeeded();
    return line.evaluate((element, wanted) => {
      // The editor draws spaces as no-break spaces, and a line as several spans.
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const start = (node as Text).data.replace(/\u00a0/g, " ").indexOf(wanted);
        if (start >= 0) {
          const range = document.createRange();
          range.setStart(node, start);
          range.setEnd(node, start + wanted.length);
          const box = range.getBoundingClientRect();
          return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        }
      }
      throw new Error(`"${wanted}" is not drawn in one piece in its line`);
    }, word);
  }
}

function definedOnly(variables: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
