// What OpenAI's client for Node does, as calls.py: prints a line, and fails if a thing failed.

import OpenAI from "openai";

const model = "tiny";
const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const { completions } = client.chat;
const messages = [{ role: "user", content: "Hello" }];
const object = (properties) => ({
  type: "object", properties, required: Object.keys(properties), additionalProperties: false,
});
const place = object({ place: { enum: ["Rome", "Oslo"] } });
const tool = { type: "function", function: { name: "weather", parameters: place } };
const format = { name: "answer", strict: true, schema: place };

function check(value, what) {
  if (!value) throw new Error(`no ${what}`);
}

async function chat() {
  const done = await completions.create({ model, messages, max_tokens: 5 });
  check(done.usage.completion_tokens === 5, "five tokens");
}

async function stream() {
  const stream_options = { include_usage: true };
  const stream = completions.stream({ model, messages, max_tokens: 5, stream_options });
  check((await stream.totalUsage()).completion_tokens === 5, "usage");
}

async function tools() {
  const runner = completions.runTools({
    model, messages, max_tokens: 200, parallel_tool_calls: false,
    tool_choice: { type: "function", function: { name: "weather" } },
    tools: [{ type: "function", function: { ...tool.function, function: () => "rain", parse: JSON.parse } }],
  });
  await runner.done();
  check(runner.messages.some(({ role, content }) => role === "tool" && content === "rain"), "result");
  const again = await completions.create({ model, messages: runner.messages, tools: [tool], max_tokens: 5 });
  check(again.choices.length, "answer");
}

async function structured() {
  const response_format = { type: "json_schema", json_schema: format };
  const done = await completions.parse({ model, messages, max_tokens: 200, response_format });
  check(done.choices[0].message.parsed.place, "place");
}

async function abort() {
  const events = await completions.create({ model, messages, stream: true });
  for await (const _ of events) break;
  events.controller.abort();
  await chat();
}

async function responses() {
  const asked = { model, input: "Hello", max_output_tokens: 200 };
  const text = { format: { type: "json_schema", ...format } };
  const stream = client.responses.stream({ ...asked, text });
  check(JSON.parse((await stream.finalResponse()).output_text).place, "place");
  const tools = [{ type: "function", name: "weather", parameters: place, strict: true }];
  const { output } = await client.responses.create({ ...asked, tools, tool_choice: "required", parallel_tool_calls: false });
  const result = { type: "function_call_output", call_id: output[0].call_id, output: "rain" };
  const input = [{ role: "user", content: "Hello" }, ...output, result];
  check((await client.responses.create({ ...asked, input, max_output_tokens: 5 })).usage.output_tokens === 5, "usage");
}

const results = [];
for (const thing of [chat, stream, tools, structured, abort, responses]) {
  results.push(await thing().then(() => "ok", (error) => `${error}`.slice(0, 200)));
}
console.log(`${"openai (Node)".padEnd(16)} ${results.join(" | ")}`);
process.exit(results.every((result) => result === "ok") ? 0 : 1);
