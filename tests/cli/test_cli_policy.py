"""`sequela policy check`: every fault of a bundle on a line of its own."""

import shutil

import pytest

from graph.policy.loader import default_policy_folder


@pytest.fixture
def bundle(tmp_path):
    return shutil.copytree(default_policy_folder(), tmp_path / "bundle")


def test_the_shipped_bundle_loads(offline):
    ended = offline("policy", "check", "--json")
    assert ended.code == 0
    assert ended.document["policyId"] == "field-service@1.0.0"
    assert ended.document["faults"] == []


def test_every_fault_is_a_line_with_its_file_and_cell(offline, bundle):
    stores = bundle / "stores.yaml"
    text = stores.read_text()
    broken = text.replace("  ownerId: platform-owner", "  ownerId: nobody", 1).replace(
        "  storeKind: files", "  storeKind:", 1
    )
    stores.write_text(broken)
    ended = offline("policy", "check", bundle)
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert any("stores.yaml: graph.ownerId: unknown owner 'nobody'" in line for line in lines)
    assert any("stores.yaml: files.storeKind: blank" in line for line in lines)
    document = offline("policy", "check", bundle, "--json").document
    assert "stores.yaml: files.storeKind: blank" in document["faults"]


def test_a_bundle_that_does_not_load_stops_other_commands_and_says_how_to_see_why(sequela, bundle):
    (bundle / "owners.yaml").unlink()
    ended = sequela("key", "list", SEQUELA_POLICY_FOLDER=str(bundle))
    assert ended.code == 4
    assert "[POLICY_INVALID]" in ended.err
    assert "sequela policy check" in ended.err
    assert "Traceback" not in ended.err
