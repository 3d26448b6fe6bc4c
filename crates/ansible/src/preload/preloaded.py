"""Python with the libraries of modules loaded, which forks instead of being started for each of them: see mod.rs.

Three processes have this text. The first loads, and forks one for each run. That one forks once more, so that its child belongs
to the run, and becomes the run's supervisor; the child waits for modules, and forks one for each of them.
"""

import builtins
import gc
import importlib
import importlib.util
import os
import select
import signal
import socket
import struct
import sys
import time
import types

# What modules for Kubernetes and those of Ansible load. What is not there is not loaded.
LIBRARIES = [
    "kubernetes",
    "kubernetes.dynamic",
    "yaml",
    "jsonpatch",
    *"argparse ast base64 collections copy ctypes datetime fcntl functools getpass glob grp hashlib heapq http.client".split(),
    *"importlib.util inspect io itertools json locale logging.handlers math multiprocessing.pool operator pathlib pkgutil".split(),
    *"platform pwd queue random re runpy selectors shlex shutil ssl stat string subprocess syslog tarfile tempfile".split(),
    *"textwrap threading traceback unicodedata urllib.request uuid xml.etree.ElementTree zipfile zipimport".split(),
]
# What libraries read where they are loaded, and not later.
OF_ENVIRONMENT = ["kubernetes.config.kube_config", "kubernetes.config"]
# What an interpreter reads where it starts: a module for which one of them is another one gets a new interpreter.
OF_INTERPRETER = ("PYTHON", "LD_", "LC_", "LANG", "HOME", "KUBE", "MALLOC_", "GLIBC_", "OPENSSL_")
# How often is looked whether the supervisor is there, in milliseconds.
LOOK = 5000
# How long who was killed may take to end, in seconds. Who has not waits for a device, or belongs to somebody else.
KILLING = 2
# How long killing goes on where there is always another one.
KILLING_ALL = 10
PR_SET_CHILD_SUBREAPER = 36
# What is told by one byte; see module.rs.
ENDED, UNFIT = b"e", b"u"


def beside(name):
    """A file beside this one, which modules do not see as something that is loaded."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load():
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except Exception:  # It is the module's business what is wrong with it.
            pass
    beside("compiled").prepare()
    # What is never looked at again is not copied into each child.
    gc.collect()
    gc.freeze()


def of_environment():
    for name in OF_ENVIRONMENT:
        try:
            if name in sys.modules:
                importlib.reload(sys.modules[name])
        except Exception:
            del sys.modules[name]


def receive(connection, count):
    """Lists of bytes and file descriptors; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(connection, 4, count)
    # As Python's own: else each program that is executed here has them, too, and none of them ever ends.
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if len(head) < 4:
        return None, descriptors
    rest = struct.unpack(">I", head)[0]
    parts = []
    while rest:
        part = connection.recv(min(rest, 1 << 16))
        if not part:
            return None, descriptors
        parts.append(part)
        rest -= len(part)
    words = b"".join(parts).split(b"\0")
    lists, start = [], 0
    # The last word ends with a zero, too.
    while start < len(words) - 1:
        end = start + 1 + int(words[start])
        lists.append(words[start + 1 : end])
        start = end
    return lists, descriptors


def variables(words):
    return dict(word.split(b"=", 1) for word in words)


def forks_runs():
    """The first process. Its children are the supervisors that it forks, and what is left of a run whose supervisor was killed."""
    closes_others()
    adopts_orphans()
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    load()
    woken = wakes_at_ends()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    # The ends of what supervisors speak to the operator on: while they are open, something of the run is left.
    lines = {}
    is_needed = True
    while is_needed or lines:
        for descriptor, _ in poll.poll():
            if descriptor == woken:
                os.read(woken, 1 << 12)
                buries(lines)
                continue
            request, descriptors = receive(control, 3)
            if request is None:
                # The supervisors hear from the operator's end, too, that there is nobody any longer.
                is_needed = False
                poll.unregister(control)
            elif begins(request, descriptors, lines, control, woken):
                descriptors = descriptors[1:]
            for descriptor in descriptors:
                os.close(descriptor)


def closes_others():
    """Modules get no other files, wherever they are started."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass


def adopts_orphans():
    """Makes orphans among what is below this process its children, whatever they do; see prctl(2)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except Exception:  # Where Python can't, the operator finds those that it can tell.
        pass


def wakes_at_ends():
    """What can be read from when a child has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def sleeps_on():
    """Undoes that in a fork."""
    os.close(signal.set_wakeup_fd(-1))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def begins(request, descriptors, lines, control, woken):
    """Forks a supervisor."""
    try:
        process = os.fork()
    except OSError:
        # There may be too many processes. The operator hears from the end of the line that there is none.
        return False
    if process == 0:
        control.close()
        for other in [woken, *lines.values()]:
            os.close(other)
        becomes_supervisor(request, descriptors)
    lines[process] = descriptors[0]
    return True


def buries(lines):
    """Takes note of who has ended, once nothing is left of its run. While its line is open its number is its own."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None:
            return
        process = ended.si_pid
        if process in lines:
            # One that succeeds has left nobody.
            if (ended.si_code, ended.si_status) != (os.CLD_EXITED, 0):
                kills_orphans(lines)
            os.close(lines.pop(process))
        os.waitpid(process, 0)
        immortal.discard(process)


# Orphans that can't be killed.
immortal = set()


