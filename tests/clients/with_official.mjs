// The official clients of OpenAI and Anthropic for JavaScript.

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import OpenAI from "openai";
import { PARAMETERS, QUESTION, URL_, getForecast, report } from "./report.mjs";

const openai = new OpenAI({ baseURL: `${URL_}/v1`, apiKey: "none", maxRetries: 0 });
const user = { role: "user", content: QUESTION };

await report("openai (npm), runTools", "Chat Completions", "openai", async () => {
  const tool = { name: "get_forecast", parameters: PARAMETERS, parse: JSON.parse, function: getForecast };
  let reasoning = "";
  const runner = openai.chat.completions.runTools({
    model: "recorded",
    stream: true,
    messages: [user],
    tools: [{ type: "function", function: tool }],
  });
  runner.on("chunk", (chunk) => (reasoning += chunk.choices[0]?.delta.reasoning ?? ""));
  return [await runner.finalContent(), reasoning];
});

await report("openai (npm)", "Responses", "openai", async () => {
  const tools = [{ type: "function", name: "get_forecast", parameters: PARAMETERS, strict: false }];
  const input = [user];
  for (;;) {
    const response = await openai.responses.stream({ model: "recorded", input, tools }).finalResponse();
    const calls = response.output.filter((item) => item.type === "function_call");
    if (!calls.length) {
      const parts = response.output.flatMap((item) => (item.type === "reasoning" ? item.summary : []));
      return [response.output_text, parts.map((part) => part.text).join("")];
    }
    input.push(...response.output);
    for (const call of calls) {
      const output = getForecast(JSON.parse(call.arguments));
      input.push({ type: "function_call_output", call_id: call.call_id, output });
    }
  }
});

await report("@anthropic-ai/sdk, tool runner", "Messages", "@anthropic-ai/sdk", async () => {
  const client = new Anthropic({ baseURL: URL_, apiKey: "none", maxRetries: 0 });
  const tool = betaTool({
    name: "get_forecast",
    description: "The forecast of a day.",
    inputSchema: PARAMETERS,
    run: getForecast,
  });
  const runner = client.beta.messages.toolRunner({
    model: "recorded",
    max_tokens: 999,
    messages: [user],
    tools: [tool],
  });
  const { content } = await runner.runUntilDone();
  const said = (type, field) => content.filter((block) => block.type === type).map((block) => block[field]).join("");
  return [said("text", "text"), said("thinking", "thinking")];
});
