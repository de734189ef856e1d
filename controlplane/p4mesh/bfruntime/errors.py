"""Errors of the BF Runtime client.

::

    TargetError
    └── BfRuntimeError            something went wrong between the controller and the switch
        ├── BfConnectError        no server, or it went away
        ├── BfProgramError        the switch does not run the program that the controller knows
        ├── BfSchemaError         a name or value does not exist in bfrt.json
        └── BfRefusedError        the server refused a write or a read; the message names the first table
"""

from __future__ import annotations

from p4mesh.errors import TargetError


class BfRuntimeError(TargetError):
    """Something went wrong between the controller and the switch."""


class BfConnectError(BfRuntimeError):
    """There is no BF Runtime server at the address, or it went away."""


class BfTimeoutError(BfConnectError):
    """The server has not answered a request in time; what it has done of it is not known."""


class BfProgramError(BfRuntimeError):
    """The switch runs no program of the given name, or another one than the controller knows."""


class BfSchemaError(BfRuntimeError):
    """A table, field or action does not exist in bfrt.json, or a value does not fit it."""


class BfRefusedError(BfRuntimeError):
    """The server refused some elements of a request."""
