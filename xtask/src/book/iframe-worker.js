// Workers of pages that are opened from files, which browsers refuse to start: the search's script runs in a
// hidden frame instead, and is spoken to as a worker is.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      const kept = [];
      this.say = (data) => kept.push(data);
      const page = `<script>
        window.importScripts = (...scripts) => scripts.reduce((done, script) => done.then(() => new Promise((loaded) => {
          const tag = document.createElement("script");
          tag.src = script; tag.onload = tag.onerror = loaded; document.body.append(tag);
        })), Promise.resolve());
        window.postMessage = (data) => parent.dispatchEvent(new MessageEvent("worker:" + name, { data }));
        </script><body><script src="${script}"></script>`;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.name = "worker-" + Math.random().toString(36).slice(2);
      addEventListener("worker:" + frame.name, (event) => {
        const answer = new MessageEvent("message", { data: event.data });
        this.onmessage?.(answer);
        this.dispatchEvent(answer);
      });
      frame.addEventListener("load", () => {
        const inside = frame.contentWindow;
        this.say = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        kept.splice(0).forEach(this.say);
      });
      frame.srcdoc = page;
      const append = () => document.body.append(frame);
      document.body ? append() : addEventListener("DOMContentLoaded", append);
    }
    postMessage(data) {
      this.say(data);
    }
    terminate() {}
  };
}
