"""The experiments of the storage that is served: each loaded once, and anew when its journal is another one."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from mobai.errors import FileReplacedError, HistoryChangedError, InputError, NotFoundError, StorageError
from mobai.live.experiment import Experiment
from mobai.live.storage import open_journal
from mobai.store.journal import Journal
from mobai.store.sql import SqlJournal

_log = logging.getLogger(__name__)

Result = TypeVar("Result")

_MOST_LOADED = 256
REPLACED = (
    "the file of the storage was replaced under the service; nothing is read or written until the service is started "
    "again"
)


class OpenExperiments:
    """Experiments by name. Its methods may be called from any thread."""

    def __init__(self, storage: str | Journal, *, create: bool = True) -> None:
        self.storage, self._create = storage, create
        self._journal: Journal | None = None
        self._replaced = False
        self._file_id: tuple[int, int] | None = None
        self._loaded: OrderedDict[str, Experiment] = OrderedDict()
        self._loading: dict[str, threading.Lock] = {}
        self._lock = threading.RLock()

    @property
    def journal(self) -> Journal:
        """The journal, opened when it is first needed, and again after it was another one.

        It is made the first time only: one that is gone later must not be replaced by an empty one. Where the file of
        a database was replaced, whoever did so says whether it is to be served: by starting the service again.
        """
        with self._lock:
            if self._replaced:
                raise FileReplacedError(REPLACED)
            if self._journal is None:
                try:
                    self._journal = open_journal(self.storage, create=self._create)
                except InputError as error:
                    raise StorageError(f"the storage is gone: {error}") from None
                self._create = False
                self._check_file(self._journal)
            return self._journal

    def _check_file(self, journal: Journal) -> None:
        """Refuse another file than the one that was served at first: it came while the first one was away."""
        found = journal.file_id if isinstance(journal, SqlJournal) else None
        self._file_id = self._file_id or found
        if found != self._file_id:
            self._journal, self._replaced = None, True
            _log.warning("the file of the storage is another one than before; refusing everything until a restart")
            raise FileReplacedError(REPLACED)

    def watch(self) -> None:
        """Notice a file that was replaced though nobody asks for anything."""
        with self._lock:
            journal = self._journal
        if journal is not None:
            try:
                journal.check()
            except HistoryChangedError as error:
                self.note("the storage", error)

    def names(self) -> list[str]:
        """Return the names of all experiments, in the order of their creation."""

        def look() -> list[str]:
            return self.journal.names()

        return self.retried(look)

    def get(self, name: str) -> Experiment:
        """Return an experiment, loaded now or before; NotFoundError if there is none."""
        with self._lock:
            known = self._loaded.get(name)
            if known is not None:
                self._loaded.move_to_end(name)
                return known
            loading = self._loading.setdefault(name, threading.Lock())
        try:
            with loading:  # one thread loads it; others need not wait for it
                with self._lock:
                    known = self._loaded.get(name)
                if known is None:
                    known = Experiment.load(self.journal, name)
                    self.add(known)
        finally:
            with self._lock:
                self._loading.pop(name, None)
        return known

    def is_loaded(self, name: str) -> bool:
        """Whether :meth:`get` returns at once."""
        return name in self._loaded

    def add(self, experiment: Experiment) -> None:
        """Take in one that was just created or loaded."""
        with self._lock:
            self._loaded[experiment.name] = experiment
            while len(self._loaded) > _MOST_LOADED:
                self._loaded.popitem(last=False)

    def note(self, name: str, error: Exception) -> None:
        """Forget what an error says is no longer there: the next call loads it anew."""
        with self._lock:
            if isinstance(error, NotFoundError):
                self._loaded.pop(name, None)
            elif isinstance(error, HistoryChangedError):
                known, self._replaced = self._replaced, self._replaced or isinstance(error, FileReplacedError)
                then = "refusing everything until the service is started again" if self._replaced else "loading anew"
                if not known:
                    _log.warning("%s: %s; %s", name, str(error).partition("; ")[0], then)
                self._loaded.clear()
                self._journal = None

    def read(self, name: str, look: Callable[[Experiment], Result]) -> Result:
        """Return what somebody reads off an experiment; loaded once more if its journal was replaced."""
        return self.retried(lambda: look(self.get(name)), name)

    def retried(self, action: Callable[[], Result], name: str = "") -> Result:
        """Do it again once if the journal is another one now: nothing was written."""
        try:
            return action()
        except (HistoryChangedError, NotFoundError) as error:
            self.note(name, error)
            if isinstance(error, NotFoundError):
                raise
        return action()

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            self._loaded.clear()
            if self._journal is not None:
                self._journal.close()
