"""Quotients of sizes that do not divide each other."""


class Quotient(str):
    """The name of a quotient of sizes, which is its formula."""

    __slots__ = ("dividend", "divisor")
    dividend: int
    divisor: int

    def __new__(cls, dividend: int, divisor: int) -> "Quotient":
        name = super().__new__(cls, f"({dividend} // {divisor})")
        name.dividend, name.divisor = dividend, divisor
        return name
