// Server-sent events (WHATWG HTML, section 9.2) by fetch, since EventSource sends no Authorization.
import { request } from "/token.js";

/** Takes the text of a stream apart into events, `{ name, data }`, wherever it was cut on its way. */
export function parser(take) {
  let rest = "", name = "", data = [];
  function line(text) {
    if (text === "") {
      if (data.length > 0) take({ name: name || "message", data: data.join("\n") });
      name = "";
      data = [];
      return;
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(text);
    if (field === "event") name = value ?? "";
    if (field === "data") data.push(value ?? "");
  }
  return (text) => {
    rest += text;
    let from = 0;
    // A carriage return at the end may be half of a line's end.
    for (const end of rest.matchAll(/\r\n|\n|\r(?!$)/g)) {
      line(rest.slice(from, end.index));
      from = end.index + end[0].length;
    }
    rest = rest.slice(from);
  };
}

/** Pauses before a stream that broke off is asked for again, in milliseconds. */
const PAUSES = [500, 1000, 2000, 5000];

/**
 * Follows a stream of events until `close` is called. `event` gets each, `open` is called when it begins, `lost` when
 * it breaks off, with a sentence; `refused` when the server does not know the token, which ends it. A page that is not
 * shown has no stream: browsers open few connections to a server, and other tabs need them.
 */
export function follow(path, { event, open, lost, refused }) {
  let reading = null;
  let failures = 0;
  let timer = 0;
  let closed = false;

  async function read() {
    const mine = new AbortController();
    reading = mine;
    try {
      const reply = await request(path, { headers: { Accept: "text/event-stream" }, signal: mine.signal });
      if (reply.status === 401) {
        close();
        return refused();
      }
      if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).error ?? `status ${reply.status}`);
      failures = 0;
      open();
      const feed = parser(event);
      const texts = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await texts.read(); !piece.done; piece = await texts.read()) feed(piece.value);
      throw new Error("farfield does not answer");
    } catch (error) {
      if (mine.signal.aborted || closed) return;
      reading = null;
      lost(error instanceof TypeError ? "farfield does not answer" : error.message);
      timer = setTimeout(read, PAUSES[Math.min(failures++, PAUSES.length - 1)]);
    }
  }
  function stop() {
    clearTimeout(timer);
    reading?.abort();
    reading = null;
  }
  function shown() {
    stop();
    if (document.visibilityState === "visible") read();
  }
  function close() {
    closed = true;
    stop();
    document.removeEventListener("visibilitychange", shown);
  }
  document.addEventListener("visibilitychange", shown);
  shown();
  return { close };
}
