"""Several processes that serve one gateway at one address. They are started, restarted, and stopped together.

Why not uvicorn's own supervisor, `Multiprocess`: a subclass would have to replace nearly all of it. At SIGHUP it
restarts the workers, which here read their settings again and keep their connections. It kills a worker that does not
answer a ping in time, and with it the open answers of a busy one. It has no hook for a worker that died, whose requests
and metrics must be forgotten. It waits for the workers without a limit, and a second signal does not hurry it. If it is
killed itself, its workers go on.
"""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from logging.config import dictConfig
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from starlette.applications import Starlette

from ..limits import Limits
from .quotas import forget_process
from .server import config_of, log_config, run
from .state import LocalState

__all__ = ["Make", "serve_in_workers"]

Make = Callable[[str], Starlette]
"""Makes the application. It gets the folder that the workers share (`app(shared=)`), and pickle must be able to send
it to another process."""

_MARGIN = 10.0
"""Seconds after `drain` in which a worker has to end by itself."""
_PAUSE = 1.0
"""Seconds from a worker's start to the start of the one that takes its place, at least."""

_SPAWN = multiprocessing.get_context("spawn")
log = logging.getLogger("harmonystream.gateway")


class _Worker(NamedTuple):
    """A worker process. ready: gets a message once the worker answers requests."""

    process: Any
    ready: Connection
    began: float


def serve_in_workers(make: Make, host: str, port: int, workers: int, drain: float) -> int:
    """Serve until SIGTERM or SIGINT. Then all workers get the signal, and open answers may end within `drain` seconds.

    A worker that dies is replaced. The exit status is 1 if a worker cannot start, or does not end in time. Otherwise it
    is 0. Raises OSError if there is no folder that the workers can share.
    """
    dictConfig(log_config())
    stop, stopped = _SPAWN.Pipe(duplex=False)
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: stopped.send(None))
    again, reload = _SPAWN.Pipe(duplex=False)
    signal.signal(signal.SIGHUP, lambda *_: reload.send(None))
    folder = _shared_folder()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # the workers inherit it
    try:
        _check_room(folder)
        with _listening(host, port) as listening:
            crew = _Crew(make, listening, folder, workers)
            fine = crew.watch(stop, again)
        return 0 if crew.stop(stop, drain + _MARGIN) and fine else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shared_folder() -> str:
    try:
        return tempfile.mkdtemp(prefix="harmonystream-")
    except FileNotFoundError as error:  # an error without a file name would be taken for one of the output
        advice = "workers share a folder here: set TMPDIR to one that can be written"
        raise OSError(error.errno, advice, "/tmp") from None


def _check_room(folder: str) -> None:
    """Make the database of the workers. A full disk is then one error, and not one in each worker."""
    try:
        LocalState(Limits(), folder)
    except sqlite3.Error as error:
        full = "full" in str(error)
        another = "one with more room" if full else "another one"
        advice = f"workers share a folder here, which cannot be used ({error}): set TMPDIR to {another}"
        raise OSError(errno.ENOSPC if full else errno.EIO, advice, tempfile.gettempdir()) from None


def _listening(host: str, port: int) -> socket.socket:
    """A socket that is bound once. A connection goes to the worker that takes it first."""
    made = config_of(None, host, port).bind_socket()
    made.listen(2048)
    return made


class _Crew:
    """The workers that should run."""

    def __init__(self, make: Make, listening: socket.socket, folder: str, count: int) -> None:
        self._make, self._listening, self._folder = make, listening, folder
        self._workers = [self._started() for _ in range(count)]

    def _started(self) -> _Worker:
        ready, says_ready = _SPAWN.Pipe(duplex=False)
        arguments = (self._make, self._folder, self._listening, says_ready)
        process = _SPAWN.Process(target=_work, args=arguments)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])  # it waits until the worker has a handler for it
        process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
        says_ready.close()
        return _Worker(process, ready, time.monotonic())

    def watch(self, stop: Connection, again: Connection) -> bool:
        """Replace workers that die, until there is a message in `stop`. False: a worker could not start.

        At a message in `again`, all workers read their settings again.
        """
        while True:
            found = wait([stop, again, *(worker.process.sentinel for worker in self._workers)])
            if stop in found:
                stop.recv()
                return True
            if again in found:
                again.recv()
                for worker in self._workers:
                    with suppress(ProcessLookupError):
                        os.kill(worker.process.pid, signal.SIGHUP)
            for at, worker in enumerate(self._workers):
                if worker.process.sentinel not in found:
                    continue
                worker.process.join()
                self._forget(worker)
                if not _was_ready(worker):
                    log.error("a worker could not start: exit status %s", worker.process.exitcode)
                    return False
                log.error("worker %d died: exit status %s", worker.process.pid, worker.process.exitcode)
                time.sleep(max(0.0, _PAUSE - time.monotonic() + worker.began))
                self._workers[at] = self._started()

    def _forget(self, worker: _Worker) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.process.pid, self._folder)  # type: ignore[no-untyped-call]
        forget_process(self._folder, worker.process.pid)

    def stop(self, hurry: Connection, seconds: float) -> bool:
        """End all workers within these seconds, or until there is a message in `hurry`. Have all ended?"""
        for worker in self._workers:
            worker.process.terminate()
        until = time.monotonic() + seconds
        while hurry not in wait([hurry], 0) and time.monotonic() < until:
            running = [worker.process.sentinel for worker in self._workers if worker.process.exitcode is None]
            if not running:
                return True
            wait([hurry, *running], until - time.monotonic())
        for worker in self._workers:
            if worker.process.exitcode is None:
                log.error("worker %d did not end in time", worker.process.pid)
                worker.process.kill()
                worker.process.join()
        return False


def _was_ready(worker: _Worker) -> bool:
    try:
        return worker.ready.poll() and worker.ready.recv() is None
    except EOFError:
        return False


def _work(make: Make, folder: str, listening: socket.socket, ready: Connection) -> None:
    """The main function of a worker's process."""
    if hasattr(os, "setpgid"):  # Ctrl-C goes only to the first process, which passes it on to the workers
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if not run(config_of(make(folder), None, None), [listening], lambda: ready.send(None)):
        sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
