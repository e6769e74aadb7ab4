// A whole sign-in with the TypeScript SDK: register, authorize, exchange, call a tool, refresh, call.
// Prints the authorization address; reads the redirect's address from stdin.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [mcpUrl, modules] = process.argv.slice(2);
const sdk = createRequire(pathToFileURL(`${modules}/`));
const load = (name) => import(pathToFileURL(sdk.resolve(`@modelcontextprotocol/sdk/client/${name}.js`)));
const { Client } = await load("index");
const { StreamableHTTPClientTransport } = await load("streamableHttp");
const { auth } = await load("auth");

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const kept = {};
const provider = {
  redirectUrl: "http://127.0.0.1:4321/callback",
  clientMetadata: {
    client_name: "TypeScript host",
    redirect_uris: ["http://127.0.0.1:4321/callback"],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  redirectToAuthorization: (url) => { console.log(url.href); },
};

async function call() {
  const client = new Client({ name: "typescript-host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: provider }));
  const result = await client.callTool({ name: "list_tracked_tickers", arguments: {} });
  await client.close();
  return result.structuredContent.count;
}

await auth(provider, { serverUrl: mcpUrl });
const redirect = new URL((await lines.next()).value);
await auth(provider, { serverUrl: mcpUrl, authorizationCode: redirect.searchParams.get("code") });
const before = await call();
const first = kept.tokens.access_token;
await auth(provider, { serverUrl: mcpUrl });
console.log(JSON.stringify({ before, after: await call(), rotated: first !== kept.tokens.access_token }));
process.exit(0);
