"""The texts of errors without their codes."""

import re


def text_of(error: BaseException) -> str:
    """The message of an error without the code at its end."""
    return re.sub(r" \[NB-[A-Z]+\](?='?$)", "", str(error))
