"""States how many tests ran per engine, and fails if the real ones did not.

Reads the JUnit file that nextest writes. A test belongs to the engine that its name begins with (`model::`, `native::`)
or names (`real_` needs the real master); the rest belong to none.
"""

import os
import sys
import xml.etree.ElementTree as tree

ENGINES = ("model", "master", "native", "hosted")


def engine_of(name):
    # libtest-mimic puts a test's kind before its name: `[master] master::upstream::crash/put-end-sent`.
    name = name.split("] ", 1)[-1]
    for engine in ENGINES:
        if name.startswith((f"{engine}::", f"{engine}_")):
            return engine
    return "master" if "real_" in name else "no engine"


def main(path):
    ran, failed = {}, 0
    for case in tree.parse(path).getroot().iter("testcase"):
        # The setup script is listed among the tests.
        if case.find("skipped") is not None or case.get("classname", "").startswith("@setup-script"):
            continue
        engine = engine_of(case.get("name", ""))
        ran[engine] = ran.get(engine, 0) + 1
        failed += case.find("failure") is not None or case.find("error") is not None
    for engine in sorted(ran):
        print(f"{engine}: {ran[engine]} tests ran")
    if failed:
        sys.exit(f"{failed} tests failed")
    if os.environ.get("MOONQUAKE_NO_REAL", "0") not in ("", "0"):
        print("the real engines were left out by MOONQUAKE_NO_REAL")
        return
    if not ran.get("master"):
        sys.exit("no test ran on the real master: run `python3 .config/fetch-release.py` and look at what it says")
    for engine in ("model", "native", "hosted"):
        if not ran.get(engine):
            sys.exit(f"no test ran on the engine {engine}")


main(sys.argv[1])