def kills_orphans(lines):
    """Kills all children that this process has not forked, and what they leave."""
    own = stat("self")[0]
    last = time.monotonic() + KILLING_ALL
    while time.monotonic() < last:
        orphans = {process: name for process, name in children() if process not in lines and process not in immortal}
        # Where modules come from is last: a playbook is not to go on after a module that is killed.
        doomed = [process for process, name in orphans.items() if name != own] or list(orphans)
        if not doomed:
            return
        for process in doomed:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                immortal.add(process)
        deadline = time.monotonic() + KILLING
        for process in doomed:
            while process not in immortal and os.waitpid(process, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    immortal.add(process)
                time.sleep(0.002)


def children():
    """Numbers and names."""
    own = str(os.getpid()).encode()
    for number in os.listdir("/proc"):
        if number.isdigit():
            name, parent = stat(number)
            if parent == own:
                yield int(number), name


def stat(process):
    """The name of a process and the number of its parent."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # `pid (name) state parent ...`, and the name may have anything in it.
            head, _, rest = file.read().rpartition(b")")
            return head.partition(b"(")[2], rest.split()[1]
    except (OSError, IndexError):
        return None, None


def becomes_supervisor(request, descriptors):
    """The process of a run: its child is the first one that the supervisor has."""
    (listens,), command, environment, added = request
    sleeps_on()
    os.setpgid(0, 0)
    if os.fork() == 0:
        for descriptor in descriptors:
            os.close(descriptor)
        forks_modules(listens, variables(added))
        os._exit(0)
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.execve(command[0], command, variables(environment))
    finally:
        os._exit(125)


def forks_modules(path, environment):
    """The process from which the modules of a run come. It ends with the run."""
    os.environb.update(environment)
    of_environment()
    own = dict(os.environb)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    woken = wakes_at_ends()
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(woken, select.POLLIN)
    running = {}
    supervisor = os.getppid()
    # Where the supervisor was killed, and the operator, too, nobody else ends it.
    while running or os.getppid() == supervisor:
        for descriptor, _ in poll.poll(LOOK):
            if descriptor == woken:
                os.read(woken, 1 << 12)
                reap(running, poll)
            elif descriptor == listener.fileno():
                connection, _ = listener.accept()
                try:
                    process = forks_for(connection)
                except OSError:
                    # There may be too many processes.
                    refuse(connection)
                    continue
                if process == 0:
                    sleeps_on()
                    for other in [listener, *(other for _, other in running.values())]:
                        other.close()
                    os.close(woken)
                    runs_module(connection, own)
                running[connection.fileno()] = (process, connection)
                poll.register(connection, select.POLLRDHUP)
            elif descriptor in running:
                # Who has asked for it was killed, as the module would have been.
                os.kill(running[descriptor][0], signal.SIGKILL)
                poll.unregister(descriptor)


def forks_for(connection):
    """Forks for who is the same user; others would get this one's rights."""
    _, user, group = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if (user, group) != (os.geteuid(), os.getegid()):
        raise PermissionError
    return os.fork()


def refuse(connection):
    try:
        connection.send(UNFIT)
    except OSError:
        pass
    connection.close()


def reap(running, poll):
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if process == 0:
            return
        for descriptor, (child, connection) in list(running.items()):
            if child == process:
                code = os.waitstatus_to_exitcode(status)
                try:
                    poll.unregister(descriptor)
                except KeyError:
                    pass
                try:
                    connection.send(ENDED + bytes([code if code >= 0 else 128 - code]))
                except OSError:
                    pass
                connection.close()
                del running[descriptor]


def runs_module(connection, own):
    """The process of a module: the same as an interpreter that was started for it."""
    request, descriptors = receive(connection, 3)
    if request is None:
        os._exit(125)
    (folder, mask, ignored), arguments, environment = request
    environment = variables(environment)
    added = paths(own, environment)
    if added is None or fixed(environment) != fixed(own):
        connection.send(UNFIT)
        os._exit(0)
    connection.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.chdir(folder)
    os.umask(int(mask, 8))
    ignores(int(ignored, 16))
    os.environb.clear()
    os.environb.update(environment)
    time.tzset()
    sys.argv = [os.fsdecode(argument) for argument in arguments]
    script = sys.argv[0]
    own_folder = [] if getattr(sys.flags, "safe_path", False) else [os.path.dirname(os.path.realpath(script))]
    sys.path[:] = [*own_folder, *added]
    runs_script(script)


def ignores(mask):
    """Ignores signals as the process does that asks for the module. What Python sets at its start stays as that."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        if mask >> (number - 1) & 1:
            signal.signal(number, signal.SIG_IGN)
        elif signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def runs_script(script):
    main = types.ModuleType("__main__")
    main.__file__ = script
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    try:
        with open(script, "rb") as file:
            text = file.read()
        exec(compile(text, script, "exec", dont_inherit=True), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None
    raise SystemExit(0)


def fixed(environment):
    """The variables that an interpreter reads where it starts."""
    names = (name for name in environment if name != b"PYTHONPATH")
    start = tuple(os.fsencode(name) for name in OF_INTERPRETER)
    return {name: environment[name] for name in names if name.startswith(start)}


def paths(own, environment):
    """Where the module looks for others, without its own folder; None where it would find another of what is loaded."""
    old = python_path(own)
    new = python_path(environment)
    loaded = {name.partition(".")[0] for name in sys.modules}
    if any(folder not in new for folder in old):
        return None
    for folder in new:
        if folder not in old and any(name.partition(".")[0] in loaded for name in listed(folder)):
            return None
    return [*new, *(folder for folder in sys.path if folder not in old)]


def python_path(environment):
    folders = os.fsdecode(environment.get(b"PYTHONPATH", b"")).split(":")
    return [os.path.abspath(folder) for folder in folders if folder]


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


if sys.path[0] == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]
forks_runs()
