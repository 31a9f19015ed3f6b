"""What a row of the table of bad inputs says, and what it is run with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolkit import Said, command


@dataclass(frozen=True)
class Case:
    """What a row runs with: an empty current folder, and pytest's fixtures for what needs them."""

    folder: Path
    request: pytest.FixtureRequest

    def run(self, *words: object) -> Said:
        """Run ``forecast ...`` in this process and return its exit code, its output and its errors."""
        return command()(self.request.getfixturevalue("capsys"), *map(str, words))


@dataclass(frozen=True)
class Row:
    """A bad input and what must happen.

    Attributes
    ----------
    number : int
        Several rows may hold one number: each is a part of what it asks.
    input : str
        What is bad about it, in some words; they name the test.
    files : mapping
        Text or bytes of the files that stand in the folder beforehand, by name.
    command : tuple
        The words after ``forecast``; or
    call : callable
        what is done in Python instead, with a `Case`.
    exit_code : int
        Of the command. With 1 or 2 stdout is empty and stderr one line.
    raises : type, optional
        What the call raises; nothing by default.
    names : tuple of str
        What the message, or else the output, must contain.
    after : mapping
        What must be true of files afterwards: their exact text or bytes, or None of one that must not exist.
    holds : callable, optional
        What else must hold, asserted with the `Case` and what came back (`Said`, the exception, or the result).
    slow : bool
        Whether it is of the slow tier; a row of the same number beside it is not.
    """

    number: int
    input: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    command: tuple[object, ...] = ()
    call: Callable[[Case], Any] | None = None
    exit_code: int = 0
    raises: type[BaseException] | None = None
    names: tuple[str, ...] = ()
    after: Mapping[str, str | bytes | None] = field(default_factory=dict)
    holds: Callable[[Case, Any], object] | None = None
    slow: bool = False

    def __post_init__(self) -> None:
        if (self.call is None) == (not self.command):
            raise TypeError(f"{self.number}, {self.input}: expected a command or a call")
        promised = self.exit_code or self.raises or self.names or self.after or self.holds
        if self.command and not promised:  # a call asserts what it is about
            raise TypeError(f"{self.number}, {self.input}: nothing is asked of it")
