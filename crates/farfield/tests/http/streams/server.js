// A server of events as people write it in Node: 30 events a stream, 5 ms apart. Every fifth stream pauses for
// 700 ms before its sixteenth event. It logs, for each stream, how many events it wrote, and its pause in ms.
const http = require('http');
const fs = require('fs');
const [port, log] = process.argv.slice(2);
let streams = 0;

http.createServer((request, response) => {
  const pause = streams++ % 5 == 4 ? 700 : 0;
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  response.write(': welcome\n\n');
  let sent = 0;
  const next = () => {
    if (response.destroyed) return;
    response.write(`event: token\ndata: {"index": ${sent}}\n\n`);
    sent += 1;
    if (sent == 30) {
      fs.appendFileSync(log, `${sent} ${pause}\n`);
      return response.end();
    }
    setTimeout(next, sent == 15 && pause ? pause : 5);
  };
  next();
}).listen(port, '127.0.0.1');
