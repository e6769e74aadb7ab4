"""Errors of the store. Each message is one sentence that says what to do next."""

from __future__ import annotations


class StoreError(Exception):
    """Base class of all errors of the store; the message is for the operator."""


class ManifestError(StoreError):
    """A manifest is missing or unreadable, or the files do not match it."""


class BookError(StoreError):
    """A book is damaged, incomplete or of another schema."""


class PublishError(StoreError):
    """A night did not pass its checks and was not published."""


class HeldBackError(PublishError):
    """A valid night covers or holds so much less than the last one that a person should look."""


class LedgerError(StoreError):
    """The ledger is not what was written, or cannot be written."""


class DamageError(LedgerError):
    """A file of the ledger is not as it was written; `what` says how."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__(
            f"{file} of the ledger: {what}. Restore it from a copy; `screener ledger verify` names "
            "all such files."
        )
        self.file = file
        self.what = what


class WithdrawnError(StoreError):
    """The night was withdrawn: it is not served or made again."""


class SealedError(StoreError):
    """The night is already sealed: nothing that shapes it has changed."""


class BusyError(StoreError):
    """Another process is writing in the data folder."""


class DatabaseError(StoreError):
    """The account database cannot be opened, is of another version, or refuses a statement."""


class DatabaseUnavailableError(DatabaseError):
    """The account database did not answer in time; trying again is right."""


class MissingTablesError(DatabaseError):
    """The account database has not the tables that it should have."""

    def __init__(self) -> None:
        super().__init__(
            "The account database lacks tables that its schema has: name another one in "
            "SCREENER_DATABASE_URL, or restore a backup (docs/upkeep.md)."
        )


class DatabaseMovedError(DatabaseUnavailableError):
    """The accounts were copied to another database, and this one was closed."""

    def __init__(self) -> None:
        super().__init__(
            "The accounts have moved to another database: name that one in SCREENER_DATABASE_URL "
            "and restart; or take this one back with `screener db reopen`."
        )


class AccountError(StoreError):
    """An account or a key is unknown, taken or unusable."""


class WeakPasswordError(StoreError):
    """A password is too short or too long."""


class PasswordsBusyError(StoreError):
    """So many passwords are being hashed that another one finds no place to wait."""


class StalePasswordError(StoreError):
    """A password was changed, or its account deactivated, while it was being verified."""


class SignedOutError(StoreError):
    """The session has ended meanwhile, or its password was given too long ago."""

    def __init__(self) -> None:
        super().__init__("You have been signed out. Sign in and try again.")


class UnknownClientError(StoreError):
    """An app is not registered, or no longer registered."""


class TooManyError(StoreError):
    """An account holds as many live keys or apps as it may."""


class TooOftenError(StoreError):
    """An account did something as often as it may within an hour."""

    def __init__(self, wait: int) -> None:
        super().__init__(
            f"This is as often as allowed within an hour. Wait {-(-wait // 60)} min and try again."
        )
        self.wait = wait
        """Seconds until it may do it again."""


class UsedFormError(StoreError):
    """A form that works once was used already."""


class BackupError(StoreError):
    """A backup cannot be made, or a file is not a backup that can be restored."""


class ObjectsError(StoreError):
    """The object store does not answer, or refuses what was asked."""


class ConflictError(ObjectsError):
    """Another writer replaced the object meanwhile."""


class OvertakenError(StoreError):
    """Another machine published while this one worked; nothing of this one was published."""
