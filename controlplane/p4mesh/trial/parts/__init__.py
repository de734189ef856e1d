"""The optional features of a trial, one file each, listed in :mod:`p4mesh.trial.parts.table`.

Owns: what a feature does in each phase, what it needs from the target, what it adds to the result. Refuses: the phases
themselves (:mod:`p4mesh.trial.engine`), and knowing of other features.
"""
