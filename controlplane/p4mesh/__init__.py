"""P4Mesh: a network tester made from a programmable switch.

Dependencies point one way: ``cli -> methods -> trial -> target -> p4runtime``; ``store`` and
``report`` see results only.
"""

__version__ = "0.1.0"
