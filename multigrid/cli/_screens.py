"""Standard output and error, which end no command: whatever they cannot show, its files are written."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

# What replaces a character that the encoding lacks, by the first of these words in the character's name.
_WORDS = "AND + VERTICAL | DRAWINGS - BLOCK # SHADE # BRAILLE * BULLET * DASH - HYPHEN - MINUS - MULTIPLICATION x"
_WORDS += " PLUS-MINUS +- ELLIPSIS ... RIGHTWARDS -> LEFTWARDS <- MIDDLE . QUOTATION '"
_IN_ASCII = dict(zip(_WORDS.split()[::2], _WORDS.split()[1::2], strict=True))


def _replace(error: Any) -> tuple[str | bytes, int]:
    """Return what replaces the first character that cannot be encoded; bytes of a path that are not text stay."""
    character, end = error.object[error.start], error.start + 1
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), end
    words = unicodedata.name(character, "").split()
    plain = next((plain for word, plain in _IN_ASCII.items() if word in words), None)
    return plain or character.encode("ascii", "backslashreplace"), end


class _Screen(io.FileIO):
    """A file that takes everything: what cannot be written, and all that follows, is dropped, and the error kept."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return len(data)


@contextlib.contextmanager
def show_all(program: str) -> Iterator[None]:
    """In a ``with`` block, standard output and error raise nothing, in any encoding, on a full disk, or in a pipe.

    At the end, an error of standard output is reported in one line, and raises SystemExit with 1; except for a pipe
    whose reader has seen enough.
    """
    codecs.register_error("multigrid", _replace)
    # A bar of compilations is shown if the last two are the same.
    before: dict[str, Any] = {name: getattr(sys, name) for name in ("stdout", "stderr", "__stderr__")}
    screens = {stream: _Screen(stream.fileno(), "w", closefd=False) for stream in before.values() if _is_file(stream)}
    # Without a stream, as after ``>&-``, what is written goes nowhere.
    after: dict[Any, Any] = {None: io.StringIO()}
    for stream, screen in screens.items():
        stream.flush()
        is_fast = stream.line_buffering or stream.write_through
        form: dict[str, Any] = {"encoding": stream.encoding, "errors": "multigrid", "line_buffering": is_fast}
        after[stream] = io.TextIOWrapper(io.BufferedWriter(screen), **form)
    try:
        for name, stream in before.items():
            setattr(sys, name, after.get(stream, stream))
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)
        for stream in after.values():
            stream.flush()
        failure = getattr(screens.get(before["stdout"]), "error", None)
        if failure is not None and not isinstance(failure, BrokenPipeError):
            with contextlib.suppress(OSError):
                sys.stderr.write(f"{program}: standard output cannot be written: {failure.strerror}\n")
            raise SystemExit(1)


def _is_file(stream: Any) -> bool:
    """Return whether a stream is a file, a pipe or a terminal, and not that of a notebook, or of Windows' console."""
    return type(stream) is io.TextIOWrapper and isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO)
