"""`sequela serve` and `sequela work`: the processes that run for long, as processes."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest


@pytest.fixture
def process(sequela):
    environment = {**os.environ, **{name: value for name, value in sequela.environment.items() if value is not None}}

    @contextmanager
    def start(*arguments):
        program = "from service.cli.main import main; main()"
        command = [sys.executable, "-c", program, *arguments]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as started:
            try:
                yield started
            finally:
                started.kill()

    return start


def test_work_does_what_is_due_and_ends(sequela):
    assert sequela("work", "--once", "--json").document == {"done": 0}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_work_ends_cleanly_when_told_to(process, number):
    with process("work") as working:
        assert working.stderr.readline().startswith("Working")
        working.send_signal(number)
        out, err = working.communicate(timeout=60)
        assert (working.returncode, out, err) == (0, "Stopped.\n", "")


def test_serve_tells_its_address_and_ends_cleanly(process):
    with process("serve", "--port", "0") as serving:
        line = serving.stderr.readline()
        address = re.search(r"http://\S+?:\d+", line)[0]
        with urllib.request.urlopen(f"{address}/health/live") as answer:  # noqa: S310 - loopback
            assert answer.status == 200
        assert f"{address}/docs" in line
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=60)
        assert serving.returncode == 0


def test_a_port_that_is_taken_is_one_clear_line(process):
    with process("serve", "--port", "0") as serving:
        port = re.search(r"http://\S+?:(\d+)", serving.stderr.readline())[1]
        with process("serve", "--port", port) as second:
            _, err = second.communicate(timeout=60)
            assert second.returncode == 4
            assert f"127.0.0.1:{port}" in err
            assert "[SERVICE_UNAVAILABLE]" in err
            assert "Traceback" not in err
