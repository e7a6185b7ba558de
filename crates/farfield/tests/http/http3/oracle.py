"""Somebody else's HTTP/3, by aioquic: answers by the path that is asked for, some of them as no server should.

Arguments: the port, the certificate and its key. Prints `ready`, and a line for each request.
"""

import asyncio
import os
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import FrameType, H3Connection, encode_frame
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

OK = [(b":status", b"200")]


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for of_http in self.http.handle_event(event):
            if isinstance(of_http, HeadersReceived):
                self.answer(of_http.stream_id, dict(of_http.headers)[b":path"].decode())

    def reply(self, stream, headers=OK, body=b"x" * 4096):
        self.http.send_headers(stream, headers)
        self.http.send_data(stream, body, end_stream=True)
        self.transmit()

    def raw(self, stream, kind, body):
        """A frame that the library has no call for."""
        self._quic.send_stream_data(stream, encode_frame(kind, body))

    def answer(self, stream, path):
        print(path, flush=True)
        control = self.http._local_control_stream_id
        match path:
            case "/goaway":
                # What is asked behind this one is not processed.
                self.raw(control, FrameType.GOAWAY, encode_uint_var(stream + 4))
                self.reply(stream)
            case "/reset":
                # As a server that was started again: it knows the connection's token and nothing else.
                token = self._quic._host_cids[0].stateless_reset_token
                datagram = b"\x40" + os.urandom(40) + token
                self._transport.sendto(datagram, self._quic._network_paths[0].addr)
            case "/endless":
                self.http.send_headers(stream, OK)
                asyncio.ensure_future(self.go_on(stream))
            case "/bomb":
                self.reply(stream, OK + [(b"x-%d" % nth, b"y" * 1000) for nth in range(100)])
            case "/reserved":
                # Types that are to be passed over (RFC 9114, 7.2.8 and 6.2.3), on streams of their own as well.
                self.raw(control, 0x21, b"anything")
                self.raw(stream, 0x1F * 7 + 0x21, b"something")
                other = self._quic.get_next_available_stream_id(is_unidirectional=True)
                self._quic.send_stream_data(other, encode_uint_var(0x1F * 9 + 0x21) + b"nothing", end_stream=True)
                self.reply(stream)
            case "/interim":
                # Two heads that are not final, and trailers behind the body. The library sends no interim heads.
                for status in (b"103", b"100"):
                    encoded = self.http._encode_headers(stream, [(b":status", status), (b"link", b"</a>")])
                    self.raw(stream, FrameType.HEADERS, encoded)
                self.http.send_headers(stream, OK)
                self.http.send_data(stream, b"x" * 4096, end_stream=False)
                self.http.send_headers(stream, [(b"x-trailer", b"1")], end_stream=True)
                self.transmit()
            case "/settings-twice":
                self.raw(control, FrameType.SETTINGS, b"")
                self.reply(stream)
            case "/too-many-streams":
                # More than the client allows (RFC 9000, 4.6).
                self._quic._remote_max_streams_uni = 1000
                for _ in range(40):
                    other = self._quic.get_next_available_stream_id(is_unidirectional=True)
                    self._quic.send_stream_data(other, encode_uint_var(0x21))
            case "/wrong-length":
                self.reply(stream, OK + [(b"content-length", b"5000")])
            case _:
                self.reply(stream)
        self.transmit()

    async def go_on(self, stream):
        while True:
            self.http.send_data(stream, b"x", end_stream=False)
            self.transmit()
            await asyncio.sleep(0.02)


async def main(port, certificate, key):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificate, key)
    await serve("127.0.0.1", port, configuration=configuration, create_protocol=Server)
    print("ready", flush=True)
    await asyncio.Future()


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
