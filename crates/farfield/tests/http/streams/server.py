"""A server of streams as people write it in Python, on threads: lines of JSON below /lines, a body in chunks below
/chunks, events without end below all else. Twenty parts are 10 ms apart; every third reply pauses for 800 ms in its
middle. It logs, for each reply that it wrote to its end, its pause in ms."""

import http.server
import itertools
import sys
import threading
import time

port, log = int(sys.argv[1]), sys.argv[2]
host = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
replies, lock = itertools.count(), threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with lock:
            pause = 0.8 if next(replies) % 3 == 2 else 0
        kind = {"/lines": "application/x-ndjson", "/chunks": "text/plain"}.get(self.path, "text/event-stream")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        parts = range(20) if kind != "text/event-stream" else itertools.count()
        try:
            for part in parts:
                self.part(f'{{"part": {part}}}\n' if kind == "application/x-ndjson" else f"data: {part}\n\n")
                time.sleep(pause if part == 9 and pause else 0.01)
            self.part("")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            return
        with lock, open(log, "a") as file:
            file.write(f"{int(pause * 1000)}\n")

    def part(self, text):
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer((host, port), Handler).serve_forever()
