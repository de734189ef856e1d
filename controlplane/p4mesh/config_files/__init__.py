"""Owns the reading of YAML files that users write: text to data with line numbers, and one message for a faulty file.

Refuses: knowing the content of a file. Topologies and traffic files bring their schema and their error.
"""
