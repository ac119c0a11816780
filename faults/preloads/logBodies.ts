import { subscribe } from "node:diagnostics_channel";
import { IncomingMessage } from "node:http";
import { isMainThread } from "node:worker_threads";

// For a control that must fail: what is sent is printed, headers and bodies.
if (isMainThread) {
  subscribe("http.server.request.start", (message) => {
    const { url, rawHeaders } = (message as { request: IncomingMessage }).request;
    console.log(url, rawHeaders.join(" "));
  });
  const { push } = IncomingMessage.prototype;
  IncomingMessage.prototype.push = function (chunk, encoding) {
    if (chunk) console.log(String(chunk));
    return push.call(this, chunk, encoding);
  };
}
