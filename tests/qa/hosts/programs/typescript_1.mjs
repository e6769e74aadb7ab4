// The official TypeScript SDK in its first major version.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connected, headers, order, provider, result, run } from "./order.mjs";

const newProvider = () => (order.sign_in ? provider("TypeScript SDK 1") : undefined);
let authProvider = newProvider();
const newClient = () => new Client({ name: "typescript-1", version: "1" });
const newTransport = () =>
  new StreamableHTTPClientTransport(new URL(order.url), { authProvider, requestInit: { headers } });

await run(async (calls) => {
  const [client, transport] = await connected(newClient, newTransport, UnauthorizedError);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const results = [];
  for (const [name, args] of calls) {
    results.push(result(name, await client.callTool({ name, arguments: args })));
  }
  const version = transport.protocolVersion;
  await client.close();
  return { version, tools, results };
}, () => { authProvider = newProvider(); });
