// What report.py does, for clients in JavaScript.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export const URL_ = process.argv[2];
export const QUESTION = "Should I take an umbrella tomorrow?";
const RESULT = '{"morning": "drizzle"}';
const ARGUMENTS = '{"city":"成都","day":"tomorrow","hourly":false}';

export const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" }, day: { type: "string" }, hourly: { type: "boolean" } },
  required: ["city", "day", "hourly"],
};

let called = [];

export function getForecast(given) {
  called.push(JSON.stringify(given));
  return RESULT;
}

function versionOf(name) {
  let at = dirname(createRequire(import.meta.url).resolve(name));
  for (;;) {
    try {
      const found = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
      if (found.name === name) return found.version;
    } catch {}
    at = dirname(at);
  }
}

// converse gives the answer and the reasoning that the client shows; undefined: it shows none.
export async function report(client, api, name, converse) {
  called = [];
  const row = { client, version: versionOf(name), api, call: false, answer: false, note: "" };
  try {
    const [answer, reasoning] = await converse();
    row.call = called.length === 1 && called[0] === ARGUMENTS;
    row.answer = answer.includes("要带伞 🌂");
    row.reasoning = reasoning == null ? null : reasoning.includes("80 % chance of rain");
  } catch (error) {
    console.error(error);
    row.note = String(error).slice(0, 120);
  }
  console.log(JSON.stringify(row));
}
