// What the programs for Node share; programs/order.py says how they are spoken with.
import { createInterface } from "node:readline";

export const order = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export const say = (what) => console.log(JSON.stringify(what));
export const hear = async () => (await lines.next()).value ?? "";
export const headers = order.key ? { Authorization: `Bearer ${order.key}` } : {};

export function result(tool, answer) {
  const texts = answer.content.filter((block) => block.type === "text");
  const images = answer.content.filter((block) => block.type === "image").length;
  return { tool, failed: answer.isError ?? false, said: texts[0]?.text ?? null, images };
}

const kept = {};

// A sign-in over the kept tokens.
export function provider(name) {
  const callback = "http://127.0.0.1:4321/callback";
  return {
    redirectUrl: callback,
    clientMetadata: {
      client_name: name,
      redirect_uris: [callback],
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
    saveDiscoveryState: (state) => { kept.discovery = state; },
    discoveryState: () => kept.discovery,
    redirectToAuthorization: (url) => say({ visit: url.href }),
  };
}

// Connects; where the person must sign in first, waits for that and connects again.
export async function connected(newClient, newTransport, Unauthorized) {
  const [client, transport] = [newClient(), newTransport()];
  try {
    await client.connect(transport);
    return [client, transport];
  } catch (error) {
    if (!(error instanceof Unauthorized)) throw error;
  }
  const returned = new URL(await hear()).searchParams;
  await transport.finishAuth(returned.get("code"), returned.get("iss") ?? undefined);
  return connected(newClient, newTransport, Unauthorized);
}

// Makes rounds: the first with all calls, the others with one.
export async function run(once, restart) {
  for (let calls = order.calls; ; calls = calls.slice(0, 1)) {
    say({ round: await once(calls) });
    const heard = await hear();
    if (!heard) process.exit(0);
    const passed = JSON.parse(heard);
    const before = Date.now;
    Date.now = () => before() + passed.seconds * 1000;
    if (passed.restart) restart();
  }
}
