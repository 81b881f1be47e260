// Another make of client against our server: the TypeScript SDK lists the tools, adds, searches, walks the three layers,
// and deletes after a confirmation, over a pipe and over HTTP.
//
//   npm install @modelcontextprotocol/sdk        in a folder of its own; copy this file there
//   node mcp-client.mjs python -m recollect mcp  the command that starts the server
//   node mcp-client.mjs http://127.0.0.1:8765/mcp TOKEN
//
// Exits with 0 and prints "ok" when everything was as it should be.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [target, ...rest] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } })
  : new StdioClientTransport({ command: target, args: rest, env: process.env });

const client = new Client({ name: "reference", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { confirm: true } };
});
await client.connect(transport);

const { tools } = await client.listTools();
for (const tool of tools) {
  for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]) {
    assert.equal(typeof tool.annotations[hint], "boolean", `${tool.name}: ${hint}`);
  }
  assert.ok(tool.outputSchema, tool.name);
}

// callTool validates structured content against the output schema.
const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
const added = await call("memory_add", { content: `Deploys happen on Thursdays, says client ${process.pid}` });
const found = await call("memory_search", { query: "when do deploys happen?" });
assert.ok(found.hits.some((hit) => hit.id === added.id));
const around = await call("memory_timeline", { id: added.id });
assert.ok(around.entries.some((entry) => entry.position === "anchor"));
const whole = await call("memory_get", { ids: [added.uid] });
assert.match(whole.notes[0].content, /Thursdays/);
const refused = await client.callTool({ name: "memory_get", arguments: { ids: [999999] } });
assert.ok(refused.isError && refused._meta["recollect/error"].hint);
assert.deepEqual(await call("memory_delete", { ids: [added.id] }), { deleted: [added.id], confirmed: true });
assert.match(asked[0], /1 note/);

const { resources } = await client.listResources();
assert.equal(resources[0].uri, "memory://recent");
assert.ok((await client.readResource({ uri: "memory://recent" })).contents[0].text);
assert.deepEqual((await client.listPrompts()).prompts.map((prompt) => prompt.name), ["recall", "hand_over"]);
await client.close();
console.log("ok", tools.map((tool) => tool.name).join(" "));
