import pytest

from baton.kernel.base.settings import Settings
from baton.serve.settings_doc import BEGIN, END, PATH, table, written


@pytest.fixture
def document(request):
    return (request.config.rootpath / PATH).read_text()


def test_the_operations_document_has_the_settings_of_today(document):
    assert written(document) == document, "run `make operations` and commit docs/operations.md"


def test_every_setting_has_a_description():
    for name, field in Settings.model_fields.items():
        assert field.description, f"`{name}` has no description"
        assert f"`BATON_{name.upper()}`" in table() or name == "port"


def test_a_table_that_has_drifted_is_replaced():
    assert written(f"a\n{BEGIN}\nold\n{END}\nb") == f"a\n{BEGIN}\n{table()}\n{END}\nb"
