"""What the package raises."""


class Error(Exception):
    """The class of all errors of this package.

    Attributes:
        path: Where the cause is: a place in the argument, as ``argument.clients[3].x``, or in the computation, as
            ``client 3``. ``None`` where the whole is meant.
        expected: What was expected there, or ``None``.
        found: What was found there, or ``None``.
    """

    def __init__(self, message="", *, path=None, expected=None, found=None):
        super().__init__(message)
        self.path = path
        self.expected = expected
        self.found = found


class MismatchError(Error, TypeError):
    """A value is not of the type that is needed, or the numbers of clients disagree."""


class ComputationError(Error, ValueError):
    """A computation, a type or a form is malformed or not valid."""


class CompileError(Error, ValueError):
    """A computation cannot be compiled to what is asked for."""


class LibraryError(Error, ImportError):
    """A native library or a package is missing or unusable; the message says what to install."""


class RunError(Error, RuntimeError):
    """A computation failed while it ran."""


class DeadlineError(RunError, TimeoutError):
    """A call took longer than its ``timeout``."""
