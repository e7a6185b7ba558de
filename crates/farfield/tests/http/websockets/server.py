"""Serves WebSockets by wsproto: `server.py PORT LOG [CERTIFICATE KEY]`.

Paths: /chat has a login, echoes and broadcasts; /refuse answers 403; /plain answers 200; /liar answers another
key; /silent answers no message; /closes closes with 1008 at the second message; /masked sends what clients alone
may; /pings pings at each message. Each text that comes is a line in LOG: user, text, and when, in nanoseconds.
"""
import asyncio, json, ssl, sys, time

from wsproto import ConnectionType, WSConnection
from wsproto.events import (AcceptConnection, BytesMessage, CloseConnection, Ping, Pong, RejectConnection, Request,
                            TextMessage)

port, log = int(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
room = set()
REFUSED = {"/refuse": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
           "/plain": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
           "/liar": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"}


async def serve(reader, writer):
    ws, path, user, parts, count = WSConnection(ConnectionType.SERVER), "", "", [], 0
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return writer.close()
    path = head.split(b" ", 2)[1].decode().split("?")[0]
    if path in REFUSED:
        writer.write(REFUSED[path])
        await writer.drain()
        writer.close()
        return
    data = head
    try:
        while data:
            ws.receive_data(data)
            for event in ws.events():
                if isinstance(event, Request):
                    writer.write(ws.send(AcceptConnection()))
                    room.add((ws, writer))
                elif isinstance(event, (TextMessage, BytesMessage)):
                    parts.append(event.data)
                    if not event.message_finished:
                        continue
                    whole = ("" if isinstance(event, TextMessage) else b"").join(parts)
                    parts, count = [], count + 1
                    if isinstance(whole, bytes) or isinstance(whole, bytearray):
                        log.write(f"{user or '-'} bytes:{len(whole)} {time.time_ns()}\n")
                        writer.write(ws.send(BytesMessage(data=bytes(whole[::-1]))))
                        continue
                    log.write(f"{user or '-'} {whole.replace(' ', '_')} {time.time_ns()}\n")
                    user = answer(ws, writer, path, user, whole, count)
                elif isinstance(event, Pong):
                    log.write(f"{user or '-'} pong:{bytes(event.payload).decode().replace(' ', '_')} {time.time_ns()}\n")
                elif isinstance(event, Ping):
                    writer.write(ws.send(event.response()))
                elif isinstance(event, CloseConnection):
                    log.write(f"{user or '-'} close:{event.code} {time.time_ns()}\n")
                    writer.write(ws.send(event.response()))
                    writer.close()
                    return
            await writer.drain()
            data = await reader.read(65536)
    except Exception:
        pass
    finally:
        room.discard((ws, writer))
        writer.close()


def answer(ws, writer, path, user, text, count):
    send = lambda value: writer.write(ws.send(TextMessage(data=json.dumps(value))))
    if path == "/silent":
        return user
    if path == "/closes" and count > 1:
        writer.write(ws.send(CloseConnection(code=1008, reason="no more of that")))
        return user
    if path == "/masked":
        writer.write(b"\x81\x85\x00\x00\x00\x00hello")
        return user
    if path == "/pings":
        writer.write(ws.send(Ping(payload=b"are you there")))
    asked = json.loads(text)
    kind = asked.get("type")
    if kind == "login":
        user = asked["user"]
        send({"type": "noise"})
        send({"type": "welcome", "user": user, "token": f"t-{user}"})
        send({"type": "roster", "users": len(room)})
    elif kind == "say":
        if asked.get("token") != f"t-{user}":
            send({"type": "error"})
        else:
            delay = asked.get("delay", 0)
            asyncio.get_running_loop().call_later(
                delay, lambda: send({"type": "said", "text": asked["text"], "by": user}))
    elif kind == "all":
        for other, at in list(room):
            try:
                at.write(other.send(TextMessage(data=json.dumps({"type": "news", "by": user}))))
            except Exception:
                pass
    return user


async def main():
    context = None
    if len(sys.argv) > 4:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        # Whoever offers HTTP/2 would get it, and no WebSocket.
        context.set_alpn_protocols(["h2", "http/1.1"])
    server = await asyncio.start_server(serve, "0.0.0.0", port, ssl=context)
    async with server:
        await server.serve_forever()

asyncio.run(main())
