"""The names of workspaces' folders: one folder has one name, for any path to it, and no name shows a path."""

import pytest

from baton.runner import template


@pytest.fixture
def shop(tmp_path):
    made = tmp_path / "shop"
    (made / "web").mkdir(parents=True)
    (tmp_path / "link").symlink_to(made)
    (tmp_path / "shopping").mkdir()
    return made


def named(**given):
    return template.names(given.items())


def test_links_and_spellings_of_a_folder_have_its_name(shop, tmp_path):
    found = named(a=shop, b=tmp_path / "link", c=shop / "web" / "..", d=tmp_path / "link" / "." / "web" / "..")
    assert len(set(found.values())) == 1


def test_a_folder_s_name_is_the_prefix_of_its_contents_only(shop, tmp_path):
    found = named(shop=shop, web=tmp_path / "link" / "web", other=tmp_path / "shopping")
    assert found["web"].startswith(found["shop"])
    assert not found["other"].startswith(found["shop"])
    assert "shop" not in "".join(found.values())


@pytest.mark.parametrize("other", ["depot", "sh\udcff"])
def test_a_folder_with_a_reused_inode_has_another_name(shop, other):
    before = named(shop=shop)["shop"]
    assert named(shop=shop.rename(shop.with_name(other)))["shop"] != before


def test_names_differ_by_machine_and_a_missing_folder_has_none(shop, monkeypatch, tmp_path):
    here = named(shop=shop)
    monkeypatch.setattr(template, "_machine", lambda: "elsewhere")
    there = named(shop=shop)
    assert not set(here["shop"].split("/")[:-1]) & set(there["shop"].split("/")[:-1])
    assert named(gone=tmp_path / "gone", unknown=None) == {}


def test_a_deep_folder_has_a_name_that_the_server_takes(tmp_path):
    deep = tmp_path.joinpath(*["d"] * (template.DEEPEST + 5))
    deep.mkdir(parents=True)
    assert named(deep=deep)["deep"].count("/") == template.DEEPEST
