"""Errors of the library."""


class FormatError(ValueError):
    """The file does not contain an array that can be used: says which and why.

    `filename` and `member` name the file and the member of an archive, or are None.
    `kind` is the library's name of the category, such as `"Truncated"`, `"Corrupt"`,
    `"Unsupported"`, `"LimitExceeded"` or `"Changed"`.
    """

    def __init__(self, message, filename=None, member=None, kind="Corrupt"):
        super().__init__(message)
        self.filename = filename
        self.member = member
        self.kind = kind

    def __reduce__(self):
        return type(self), (self.args[0], self.filename, self.member, self.kind)
