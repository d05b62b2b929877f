"""python clients/python/make_sync.py

Writes _sync.py, the blocking client, from _async.py. They differ in waiting and in names alone.
"""

import re
from pathlib import Path

SOURCE = Path(__file__).parent / "src/darkroom_client/_async.py"
HEAD = "# Made by `python clients/python/make_sync.py` from _async.py: do not edit.\n"
CHANGES = [
    (r"import asyncio\n", ""),
    (r"await asyncio\.sleep", "time.sleep"),
    (r"await asyncio\.to_thread\((\w+), ", r"\1("),
    (r"\b(?:async|await) ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"__a(?=iter__|enter__|exit__)", "__"),
    (r"\.a(?=iter_bytes|read\(|close\()", "."),
    (r"for row in rows:\n +yield row", "yield from rows"),
]


def make_sync() -> str:
    text = SOURCE.read_text()
    for pattern, replacement in CHANGES:
        text = re.sub(pattern, replacement, text)
    return HEAD + text


if __name__ == "__main__":
    SOURCE.with_name("_sync.py").write_text(make_sync())
