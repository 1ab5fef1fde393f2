// Vercel's AI SDK.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { PARAMETERS, QUESTION, URL_, getForecast, report } from "./report.mjs";

const settings = { baseURL: `${URL_}/v1`, apiKey: "none" };
const openai = createOpenAI(settings);

async function converse(model, providerOptions) {
  const result = streamText({
    model,
    prompt: QUESTION,
    maxRetries: 0,
    stopWhen: stepCountIs(3),
    providerOptions,
    tools: { get_forecast: tool({ inputSchema: jsonSchema(PARAMETERS), execute: async (given) => getForecast(given) }) },
    onError: ({ error }) => {
      throw error;
    },
  });
  await result.consumeStream();
  return [await result.text, await result.reasoningText];
}

await report("AI SDK, openai", "Chat Completions", "ai", () => converse(openai.chat("recorded")));
await report("AI SDK, openai", "Responses", "ai", () =>
  converse(openai.responses("recorded"), { openai: { store: false } }),
);
await report("AI SDK, openai-compatible", "Chat Completions", "ai", () =>
  converse(createOpenAICompatible({ name: "harmonystream", ...settings })("recorded")),
);
await report("AI SDK, anthropic", "Messages", "ai", () => converse(createAnthropic(settings)("recorded")));
