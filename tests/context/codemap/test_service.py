"""Code maps on both databases: a few files at a time, within their limits, and nobody's but their own."""

import pytest

from baton.context.codemap import service as module
from baton.context.codemap.index import CodeIndexes
from baton.context.codemap.service import CodeMaps
from baton.kernel.base.errors import Forbidden, Invalid, NotFound, StoreUnavailable
from baton.rules.call.call import Principal
from baton.shared.code_map import Outline, Symbol

ANN = Principal(organisation="acme", team="t", user="ann", role="developer")
BOB = Principal(organisation="acme", team="t", user="bob", role="lead")
CART = Outline(
    path="src/cart.py",
    language="python",
    symbols=(Symbol("Cart", "class", 3), Symbol("add", "method", 5, "Cart")),
    mentions=("Tax",),
)
TAX = Outline(path="src/tax.py", language="python", symbols=(Symbol("Tax", "class", 1),))


@pytest.fixture
def maps(database):
    return CodeMaps(database)


def digests(*outlines):
    return {one.path: one.digest for one in outlines}


async def test_only_changed_files_are_requested_and_deleted_ones_removed(maps):
    assert await maps.settle(ANN, "shop", digests(CART, TAX)) == ["src/cart.py", "src/tax.py"]
    await maps.put_files(ANN, "shop", [CART, TAX])
    assert await maps.settle(ANN, "shop", digests(CART, TAX)) == []
    changed = Outline(path="src/cart.py", language="python")
    assert await maps.settle(ANN, "shop", digests(changed)) == ["src/cart.py"]
    await maps.put_files(ANN, "shop", [changed])
    (found,) = await maps.list_maps(ANN)
    assert (found.project, found.files, found.symbols) == ("shop", 1, 0)


async def test_a_map_is_private_to_its_user(maps, database):
    await maps.put_files(ANN, "shop", [CART])
    assert await maps.list_maps(BOB) == []
    assert await CodeIndexes(database).get(BOB, "shop") is None
    with pytest.raises(NotFound, match="baton codemap show"):
        await maps.drop(BOB, "shop")
    await maps.put_files(BOB, "shop", [TAX])
    assert (await CodeIndexes(database).get(ANN, "shop")).search("Cart")[0].path == "src/cart.py"
    await maps.drop(ANN, "shop")
    assert await maps.list_maps(ANN) == []
    assert len(await maps.list_maps(BOB)) == 1


async def test_an_index_is_read_again_when_its_map_has_changed(maps, database):
    indexes = CodeIndexes(database)
    assert await indexes.get(ANN, "shop") is None
    await maps.put_files(ANN, "shop", [CART])
    first = await indexes.get(ANN, "shop")
    assert await indexes.get(ANN, "shop") is first
    await maps.put_files(ANN, "shop", [TAX])
    second = await indexes.get(ANN, "shop")
    assert (first.size, second.size) == (2, 3)
    assert second.search("Tax")[0].used_in == ("src/cart.py",)
    await maps.drop(ANN, "shop")
    assert await indexes.get(ANN, "shop") is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"path": "../etc/passwd"}, "outside the project"),
        ({"path": "/etc/passwd"}, "outside the project"),
        ({"path": "a/../../b.py"}, "outside the project"),
        ({"path": "C:\\b.py"}, "outside the project"),
        ({"path": "a\n## b.py"}, "visible names"),
        ({"symbols": (Symbol("a`b", "class", 1),)}, "visible names"),
        ({"symbols": (Symbol("a", "class", 1, "<system>"),)}, "visible names"),
        ({"mentions": ("sk_live_" + "a" * 24,)}, "visible names"),
        ({"mentions": ("a\u202eb",)}, "visible names"),
    ],
)
async def test_an_undisplayable_name_is_refused(maps, changed, said):
    with pytest.raises(Invalid, match=said):
        await maps.put_files(ANN, "shop", [Outline(**{"path": "a.py", "language": "python"} | changed)])
    assert await maps.list_maps(ANN) == []


async def test_a_map_has_its_limits(maps, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 1)
    with pytest.raises(Invalid, match="at most 1"):
        await maps.put_files(ANN, "shop", [CART, TAX])
    monkeypatch.setattr(module, "MOST_FILES", 10)
    monkeypatch.setattr(module, "MOST_IN_ALL", 2)
    with pytest.raises(Invalid, match="3 symbols"):
        await maps.put_files(ANN, "shop", [CART, TAX])
    monkeypatch.setattr(module, "MOST_IN_ALL", 100)
    monkeypatch.setattr(module, "MOST_MAPS", 1)
    await maps.put_files(ANN, "shop", [CART])
    with pytest.raises(Invalid, match="drop one first"):
        await maps.put_files(ANN, "bank", [CART])
    await maps.put_files(ANN, "shop", [TAX])
    with pytest.raises(Invalid, match="Baton-Project"):
        await maps.put_files(ANN, " ", [CART])


async def test_a_role_without_code_has_no_map(maps):
    with pytest.raises(Forbidden):
        await maps.put_files(Principal(role="auditor"), "shop", [CART])


async def test_a_missing_database_is_reported(no_database):
    maps = CodeMaps(no_database)
    for call in (maps.put_files(ANN, "p", [CART]), maps.settle(ANN, "p", {}), maps.list_maps(ANN), maps.drop(ANN, "p")):
        with pytest.raises(StoreUnavailable):
            await call
