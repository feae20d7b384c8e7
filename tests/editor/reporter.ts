/** Prints a line for each test, what failed with its reason, and a last line with the counts. */

import type { TestEvent } from "node:test/reporters";

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  let failed = 0;
  for await (const event of events) {
    if (event.type === "test:pass" && event.data.details.type !== "suite") {
      passed += 1;
      yield `ok     ${event.data.name} (${seconds(event.data.details.duration_ms)} s)\n`;
    } else if (event.type === "test:fail" && event.data.details.type !== "suite") {
      failed += 1;
      const { error } = event.data.details;
      yield `FAILED ${event.data.name} (${seconds(event.data.details.duration_ms)} s)\n${cause(error)}\n`;
    } else if (event.type === "test:stderr" || event.type === "test:stdout") {
      yield event.data.message;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(1);
}

function cause(error: Error): string {
  const inner = error.cause instanceof Error ? error.cause : error;
  return (inner.stack ?? inner.message).replace(/^/gm, "    ");
}
