"""The two ways in which a command ends early."""


class PezoError(Exception):
    """Bad input: configuration, file, option or missing tool.

    The message is one line that says what must hold, what was given, where, and what to do.
    The command line prints it and exits with 2.
    """


class CheckFailed(Exception):
    """A check ran and found a fault: simulation differs from golden, a figure past its limit.

    The command line prints the message and exits with 1.
    """
