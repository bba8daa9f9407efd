#!/usr/bin/env python3
"""Brings the pinned Mooncake release into cargo's target folder, so that tests can run the real master.

    python3 .config/fetch-release.py

The wheel comes through pip and is checked by its hash; only the master and its libraries are unpacked. System libraries that
this machine lacks come through apt, without root, into a folder of their own; nothing is installed. Run again it is done in a moment.

cargo-nextest runs it before the tests that need the master. There a failure is told to those tests, which then fail with it,
and the others run.

Variables: MOONQUAKE_NO_REAL=1 skips everything; MOONQUAKE_RELEASE_DIR names a folder to fill or use instead of the one in target;
MOONQUAKE_WHEEL names a wheel that is on this machine already.
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
WHEEL_SHA256 = "ca9f668a04ffe648b250fda28b97d0a7da149cb110dec5cf3d166a9e68afc940"
MASTER_SHA256 = "23da0d0894238bb5ac669c11bcd932d4634c9c23c982615863471e74ebd82656"
FOLDER = "mooncake-" + VERSION
MASTER = Path("mooncake") / "mooncake_master"
LOADER = "/lib64/ld-linux-x86-64.so.2"
MEMBERS = re.compile(r"mooncake/mooncake_master|mooncake_transfer_engine_non_cuda\.libs/[^/]+")
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
        root = provide()
    except Problem as problem:
        return failed(str(problem))
    except OSError as error:
        return failed(explain(error))
    tell_nextest("MOONQUAKE_RELEASE_DIR", str(root))
    return 0


def failed(line):
    say("error: " + line)
    if tell_nextest("MOONQUAKE_RELEASE_PROBLEM", line):
        return 0
    return 1


def explain(error):
    place = " ({})".format(error.filename) if error.filename else ""
    if error.errno == errno.ENOSPC:
        return "the disk is full{}. Cure: free 200 MB and run this again".format(place)
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
    """The folder of the release, filled if it was not."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not os.path.exists(LOADER):
        raise Problem("the release runs on Linux x86-64 with glibc only. Cure: set MOONQUAKE_NO_REAL=1 to skip its tests")
    named = os.environ.get("MOONQUAKE_RELEASE_DIR")
    root = Path(named).absolute() if named else target_folder() / FOLDER
    if is_complete(root):
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(root.parent / ("." + FOLDER + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another run may have done it while this one waited.
        if not is_complete(root):
            fill(root)
    return root


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


def is_complete(root):
    master = root / MASTER
    return (root / "complete").is_file() and sha256(master) == MASTER_SHA256 and not missing_libraries(root)


def sha256(path):
    digest = hashlib.sha256()
    try:
        with open(str(path), "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def missing_libraries(root):
    """Names of libraries that the master needs and the loader does not find."""
    # The same environment in which the master will be started; the variable makes the loader list instead of run, as `ldd` does.
    environment = {"LC_ALL": "C", "LD_LIBRARY_PATH": str(root / "system"), "LD_TRACE_LOADED_OBJECTS": "1"}
    done = subprocess.run([LOADER, str(root / MASTER)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    outdated = re.search(r"version `((?:GLIBC|GLIBCXX|CXXABI)_[0-9.]+)' not found", text)
    if outdated:
        raise Problem("this system is too old for the release: it lacks {}. Cure: use glibc 2.28 and GCC 12 libraries or newer, "
                      "or set MOONQUAKE_NO_REAL=1".format(outdated.group(1)))
    if done.returncode != 0:
        raise Problem("the loader cannot read the master: {}. Cure: remove {} and run this again".format(last_line(text), root))
    return sorted(set(re.findall(r"^\s*(\S+) => not found", text, re.MULTILINE)))


def fill(root):
    started = time.monotonic()
    for stale in root.parent.glob("." + FOLDER + ".*.tmp"):
        shutil.rmtree(str(stale), ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix="." + FOLDER + ".", suffix=".tmp", dir=str(root.parent)))
    try:
        fresh = scratch / "release"
        unpack_wheel(wheel(scratch), fresh)
        if missing_libraries(fresh):
            add_libraries(fresh, scratch)
        (fresh / "complete").write_text(VERSION + "\n")
        scratch.chmod(0o755)
        # The finished folder appears under its name in one step; whatever was there before was not complete.
        if root.exists():
            root.rename(scratch / "old")
        fresh.rename(root)
    finally:
        shutil.rmtree(str(scratch), ignore_errors=True)
    say("unpacked {} into {} in {:.1f} s".format(VERSION, root, time.monotonic() - started))


def wheel(scratch):
    named = os.environ.get("MOONQUAKE_WHEEL")
    if named:
        path, origin = Path(named), "MOONQUAKE_WHEEL"
    else:
        path, origin = download(scratch), "pip"
    found = sha256(path)
    if found is None:
        raise Problem("cannot read the wheel {}. Cure: correct or unset MOONQUAKE_WHEEL".format(path))
    if found != WHEEL_SHA256:
        raise Problem("the wheel that {} gave has the sha256 {} instead of {}. Cure: clear pip's cache (`python3 -m pip cache purge`), "
                      "or name a good file in MOONQUAKE_WHEEL".format(origin, found, WHEEL_SHA256))
    return path


def download(scratch):
    say("fetching {} (46 MB)".format(REQUIREMENT))
    folder = scratch / "wheel"
    # The wheel holds a program, so that this machine's own Python version does not matter.
    arguments = ["download", "--no-deps", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
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


def unpack_wheel(path, fresh):
    with zipfile.ZipFile(str(path)) as archive:
        for info in archive.infolist():
            if MEMBERS.fullmatch(info.filename):
                archive.extract(info, str(fresh))
    (fresh / MASTER).chmod(0o755)
    if sha256(fresh / MASTER) != MASTER_SHA256:
        raise Problem("the wheel holds another master than expected; this script and the wheel do not belong together")


def add_libraries(fresh, scratch):
    """Puts the libraries that this machine lacks into the folder `system` of the release."""
    missing = missing_libraries(fresh)
    say("this machine lacks {}: fetching without installing".format(", ".join(missing)))
    wanted = [PACKAGES[name] for name in missing if name in PACKAGES]
    tree, reason = fetch_packages(wanted, scratch / "libraries")
    system = fresh / "system"
    system.mkdir()
    # A library may need others that are missing too; those of this machine come first always.
    while tree and missing:
        found = [(name, path) for name in missing for path in [find_library(tree, name)] if path]
        for name, path in found:
            shutil.copyfile(str(path), str(system / name))
        if not found:
            break
        missing = missing_libraries(fresh)
    if missing:
        install = next((line for tool, line in INSTALL if shutil.which(tool)), "the packages of these libraries")
        raise Problem("the master needs {}{}. Cure: install them as root: `{}`".format(
            ", ".join(missing), ", which could not be fetched ({})".format(reason) if reason else "", install))


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
