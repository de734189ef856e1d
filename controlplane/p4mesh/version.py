"""The version of P4Mesh."""

__version__ = "0.1.0"
