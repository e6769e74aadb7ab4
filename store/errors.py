"""What the store refuses, each with one sentence that says what to do next."""

from __future__ import annotations


class StoreError(Exception):
    """Anything the store cannot do; its text is for the operator."""


class ManifestError(StoreError):
    """A manifest is missing, unreadable, or names something else than what is there."""


class BookError(StoreError):
    """A book is damaged, incomplete or of another schema."""


class PublishError(StoreError):
    """A night did not pass its gates and was not published."""


class HeldBackError(PublishError):
    """A sound night fell so far behind the one before it that a person should look first."""


class SealedError(StoreError):
    """The night is sealed already: nothing that shapes it has changed."""


class BusyError(StoreError):
    """Another process is writing in the data folder."""


class DatabaseError(StoreError):
    """The account database cannot be opened, is of another version, or refuses a statement."""


class DatabaseUnavailableError(DatabaseError):
    """The account database did not answer in time; trying again is right."""


class AccountError(StoreError):
    """An account or a key is unknown, taken or unusable."""


class WeakPasswordError(StoreError):
    """A password is too short or too long."""


class StalePasswordError(StoreError):
    """A password was changed, or its account silenced, while it was being proven."""


class UnknownClientError(StoreError):
    """An app is not, or no longer, registered."""
