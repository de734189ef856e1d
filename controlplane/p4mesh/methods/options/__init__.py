"""Owns the settings of a test: parameters declared as data, and those that tests of several RFCs share.

Refuses: reading files or command lines.
"""
