"""Owns the reading of YAML files that users write: text to data with lines, and one message for what is wrong in them.

Refuses: knowing what is in a file. Topologies and traffic files bring their schema and their error.
"""
