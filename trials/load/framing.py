"""Where an HTTP answer's head, body and end are in its bytes, however they are cut: httptools' one door."""

import httptools

NOT_HTTP = (httptools.HttpParserError, httptools.HttpParserUpgrade)
"""What `feed` raises at bytes that are no answer to a plain request, or come after the end of one."""
FINAL = 200  # the lowest status that is not interim


class Framing:
    """
    The head and the end of one answer; interim ones before it (HTTP 1xx) are skipped.

    Attributes:
        status: HTTP's, or None before the head is whole.
        whole: Whether the end has come; it never does where the connection's end is the answer's.
        keep_alive: Whether the server says that the connection may be used again; known at the end.
        feed: Takes the next bytes.
    """

    def __init__(self) -> None:
        """Begin before the head."""
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.whole = self.keep_alive = False
        self._parser = httptools.HttpResponseParser(self)
        self.feed = self._parser.feed_data

    @property
    def ends_with_connection(self) -> bool:
        """Whether the head leaves the end of the body to the end of the connection."""
        delimiters = {b"content-length", b"transfer-encoding"}
        return self.status is not None and delimiters.isdisjoint(name.lower() for name, _ in self.headers)

    def on_message_begin(self) -> None:
        """Refuse what comes after the end (called by the parser, which would take it for the next answer)."""
        if self.whole:
            raise ValueError("the answer has ended")
        self.headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header (called by the parser)."""
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Note that the head is whole (called by the parser)."""
        if (status := self._parser.get_status_code()) >= FINAL:
            self.status = status

    def on_message_complete(self) -> None:
        """Note that the answer is whole (called by the parser)."""
        if self.status is not None:
            self.whole = True
            self.keep_alive = self._parser.should_keep_alive()


class Body(Framing):
    """
    A framing that keeps the body too.

    Attributes:
        stamp_ns: When what is fed next came.
        between_chunks: Whether a chunk of the body has ended and no other was seen to begin.
    """

    def __init__(self) -> None:
        """Begin before the head."""
        super().__init__()
        self.stamp_ns = 0
        self.between_chunks = False
        self._parts: list[tuple[int, bytes]] = []

    def on_chunk_header(self) -> None:
        """Note that a chunk has begun (called by the parser)."""
        self.between_chunks = False

    def on_chunk_complete(self) -> None:
        """Note that a chunk has ended (called by the parser)."""
        self.between_chunks = True

    def on_body(self, part: bytes) -> None:
        """Keep a part (called by the parser)."""
        self._parts.append((self.stamp_ns, part))

    def taken(self) -> list[tuple[int, bytes]]:
        """Hand over the parts of the body that were fed since the last time, each with its stamp."""
        parts, self._parts = self._parts, []
        return parts
