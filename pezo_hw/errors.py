"""The ways in which a command ends early."""


class PezoError(Exception):
    """Bad input: configuration, file, option or missing tool.

    The message is one line that says what must hold, what was given, where, and what to do.
    The command line prints it and exits with 2.
    """


class CheckFailed(Exception):
    """A check ran and found a fault: simulation differs from golden, a figure past its limit.

    The command line prints the message and exits with 1.
    """


class Interrupted(KeyboardInterrupt):
    """The user ended a long command (Ctrl-C), which says how far it came.

    The command line prints the message and exits with 130.
    """


class PezoWarning(UserWarning):
    """What is legal but weak, with a better choice.

    The command line prints it and goes on.
    """
