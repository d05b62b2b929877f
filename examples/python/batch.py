"""Makes an image for each row of a CSV with the columns `name` and `prompt`.

    python batch.py prompts.csv images

Kill it and start it again as often as you like: each row is bought once. A row whose task failed stays failed. To try it
again, change it, for example by a further column.
"""

import csv
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from darkroom_client import Darkroom, DarkroomError

MODEL = os.environ.get("MODEL", "familyb-image-2-vip")
PARALLEL = 8


def make(darkroom: Darkroom, row: dict[str, str], path: Path) -> str | None:
    """Makes one image. Returns what went wrong."""
    if path.exists():
        return None
    # The same row is the same purchase, whichever process asks for it.
    key = hashlib.sha256(json.dumps([MODEL, row]).encode()).hexdigest()
    try:
        darkroom.images.generate(model=MODEL, prompt=row["prompt"], idempotency_key=key).save(path)
    except DarkroomError as error:
        return f"{row['name']}: {error.code}: {error}"
    print(path, flush=True)
    return None


def main(file: str, folder: str) -> str | None:
    rows: list[dict[str, str]] = []
    # Excel begins a file with a byte order mark.
    with open(file, encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        try:
            for row in reader:
                # A comma without quotes would cut a prompt, and buy a wrong one.
                if None in row:
                    raise csv.Error("too many fields")
                rows.append(row)
        except csv.Error as error:
            return f"Line {reader.reader.line_num}: {error}"
    paths = [Path(folder, f"{Path(row['name']).name}.png") for row in rows]
    if len(set(paths)) < len(paths):
        return "Two rows have the same name."
    Path(folder).mkdir(exist_ok=True)
    with Darkroom() as darkroom, ThreadPoolExecutor(PARALLEL) as pool:
        made = pool.map(partial(make, darkroom), rows, paths)
        return "\n".join(problem for problem in made if problem is not None) or None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
