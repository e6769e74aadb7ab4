// A host page on AppBridge, the host side of the extension by its authors.

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const seen = { sizes: [], links: [], app: null };
let bridge;

window.host = {
  seen,
  async open(frame, hostContext) {
    bridge = new AppBridge(null, { name: "official", version: "1" }, { openLinks: {} }, { hostContext });
    const ready = new Promise((resolve) => { bridge.oninitialized = resolve; });
    bridge.onsizechange = (size) => { seen.sizes.push(size); };
    bridge.onopenlink = async ({ url }) => { seen.links.push(url); return {}; };
    bridge.onrequestdisplaymode = async ({ mode }) => ({ mode });
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    frame.src = "/app";
    await ready;
    seen.app = bridge.getAppVersion();
  },
  input: (args) => bridge.sendToolInput({ arguments: args }),
  result: (result) => bridge.sendToolResult(result),
  cancel: (reason) => bridge.sendToolCancelled({ reason }),
  context: (change) => bridge.sendHostContextChange(change),
  teardown: () => bridge.teardownResource({}),
};
