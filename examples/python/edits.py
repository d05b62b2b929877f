"""Changes an image step by step: each prompt edits what the one before it made.

    python edits.py photo.png images "Make it night" "Let it snow"

Start it again after a crash, or with a further prompt: steps that are done are not bought again.
"""

import hashlib
import os
import sys
from pathlib import Path

from darkroom_client import Darkroom

MODEL = os.environ.get("MODEL", "familyb-image-2-vip")


def main(source: str, folder: str, *prompts: str) -> None:
    Path(folder).mkdir(exist_ok=True)
    image = Path(source)
    with Darkroom() as darkroom:
        for number, prompt in enumerate(prompts, 1):
            key = hashlib.sha256(image.read_bytes() + f"\0{MODEL}\0{prompt}".encode()).hexdigest()
            path = Path(folder, f"{number}-{key[:8]}.png")
            if not path.exists():
                edited = darkroom.images.edit(model=MODEL, prompt=prompt, images=[image], idempotency_key=key)
                edited.save(path)
            print(path, flush=True)
            image = path


if __name__ == "__main__":
    main(*sys.argv[1:])
