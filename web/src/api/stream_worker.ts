import { browser, Hub, type Said, type Told } from "./hub";
import { Notifier } from "./notifier";

// Owns the one stream of a browser. With one per tab, the seventh tab of a browser would hang over HTTP/1.1.
const worker = self as unknown as { onconnect: (event: MessageEvent) => void };
const hub = new Hub(browser);
const notifier = new Notifier();

worker.onconnect = ({ ports: [port] }) => {
  if (!port) return;
  const tell = (told: Told) => port.postMessage(told);
  port.onmessage = ({ data: said }: MessageEvent<Said>) => {
    if (said.kind === "hello") {
      notifier.follow(hub);
      hub.listen(tell);
    } else if (said.kind === "bye") {
      hub.leave(tell);
    } else if (said.kind === "user") {
      notifier.user = said.user;
    } else {
      hub.restart();
    }
  };
};
