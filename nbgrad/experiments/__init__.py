"""Small, complete trainings to run, read and change: ``digits`` and ``moons``.

Each is a plain function, ``train``, that returns a :class:`~nbgrad.experiments.history.History`;
``nbgrad run NAME`` is the same from the command line. They need the extra dependencies of
``pip install "nbgrad[experiments]"``.
"""
