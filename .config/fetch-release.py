#!/usr/bin/env python3
"""Brings the pinned Mooncake release into cargo's target folder, so that tests can run the real master and the real client.

    python3 .config/fetch-release.py

The wheel comes through pip and is checked by its hash; only the master, the client and their libraries are unpacked. System
libraries that this machine lacks come through apt, without root, into a folder of their own; nothing is installed. Run again it
is done in a moment.

The client lives in a Python process, and is built for one version of CPython: 3.10, 3.11, 3.12 or 3.13. Taken is the one that
MOONQUAKE_PYTHON names, else the one that runs this script, else python3.11, 3.12, 3.13 or 3.10 on the path; `client.json` in the
folder says which. Without any the master alone is there, and what needs the client fails with the reason.

cargo-nextest runs it before the tests that need the release. There a failure is told to those tests, which then fail with it,
and the others run.

Variables: MOONQUAKE_NO_REAL=1 skips everything; MOONQUAKE_RELEASE_DIR names a folder to fill or use instead of the one in target;
MOONQUAKE_WHEEL names a wheel that is on this machine already; MOONQUAKE_PYTHON names the interpreter of the client.
"""

import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

VERSION = "0.3.13.post1"
REQUIREMENT = "mooncake-transfer-engine-non-cuda==" + VERSION
# For each CPython that the release is built for, in the order in which they are looked for: the sha256 of its wheel, and of the
# client in it. The wheels differ in the client alone.
BUILDS = {
    "3.11": ("ca9f668a04ffe648b250fda28b97d0a7da149cb110dec5cf3d166a9e68afc940",
             "e4c382918769c9055b14fe10984c765bf651cbab84f3696ef570403226a667db"),
    "3.12": ("892fd0ee77d736fc8d625981c485a43282dbdbc0926b95f05c1cadd8b0debe51",
             "ec8c21b9a1e86b3a0fefae5af5ded8381f1ed3201c5ae3028586518d97eb0270"),
    "3.13": ("0f97a95a3af7ac7532affe5badc4128c71d7bff8740118fea9a8bbbbc65dd578",
             "474f2d268f3c4b7375c3009250dbf8443b11eb4091aa90f51324870313aa9f7f"),
    "3.10": ("7390920887511db3f3259aba48ff212de7771ab6f1cb48c7954dd5461ca9feae",
             "e5516210da7d71789c7971c2c61255e45bef3edb1e9cd9062d85d495b6bc5f53"),
}
MASTER_SHA256 = "23da0d0894238bb5ac669c11bcd932d4634c9c23c982615863471e74ebd82656"
FOLDER = "mooncake-" + VERSION
MASTER = Path("mooncake") / "mooncake_master"
LOADER = "/lib64/ld-linux-x86-64.so.2"
STORE = Path("mooncake") / "store.so"
CLIENT_FILE = "client.json"
MEMBERS = re.compile(r"mooncake/mooncake_master|mooncake_transfer_engine_non_cuda\.libs/[^/]+")
# The package imports the second Python file.
CLIENT_MEMBERS = re.compile(r"mooncake/(store\.so|libasio\.so|libetcd_wrapper\.so|__init__\.py|buffer_pool\.py)")
# What the client's process needs of its interpreter, told as JSON.
EXAMINE = """
import ctypes, json, mmap, platform, sys, sysconfig
print(json.dumps([platform.python_implementation(), "%d.%d" % sys.version_info[:2], sys.executable,
                  platform.machine(), bool(sysconfig.get_config_var("Py_GIL_DISABLED"))]))
"""
NETWORK_LIMIT_S = 600
# What pip and apt say when nobody answers.
OFFLINE = re.compile(r"NewConnectionError|ConnectTimeout|name resolution|Could not resolve|Could not connect|unreachable|ProxyError")

