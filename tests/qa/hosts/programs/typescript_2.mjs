// The official TypeScript SDK in its second major version.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { connected, headers, order, provider, result, run } from "./order.mjs";

const newProvider = () => (order.sign_in ? provider("TypeScript SDK 2") : undefined);
let authProvider = newProvider();
const mode = order.era === "legacy" ? "legacy" : { pin: order.era };
const newClient = () => new Client({ name: "typescript-2", version: "1" }, { versionNegotiation: { mode } });
const newTransport = () =>
  new StreamableHTTPClientTransport(new URL(order.url), { authProvider, requestInit: { headers } });

await run(async (calls) => {
  const [client] = await connected(newClient, newTransport, UnauthorizedError);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const results = [];
  for (const [name, args] of calls) {
    results.push(result(name, await client.callTool({ name, arguments: args })));
  }
  const version = client.getNegotiatedProtocolVersion();
  await client.close();
  return { version, tools, results };
}, () => { authProvider = newProvider(); });
