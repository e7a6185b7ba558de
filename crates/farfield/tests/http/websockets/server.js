// WebSockets as people serve them in Node, by the package ws: `server.js PORT LOG`. Each text comes back as it is,
// each message of bytes reversed and in three fragments; every tenth text of a connection is answered 400 ms later.
// LOG has a line for each message: the connection, its size, and the delay in ms.
const fs = require('fs');
const { WebSocketServer } = require('ws');
const [port, log] = process.argv.slice(2);
let connections = 0;

new WebSocketServer({ port, host: '127.0.0.1' }).on('connection', (socket) => {
  const own = connections++;
  let texts = 0;
  socket.on('message', (data, isBinary) => {
    const delay = !isBinary && ++texts % 10 == 0 ? 400 : 0;
    fs.appendFileSync(log, `${own} ${data.length} ${delay}\n`);
    if (isBinary) {
      const back = Buffer.from(data).reverse(), third = Math.floor(back.length / 3);
      socket.send(back.subarray(0, third), { fin: false, binary: true });
      socket.ping('within a message');
      socket.send(back.subarray(third, 2 * third), { fin: false, binary: true });
      socket.send(back.subarray(2 * third), { fin: true, binary: true });
    } else {
      setTimeout(() => socket.send(data.toString()), delay);
    }
  });
});
