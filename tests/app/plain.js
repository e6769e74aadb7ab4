// A host page in a few lines: what the extension asks of a host, and nothing else.

(() => {
  const seen = { sizes: [], links: [], app: null };
  const waiting = new Map();
  let view, context, count = 0;

  const post = (message) => view.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params) => post({ method, params });
  const ask = (method, params) => {
    post({ id: `h${++count}`, method, params });
    return new Promise((resolve) => waiting.set(`h${count}`, resolve));
  };
  const answers = {
    "ui/initialize": ({ appInfo }) => {
      seen.app = appInfo;
      return {
        protocolVersion: "2026-01-26",
        hostInfo: { name: "plain", version: "1" },
        hostCapabilities: { openLinks: {} },
        hostContext: context,
      };
    },
    "ui/open-link": ({ url }) => { seen.links.push(url); return {}; },
    "ui/request-display-mode": ({ mode }) => ({ mode }),
  };

  window.host = {
    seen, ask,
    open(frame, hostContext) {
      view = frame.contentWindow;
      context = hostContext;
      return new Promise((ready) => {
        addEventListener("message", ({ source, data }) => {
          if (source !== view) return;
          if (data.method === "ui/notifications/initialized") ready();
          else if (data.method === "ui/notifications/size-changed") seen.sizes.push(data.params);
          else if (data.method) post({ id: data.id, result: answers[data.method](data.params) });
          else waiting.get(data.id)(data.result ?? data.error);
        });
        frame.src = "/app";
      });
    },
    input: (args) => notify("ui/notifications/tool-input", { arguments: args }),
    result: (result) => notify("ui/notifications/tool-result", result),
    cancel: (reason) => notify("ui/notifications/tool-cancelled", { reason }),
    context: (change) => notify("ui/notifications/host-context-changed", change),
    teardown: () => ask("ui/resource-teardown", {}),
  };
})();
