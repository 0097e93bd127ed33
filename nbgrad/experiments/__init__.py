"""Small, complete programs to run, read and change: trainings, descents, comparisons, pictures.

Each is a module of its own, whose ``run`` puts figures, tables and pictures on a
:class:`~nbgrad.experiments.sheet.Sheet`; :mod:`~nbgrad.experiments.catalogue` has a row for each,
with the figures that it should come out with. ``nbgrad run NAME`` runs one from the command line,
``nbgrad run all`` every one. They need the extra dependencies of
``pip install "nbgrad[experiments]"``.
"""
