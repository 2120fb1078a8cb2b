"""`/docs` without internet access: all parts of the page come from this server."""

import re
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.cases import every

REFERENCE = re.compile(r"""(?:src|href)=["']([^"']+)["']""")
IMPORT = re.compile(r"url\(([^)]+)\)|@import\s+([^;]+);")


@pytest.fixture
def page(http):
    answer = http.get("/docs")
    assert answer.status_code == 200
    return answer


def references(page):
    return [urljoin(str(page.url), found) for found in REFERENCE.findall(page.text) if not found.startswith("data:")]


def test_the_page_refers_to_its_own_host_only_and_everything_is_there(http, page):
    found = references(page)
    assert len(found) == 3
    for url in found:
        assert urlsplit(url).netloc == urlsplit(str(page.url)).netloc
        answer = http.get(url)
        assert answer.status_code == 200
        kind = "text/css" if url.endswith(".css") else "text/javascript"
        assert answer.headers["content-type"].startswith(kind)
        assert answer.content


def test_no_script_is_inline_and_none_comes_from_elsewhere(page):
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'none'"
    assert re.findall(r"<script(?![^>]*src=)", page.text) == []


def test_the_style_sheet_loads_nothing_from_elsewhere(http):
    for quoted, imported in IMPORT.findall(http.get("/docs/swagger-ui.css").text):
        assert (quoted or imported).strip("\"' ").startswith("data:")


def test_it_opens_this_servers_document(http, page):
    name = re.search(r'url: "([^"]+)"', http.get("/docs/start.js").text)[1]
    assert http.get(urljoin(str(page.url), name)).json()["info"]["title"] == "Baton"


def test_the_bundle_is_a_swagger_ui_that_reads_openapi_3_1(http):
    found = re.search(r'PACKAGE_VERSION:"(\d+)\.', http.get("/docs/swagger-ui-bundle.js").text)
    assert int(found[1]) >= 5


@every("name", ["redoc.standalone.js", "..%2f__init__.py", "__init__.py"])
def test_no_other_file_of_the_package_is_served(http, name):
    assert http.get(f"/docs/{name}").status_code in {404, 422}
