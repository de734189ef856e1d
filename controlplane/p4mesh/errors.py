"""Every error that a user can meet, as one tree.

::

    P4MeshError                    exit 4 (a bug, when raised as such)
    ├── UsageError                 exit 2: what the user wrote cannot be used
    │   ├── UnknownTestError       no such test; lists the tests
    │   ├── ParameterError         unknown parameter, wrong type, out of range
    │   ├── TopologyError          missing, malformed or unsuitable topology
    │   ├── TrafficFileError       missing or malformed traffic file, or one that the topology cannot carry
    │   ├── OtgError               a request of the Open Traffic Generator API that P4Mesh cannot do
    │   │   └── OtgBusyError       another client has the session in use
    │   ├── RunFileError           missing or malformed run file, or one that a test cannot satisfy
    │   ├── LabFileError           missing or malformed containerlab file, or one without a tester with two ports
    │   ├── XenaFileError          missing or malformed configuration of Xena's RFC 2889 programs
    │   ├── CalibrationError       missing or damaged calibration file, or one that does not fit the run
    │   └── RunDirectoryError      the output directory belongs to something else
    ├── EnvironmentFault           exit 3: the machine or the target cannot do it
    │   ├── ProgramError           compiled P4 program missing or stale
    │   ├── EngineMissingError     the extension module p4mesh._engine is not built
    │   ├── TargetError            the target refused, failed or went away
    │   │   └── RightsError        a network needs rights that this process does not have
    │   ├── HookError              a command of the user's failed
    │   ├── StorageError           a disk that is full, a directory that must not be written to
    │   └── UnsupportedError       "not supported on TARGET", never a silent fallback
    │       └── LoopOverloadError  streams faster than the recirculation loop; a load not delivered in software
    └── InternalError              exit 4: a broken invariant of our own

A message says what is wrong and where; ``hint`` says what is valid or what to do next. The command
line prints both on stderr and exits with ``exit_code``; a traceback appears only with ``--debug``.
A test that ran and failed is not an error: the command exits with ``EXIT_TEST_FAILED``.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_TEST_FAILED = 1
EXIT_USAGE = 2
EXIT_ENVIRONMENT = 3
EXIT_BUG = 4

_LONGEST_BEGIN, _LONGEST_END = 1200, 400
"""Characters of a message: what a user wrote is a part of it, and can be a whole file."""


class P4MeshError(Exception):
    """Root of the tree: one message, one hint, one exit code."""

    exit_code: int = EXIT_BUG

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _shown(message)
        super().__init__(self.message)
        self.hint = _shown(hint)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the hint when the error crosses a process boundary."""
        return (_rebuild, (type(self), self.message, self.hint))

    def render(self) -> str:
        """The text for stderr, without a trailing newline."""
        text = f"error: {self.message}"
        return f"{text}\n hint: {self.hint}" if self.hint else text


def _shown(text: str) -> str:
    """Text of bounded length that no terminal takes for a command."""
    if len(text) > _LONGEST_BEGIN + _LONGEST_END:
        text = f"{text[:_LONGEST_BEGIN]} ... {text[-_LONGEST_END:]}"
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def _rebuild(kind: type[P4MeshError], message: str, hint: str) -> P4MeshError:
    return kind(message, hint=hint)


class UsageError(P4MeshError):
    """The user's input cannot be used."""

    exit_code = EXIT_USAGE


class UnknownTestError(UsageError):
    """No test has this name."""


class ParameterError(UsageError):
    """A test parameter is unknown, has the wrong type or is out of its range."""


class TopologyError(UsageError):
    """A topology file is missing, malformed or cannot carry the test."""


class TrafficFileError(UsageError):
    """A traffic file is missing, malformed, or asks for what the ports or the tester cannot do."""


class OtgError(UsageError):
    """A request of the Open Traffic Generator API asks for what the tester does not have, or in the wrong state."""


class OtgBusyError(OtgError):
    """Another client of the Open Traffic Generator API has the session in use."""

    free_in_s = 0.0
    """Time after which it is free, unless that client asks for something."""


class RunFileError(UsageError):
    """A run file is missing, malformed, or asks for what a test does not have."""


class LabFileError(UsageError):
    """A containerlab file is missing, malformed or has no usable tester, or a file of its set-up exists already."""


class XenaFileError(UsageError):
    """A file is not a configuration of Xena's RFC 2889 programs, or what is made of it would overwrite another file."""


class CalibrationError(UsageError):
    """A calibration file is missing, damaged, contradicts a measurement, or does not fit the run."""


class RunDirectoryError(UsageError):
    """The output directory holds something that must not be overwritten."""


class EnvironmentFault(P4MeshError):
    """The machine or the target cannot do what was asked."""

    exit_code = EXIT_ENVIRONMENT


class ProgramError(EnvironmentFault):
    """The compiled P4 program is missing or does not match its sources."""


class EngineMissingError(EnvironmentFault):
    """The extension module is not built or does not load."""


class TargetError(EnvironmentFault):
    """The target refused a request, failed or went away."""


class RightsError(TargetError):
    """A network of Linux parts needs rights that this process does not have; namespaces of its own would give them."""


class HookError(EnvironmentFault):
    """A command of the user's, run to reset the device, failed or took too long."""


class StorageError(EnvironmentFault):
    """A file or directory of a run cannot be written: no room, no permission, no such name."""


class UnsupportedError(EnvironmentFault):
    """The target lacks a feature that the test needs."""


class LoopOverloadError(UnsupportedError):
    """The recirculation loop is too slow for the rates of the streams."""


class InternalError(P4MeshError):
    """An invariant of P4Mesh itself is broken."""
