"""Whatever statement of a deletion fails, and however: what is answered and logged holds nothing of the content."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graph.database.database import Database
from service.workers.worker import Worker, _guarded
from tests.support.records import stated

CANARY = "canary-4711"
DERIVED = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}


class NthStatementFails:
    """Lets the N-th statement of a step fail, before its effect or after it, with content in the exception."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        retried = Database._retried

        def failing(database: Database, call: Callable[[], object], **told: bool) -> object:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise RuntimeError(CANARY)
            answer = retried(database, call, **told)
            if self._left == 0:
                raise RuntimeError(CANARY)
            return answer

        monkeypatch.setattr(Database, "_retried", failing)

    def every(self, step: Callable[[], object]) -> int:
        """Run `step` with a fault at each of its statements in turn, then without one; answers the number of faults."""
        faults = 0
        for self._after in (False, True):
            number = 0
            while True:
                number += 1
                self._left = number
                step()
                if self._left > 0:
                    break
                faults += 1
        self._left = 0
        return faults


@pytest.mark.req("OBS-06", "OBS-01")
def test_a_fault_at_each_statement_of_a_deletion_shows_no_content(
    api, application, logged, monkeypatch, caplog, capsys
):
    root = api.register(stated(CANARY, content={CANARY: CANARY}, sourceId=CANARY))
    api.register(
        stated(f"{CANARY}-2", content=CANARY, sources=[{"name": CANARY, "edge": "SUMMARIZED_FROM"}], **DERIVED)
    )
    worker = Worker(application, "w1")
    faults = NthStatementFails(monkeypatch)
    answers: list[str] = []

    def asked(call: Callable[[], object]) -> Callable[[], None]:
        return lambda: answers.append(call().text)

    subject = {"subject": {"names": [{"name": CANARY}]}}
    total = faults.every(asked(lambda: api.post("/v1/deletions/preview", subject)))
    total += faults.every(asked(lambda: api.post("/v1/deletions", subject, key="k1")))
    request_id = api.post("/v1/deletions", subject, key="k1").json()["requestId"]
    total += faults.every(lambda: _guarded(Worker.run_once, worker))
    for path in ("", "/outcomes", "/receipt"):
        total += faults.every(asked(lambda path=path: api.get(f"/v1/deletions/{request_id}{path}")))
    total += faults.every(asked(lambda: api.get(f"/v1/records/{root}")))
    total += faults.every(asked(lambda: api.post("/v1/records", stated(CANARY, content=CANARY))))

    assert api.get(f"/v1/deletions/{request_id}").json()["state"] == "COMPLETED"
    assert total >= 40
    assert sum("INTERNAL_FAULT" in answer for answer in answers) >= 30
    assert "RuntimeError" in logged.getvalue()
    worker_log = capsys.readouterr().err
    assert "RuntimeError" in worker_log
    assert CANARY not in "".join(answers) + logged.getvalue() + worker_log + caplog.text
