// The host: JSON-RPC over postMessage, as the MCP Apps extension of 2026-01-26 has it.

const host = (() => {
  const waiting = new Map();
  let count = 0;

  const post = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });

  /** The result of a request to the host; rejects with the host's error. */
  function request(method, params) {
    const id = ++count;
    post({ id, method, params });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  function settle({ id, result, error }) {
    const promise = waiting.get(id);
    waiting.delete(id);
    if (error) promise?.reject(new Error(String(error.message)));
    else promise?.resolve(result ?? {});
  }

  /** Shake hands; `on` maps methods of the host to handlers, whose results are answers. */
  async function connect(on) {
    window.addEventListener("message", ({ source, data }) => {
      if (source !== window.parent || data?.jsonrpc !== "2.0") return;
      if (typeof data.method !== "string") return settle(data);
      const known = Object.hasOwn(on, data.method);
      const result = known ? on[data.method](data.params ?? {}) ?? {} : {};
      if (data.id === undefined) return;
      if (known) post({ id: data.id, result });
      else post({ id: data.id, error: { code: -32601, message: "Method not found" } });
    });
    const answer = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "pattern-screener-chart", title: "Pattern chart", version: VERSION },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    notify("ui/notifications/initialized");
    return answer;
  }

  return { connect, notify, request };
})();