# Which Debian packages have a library. Names differ between releases; the first that apt knows is taken.
PACKAGES = {
    "libibverbs.so.1": ["libibverbs1"],
    "librdmacm.so.1": ["librdmacm1"],
    "libnl-3.so.200": ["libnl-3-200"],
    "libnl-route-3.so.200": ["libnl-route-3-200"],
    "libcurl.so.4": ["libcurl4t64", "libcurl4"],
    "libnuma.so.1": ["libnuma1"],
    "libstdc++.so.6": ["libstdc++6"],
    "libgcc_s.so.1": ["libgcc-s1"],
}
INSTALL = [
    ("apt-get", "apt-get update && apt-get install libibverbs1 librdmacm1 libcurl4 libnuma1"),
    ("dnf", "dnf install libibverbs librdmacm libcurl numactl-libs"),
    ("zypper", "zypper install libibverbs1 librdmacm1 libcurl4 libnuma1"),
    ("pacman", "pacman -S rdma-core curl numactl"),
]


class Problem(Exception):
    """What went wrong and what to do about it, in one line."""


def main():
    if os.environ.get("MOONQUAKE_NO_REAL", "") not in ("", "0"):
        say("MOONQUAKE_NO_REAL is set: nothing is fetched, and tests on the real master are skipped")
        return 0
    try:
        root, problem = provide()
    except Problem as problem:
        return failed("MOONQUAKE_RELEASE_PROBLEM", str(problem))
    except OSError as error:
        return failed("MOONQUAKE_RELEASE_PROBLEM", explain(error))
    tell_nextest("MOONQUAKE_RELEASE_DIR", str(root))
    if problem:
        say("the master is in {}, the client is not".format(root))
        return failed("MOONQUAKE_CLIENT_PROBLEM", problem)
    return 0


def failed(name, line):
    say("error: " + line)
    return 0 if tell_nextest(name, line) else 1


def explain(error):
    place = " ({})".format(error.filename) if error.filename else ""
    if error.errno == errno.ENOSPC:
        return "the disk is full{}. Cure: free 300 MB and run this again".format(place)
    return "{}{}. Cure: make the target folder writable, or name another in CARGO_TARGET_DIR".format(error.strerror or error, place)


def tell_nextest(name, value):
    path = os.environ.get("NEXTEST_ENV")
    if not path:
        return False
    with open(path, "a", encoding="utf-8") as file:
        file.write("{}={}\n".format(name, " ".join(value.split())))
    return True


def say(line):
    print("fetch-release: " + line, file=sys.stderr, flush=True)


