"""The command line in this process."""

import pytest

from nbgrad import cli


@pytest.fixture
def run(capsys):
    """Runs the command line; gives the exit code, the lines of stdout and those of stderr."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err.splitlines()

    return run
