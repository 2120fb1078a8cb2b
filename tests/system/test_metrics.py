import re

from tests.support.server import serving, until

CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}


def test_whichever_worker_is_asked_shows_what_all_of_them_decided(tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2") as server:
        for _ in range(20):  # a connection each, so that both workers get some
            with server.client() as client:
                assert client.post("/pre-tool-use", json=CALL).status_code == 200

        def counted():
            with server.client() as client:
                text = client.get("/metrics").text
            found = re.search(r'^baton_decisions_total\{effect="deny",.*\} (\d+)', text, re.MULTILINE)
            return int(found[1]) if found else 0

        until(lambda: counted() == 20)
        assert {counted() for _ in range(8)} == {20}
        assert len(list((tmp_path / "home" / "metrics").glob("counter_*.db"))) == 2
