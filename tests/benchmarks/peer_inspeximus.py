"""Runs in the environment of the peer: load a tree of texts about one subject, have the subject forgotten, tell how it went.

It imports nothing of this project: `python peer_inspeximus.py FOLDER SIZE [receipts]` prints seconds, what is left, and
whether its own check is content. With receipts its writes and deletions are signed, and a certificate belongs to the work.
"""

import json
import sys
import time
from pathlib import Path

from inspeximus import Inspeximus, new_receipt_keypair

CANARY = "zuerich-canary-7731"
FAN_OUT = 10


def main(folder: Path, size: int, *, receipts: bool) -> None:
    signing = {"receipts": True, "receipt_key": new_receipt_keypair()[0]} if receipts else {}
    store = Inspeximus(str(folder / "memory.db"), **signing)
    ids = [store.remember(f"root {CANARY}", source={"doc": "subject-a"})]
    for number in range(1, size + 1):
        parent = ids[(number - 1) // FAN_OUT]
        ids.append(store.remember(f"derived {number} {CANARY}", derived_from=[parent]))
    store.flush()
    start = time.perf_counter()
    erased = store.forget_subject("subject-a", request_id="r-1", exact=True)["erased"]
    store.flush()
    if receipts:
        store.erasure_certificate("r-1")
    seconds = time.perf_counter() - start
    residue = sum(path.read_bytes().count(CANARY.encode()) for path in folder.rglob("*") if path.is_file())
    verified = bool(store.verify_writes()[0]) and erased == size + 1
    sys.stdout.write(json.dumps({"seconds": seconds, "residue": residue, "verified": verified}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), receipts="receipts" in sys.argv)
