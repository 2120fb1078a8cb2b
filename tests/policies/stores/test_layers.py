from baton.policies import store

ORG = "default"
WHERE = ("team", "payments")


async def add(database, text, *, activate=False):
    async with database.transaction() as connection:
        version = await store.add_layer(connection, ORG, *WHERE, {"a/b.yaml": text}, by="ann", reason=f"for {text}")
        if activate:
            await store.activate_layer(connection, ORG, *WHERE, version)
    return version


async def test_each_upload_is_a_new_version_and_a_draft(database):
    assert [await add(database, text) for text in ("one", "two")] == [1, 2]
    assert await store.active_layers(database, ORG) == []
    assert [(v.version, v.state, v.reason) for v in await store.versions_of_layer(database, ORG, *WHERE)] == [
        (2, "draft", "for two"),
        (1, "draft", "for one"),
    ]
    found = await store.get_layer(database, ORG, *WHERE, 1)
    assert (found.files, found.created_by, found.activated_at) == ({"a/b.yaml": "one"}, "ann", None)


async def test_one_version_is_active_and_the_one_before_it_is_found(database):
    for text in ("one", "two", "three"):
        await add(database, text, activate=text != "two")
    assert [(v.version, v.files["a/b.yaml"]) for v in await store.active_layers(database, ORG)] == [(3, "three")]
    assert await store.version_before(database, ORG, *WHERE) == 1
    states = {v.version: v.state for v in await store.versions_of_layer(database, ORG, *WHERE)}
    assert states == {1: "retired", 2: "draft", 3: "active"}


async def test_a_retired_layer_has_no_active_version(database):
    await add(database, "one", activate=True)
    async with database.transaction() as connection:
        await store.retire_layer(connection, ORG, *WHERE)
        assert await store.active_version(connection, ORG, *WHERE) == 0
    assert await store.get_layer(database, ORG, *WHERE) is None
    assert await store.version_before(database, ORG, *WHERE) == 1


async def test_layers_of_other_names_tiers_and_organisations_are_apart(database):
    await add(database, "one", activate=True)
    for other in (("default", "team", "search"), ("default", "user", "payments"), ("other", *WHERE)):
        assert await store.get_layer(database, *other) is None
        assert await store.versions_of_layer(database, *other) == []
    assert await store.active_layers(database, "other") == []


async def test_pages_continue_below_a_version(database):
    for number in range(5):
        await add(database, str(number))
    page = await store.versions_of_layer(database, ORG, *WHERE, limit=2)
    rest = await store.versions_of_layer(database, ORG, *WHERE, below=page[-1].version)
    assert [v.version for v in (*page, *rest)] == [5, 4, 3, 2, 1]
