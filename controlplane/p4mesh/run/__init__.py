"""Runs tests: sessions, worker processes, journal and resume.

Owns: what is measured where and in which order, and that every finished trial is on disk before the next one starts.
Refuses: printing.
"""