def provide():
    """The folder of the release, filled if it was not; and why there is no client in it, if there is none."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not os.path.exists(LOADER):
        raise Problem("the release runs on Linux x86-64 with glibc only. Cure: set MOONQUAKE_NO_REAL=1 to skip its tests")
    named = os.environ.get("MOONQUAKE_RELEASE_DIR")
    root = Path(named).absolute() if named else target_folder() / FOLDER
    if has_master(root) and has_client(root):
        return root, None
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(root.parent / ("." + FOLDER + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another run may have done it while this one waited.
        if has_master(root) and has_client(root):
            return root, None
        return root, bring(root)


def bring(root):
    """Fills the folder. Why there is no client in it then, if there is none: a master that can be used is kept in any case."""
    usable = has_master(root)
    try:
        interpreter, problem = find_interpreter(), None
    except Problem as found:
        interpreter, problem = None, str(found)
    if usable and not interpreter:
        write_client(root, None, problem)
        return problem
    try:
        return fill(root, interpreter, problem)
    except (Problem, OSError) as error:
        if not usable:
            raise
        return str(error) if isinstance(error, Problem) else explain(error)


def target_folder():
    workspace = Path(__file__).resolve().parent.parent
    command = [os.environ.get("CARGO") or "cargo", "metadata", "--format-version=1", "--no-deps", "--offline"]
    try:
        done = subprocess.run(command, cwd=str(workspace), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        if done.returncode == 0:
            return Path(json.loads(done.stdout.decode())["target_directory"])
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        pass
    named = os.environ.get("CARGO_TARGET_DIR")
    return (workspace / named) if named else workspace / "target"


def has_master(root):
    return (root / "complete").is_file() and sha256(root / MASTER) == MASTER_SHA256 and not missing_libraries(root, MASTER)


def has_client(root):
    """Whether the client is there, whole, and for an interpreter that is there too and is the one asked for."""
    try:
        told = json.loads((root / CLIENT_FILE).read_text())
        interpreter, version = told["interpreter"], told["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if version not in BUILDS or sha256(root / STORE) != BUILDS[version][1]:
        return False
    if examine(interpreter) != (version, interpreter):
        return False
    named = os.environ.get("MOONQUAKE_PYTHON")
    if named and examine(named) != (version, interpreter):
        return False
    return not missing_libraries(root, STORE)


def write_client(root, interpreter, problem):
    told = {"problem": problem} if problem else {"interpreter": interpreter[1], "version": interpreter[0]}
    fresh = root / (CLIENT_FILE + ".new")
    fresh.write_text(json.dumps(told, indent=2) + "\n")
    fresh.rename(root / CLIENT_FILE)


def find_interpreter():
    """Version and path of the interpreter for the client."""
    wanted = list(BUILDS)
    wheel = os.environ.get("MOONQUAKE_WHEEL")
    if wheel:
        # The wheel that is there decides; one that is none of them is refused when it is unpacked.
        wanted = [version for version in BUILDS if sha256(wheel) == BUILDS[version][0]] or wanted
    named = os.environ.get("MOONQUAKE_PYTHON")
    found = []
    for path in [named] if named else [sys.executable] + ["python" + version for version in BUILDS]:
        examined = examine(path) if path else None
        if isinstance(examined, tuple) and examined[0] in wanted:
            return examined
        if examined:
            found.append("{} is {}".format(path, "CPython " + examined[0] if isinstance(examined, tuple) else examined))
    if named:
        reason = "MOONQUAKE_PYTHON is unfit: " + (found[0] if found else "{} does not run".format(named))
    else:
        reason = "no fitting Python was found" + (" (" + ", ".join(found) + ")" if found else "")
    raise Problem("{}; the client needs CPython {}{}. Cure: install one of them, or name it in MOONQUAKE_PYTHON".format(
        reason, " or ".join(sorted(wanted)), " for the wheel in MOONQUAKE_WHEEL" if wheel else ""))


def examine(path):
    """Version and true path of an interpreter, a word about one that is unfit, or none if it does not run."""
    code, text = run([path, "-I", "-S", "-c", EXAMINE], dict(os.environ))
    try:
        implementation, version, executable, machine, free_threaded = json.loads(text) if code == 0 else []
    except ValueError:
        return None
    if implementation != "CPython" or machine != "x86_64":
        return "{} on {}".format(implementation, machine)
    if free_threaded:
        return "a CPython without its lock"
    return version, executable


def sha256(path):
    digest = hashlib.sha256()
    try:
        with open(str(path), "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def missing_libraries(root, what):
    """Names of libraries that the file needs and the loader does not find."""
    # The same environment in which it will be started; the variable makes the loader list instead of run, as `ldd` does.
    environment = {"LC_ALL": "C", "LD_LIBRARY_PATH": str(root / "system"), "LD_TRACE_LOADED_OBJECTS": "1"}
    done = subprocess.run([LOADER, str(root / what)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    outdated = re.search(r"version `((?:GLIBC|GLIBCXX|CXXABI)_[0-9.]+)' not found", text)
    if outdated:
        raise Problem("this system is too old for the release: it lacks {}. Cure: use glibc 2.28 and GCC 12 libraries or newer, "
                      "or set MOONQUAKE_NO_REAL=1".format(outdated.group(1)))
    if done.returncode != 0:
        raise Problem("the loader cannot read {}: {}. Cure: remove {} and run this again".format(what.name, last_line(text), root))
    return sorted(set(re.findall(r"^\s*(\S+) => not found", text, re.MULTILINE)))


def fill(root, interpreter, problem):
    """Makes the folder anew. Why there is no client in it, if there is none."""
    started = time.monotonic()
    for stale in root.parent.glob("." + FOLDER + ".*.tmp"):
        shutil.rmtree(str(stale), ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix="." + FOLDER + ".", suffix=".tmp", dir=str(root.parent)))
    try:
        fresh = scratch / "release"
        # A wheel of any build has the master.
        version = interpreter[0] if interpreter else next(iter(BUILDS))
        unpack_wheel(wheel(scratch, version), fresh, version if interpreter else None)
        add_libraries(fresh, scratch, MASTER, "the master")
        if interpreter:
            problem = try_client(fresh, scratch, interpreter)
        write_client(fresh, interpreter, problem)
        (fresh / "complete").write_text(VERSION + "\n")
        scratch.chmod(0o755)
        # The finished folder appears under its name in one step; whatever was there before was not complete.
        if root.exists():
            root.rename(scratch / "old")
        fresh.rename(root)
    finally:
        shutil.rmtree(str(scratch), ignore_errors=True)
    what = "the master of " if problem else ""
    say("unpacked {}{} into {} in {:.1f} s".format(what, VERSION, root, time.monotonic() - started))
    return problem


def try_client(fresh, scratch, interpreter):
    """Why the interpreter cannot load the client, if it cannot."""
    try:
        add_libraries(fresh, scratch, STORE, "the client")
    except Problem as problem:
        return str(problem)
    environment = {"LD_LIBRARY_PATH": str(fresh / "system")}
    load = "import sys; sys.path.insert(0, {!r}); import mooncake.store".format(str(fresh))
    code, text = run([interpreter[1], "-I", "-S", "-B", "-c", load], environment)
    if code == 0:
        return None
    return "{} cannot load the client: {}. Cure: name another interpreter in MOONQUAKE_PYTHON".format(interpreter[1], last_line(text))


def wheel(scratch, version):
    named = os.environ.get("MOONQUAKE_WHEEL")
    if named:
        path, origin = Path(named), "MOONQUAKE_WHEEL"
    else:
        path, origin = download(scratch, version), "pip"
    found = sha256(path)
    if found is None:
        raise Problem("cannot read the wheel {}. Cure: correct or unset MOONQUAKE_WHEEL".format(path))
    # A wheel that was named may be of any build while only its master is used.
    good = [BUILDS[version][0]] if not named else [build[0] for build in BUILDS.values()]
    if found not in good:
        raise Problem("the wheel that {} gave has the sha256 {} instead of {}. Cure: clear pip's cache (`python3 -m pip cache purge`), "
                      "or name a good file in MOONQUAKE_WHEEL".format(origin, found, " or ".join(good)))
    return path


def download(scratch, version):
    say("fetching {} (46 MB)".format(REQUIREMENT))
    folder = scratch / "wheel"
    # For the interpreter of the client, which need not be the one that pip runs on.
    arguments = ["download", "--no-deps", "--python-version", version, "--implementation", "cp", "--abi", "cp" + version.replace(".", ""),
                 "--platform", "manylinux_2_28_x86_64", "--only-binary=:all:", "--no-input", "--quiet",
                 "--disable-pip-version-check", "--dest", str(folder), REQUIREMENT]
    command, environment = pip(scratch)
    code, text = run(command + arguments, environment)
    found = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if code != 0 or len(found) != 1:
        if "No space left" in text:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))
        reason = "no connection to its package index" if OFFLINE.search(text) else last_line(text)
        raise Problem("pip could not fetch {}: {}. Cure: connect this machine to its package index, or name the wheel in "
                      "MOONQUAKE_WHEEL, or set MOONQUAKE_NO_REAL=1".format(REQUIREMENT, reason))
    return found[0]


def pip(scratch):
    """A command that runs pip, and its environment. A bare Python has none; its package is then fetched, not installed."""
    own = [sys.executable or "python3", "-m", "pip"]
    environment = dict(os.environ)
    if run(own + ["--version"], environment)[0] == 0:
        return own, environment
    tree, reason = fetch_packages([["python3-pip-whl"]], scratch / "pip")
    wheels = sorted(tree.glob("usr/share/python-wheels/pip-*.whl")) if tree else []
    if not wheels:
        raise Problem("python3 has no pip{}. Cure: install it (`apt-get install python3-pip`), or name the wheel in "
                      "MOONQUAKE_WHEEL".format(" ({})".format(reason) if reason else ""))
    environment["PYTHONPATH"] = str(wheels[-1])
    return own, environment


def unpack_wheel(path, fresh, version):
    """The master and its libraries; with a version, the client of that build as well."""
    with zipfile.ZipFile(str(path)) as archive:
        for info in archive.infolist():
            if MEMBERS.fullmatch(info.filename) or (version and CLIENT_MEMBERS.fullmatch(info.filename)):
                archive.extract(info, str(fresh))
    (fresh / MASTER).chmod(0o755)
    if sha256(fresh / MASTER) != MASTER_SHA256:
        raise Problem("the wheel holds another master than expected; this script and the wheel do not belong together")
    if version and sha256(fresh / STORE) != BUILDS[version][1]:
        raise Problem("the wheel holds another client than expected; this script and the wheel do not belong together")


def add_libraries(fresh, scratch, what, name):
    """Puts the libraries that the file needs and this machine lacks into the folder `system` of the release."""
    missing = missing_libraries(fresh, what)
    if not missing:
        return
    say("this machine lacks {}: fetching without installing".format(", ".join(missing)))
    wanted = [PACKAGES[library] for library in missing if library in PACKAGES]
    tree, reason = fetch_packages(wanted, Path(tempfile.mkdtemp(prefix="libraries.", dir=str(scratch))))
    system = fresh / "system"
    system.mkdir(exist_ok=True)
    # A library may need others that are missing too; those of this machine come first always.
    while tree and missing:
        found = [(library, path) for library in missing for path in [find_library(tree, library)] if path]
        for library, path in found:
            shutil.copyfile(str(path), str(system / library))
        if not found:
            break
        missing = missing_libraries(fresh, what)
    if missing:
        install = next((line for tool, line in INSTALL if shutil.which(tool)), "the packages of these libraries")
        raise Problem("{} needs {}{}. Cure: install them as root: `{}`".format(
            name, ", ".join(missing), ", which could not be fetched ({})".format(reason) if reason else "", install))


def find_library(tree, name):
    for folder in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "lib64", "lib"):
        path = tree / folder / name
        if path.is_file():
            return path.resolve()
    return None


def fetch_packages(wanted, folder):
    """Unpacks packages, each given by alternative names, with what they depend on and this machine lacks.

    Returns the tree, or none and the reason. Uses apt with its own lists and archives, so that neither root nor earlier lists are needed.
    """
    tools = [tool for tool in ("apt-get", "apt-cache", "dpkg-deb") if not shutil.which(tool)]
    if tools or not wanted:
        return None, "no " + ", ".join(tools) if tools else "no known package has them"
    archives, lists, tree = folder / "archives", folder / "lists", folder / "tree"
    for path in (archives / "partial", lists / "partial", tree):
        path.mkdir(parents=True)
    private = ["-o", "Dir::Cache={}".format(folder), "-o", "Dir::Cache::archives={}".format(archives),
               "-o", "Debug::NoLocking=true", "-o", "APT::Sandbox::User=", "-o", "APT::Get::List-Cleanup=false",
               "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20"]
    fresh_lists = private + ["-o", "Dir::State::lists={}".format(lists)]
    # First with the lists of the machine, which may be absent or out of date; then with new ones.
    reason = download_packages(private, wanted)
    if reason:
        code, text = run(["apt-get", "update", "--quiet"] + fresh_lists, dict(os.environ))
        reason = download_packages(fresh_lists, wanted)
        if reason and (code != 0 or OFFLINE.search(text)):
            reason = "no connection to the package index of apt" if OFFLINE.search(text) else last_line(text)
    if reason:
        return None, reason
    for package in sorted(archives.glob("*.deb")):
        code, text = run(["dpkg-deb", "-x", str(package), str(tree)], dict(os.environ))
        if code != 0:
            return None, last_line(text)
    return tree, None


def download_packages(options, wanted):
    """Downloads with dependencies. None, or why not."""
    names = []
    for alternatives in wanted:
        known = [name for name in alternatives if run(["apt-cache", "show"] + options + [name], dict(os.environ))[0] == 0]
        if not known:
            return "apt does not know " + " or ".join(alternatives)
        names.append(known[0])
    command = ["apt-get", "install", "--download-only", "--yes", "--quiet", "--no-install-recommends", "--reinstall"]
    code, text = run(command + options + names, dict(os.environ))
    return None if code == 0 else last_line(text)


def run(command, environment):
    environment["LC_ALL"] = "C"
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=NETWORK_LIMIT_S)
    except OSError as error:
        return 127, str(error)
    except subprocess.TimeoutExpired:
        return 124, "no answer within {} s".format(NETWORK_LIMIT_S)
    return done.returncode, done.stdout.decode(errors="replace")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith(("E:", "ERROR"))]
    return (errors or lines or ["no reason given"])[-1].rstrip(".")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asked = sys.argv[1:] in (["-h"], ["--help"])
        print(__doc__ if asked else "it takes no arguments; --help says what it does", file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 64)
    sys.exit(main())
