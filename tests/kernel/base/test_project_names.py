"""One name for each project, for any spelling of its remote."""

from baton.shared import storable
from baton.shared.storable import canonical, project_name
from tests.support.cases import every

SHOP = "github.com/acme/shop"
SPELLINGS = {
    SHOP: [
        "github.com/Acme/Shop", "GitHub.com/acme/shop", "github.com:22/acme/shop", "github.com:443/acme/shop",
        "github.com/acme/shop/", "github.com/acme/shop.git", "github.com/acme/shop.git/", "github.com//acme//shop",
        "ssh.github.com:443/acme/shop", "www.github.com/acme/shop", "github.com./acme/shop", "git@github.com/acme/shop",
        "git@github.com:Acme/Shop.git", "ssh://git@ssh.github.com:443/Acme/Shop.git", "ssh://git@github.com:22/acme/shop",
        "https://ada:s3cret@github.com/acme/shop.git", "http://github.com:80/acme/shop", "git://github.com:9418/acme/shop",
        " github.com/acme/shop ",
    ],
    "gitlab.com/a/b": ["altssh.gitlab.com:443/a/b", "git@gitlab.com:A/B"],
    "bitbucket.org/a/b": ["altssh.bitbucket.org:443/a/b"],
    "gitlab.corp.example/team/repo": ["GitLab.corp.example/Team/Repo"],
    "dev.azure.com/acme/proj/_git/shop": ["ssh.dev.azure.com/v3/acme/proj/shop", "dev.azure.com/acme/Proj/_git/shop"],
    "git.corp.example:8443/Team/Repo": ["GIT.corp.example:8443/Team/Repo.git"],
    "git.corp.example/Team/Repo": ["git.corp.example:22/Team/Repo/"],
    "[::1]/team/repo": ["[::1]:22/team/repo"],
    "/srv/git/repo": ["/srv/git/repo.git", "file:///srv/git/repo/"],
}  # fmt: skip
OTHERS = [
    "",
    "/",
    "shop",
    "Shop",
    "my project",
    "C:/Users/ada/Shop",
    "C:\\Users\\ada",
    "/home/ada/Shop",
    "~/Shop",
    "acme/Shop",
]


@every(("name", "spellings"), SPELLINGS.items())
def test_each_spelling_of_a_remote_is_one_project(name, spellings):
    assert {canonical(one) for one in [name, *spellings]} == {name}


@every("name", OTHERS)
def test_a_name_that_is_no_remote_stays(name):
    assert canonical(name) == name


@every(
    ("one", "other"),
    [
        (SHOP, "github.com/acme/shop2"),
        (SHOP, "gitlab.com/acme/shop"),
        (SHOP, "github.com:8443/acme/shop"),
        ("git.corp.example/Team/Repo", "git.corp.example/team/repo"),
        ("github.com.evil.example/acme/shop", SHOP),
    ],
)
def test_different_projects_stay_apart(one, other):
    assert canonical(one) != canonical(other)


def test_an_alias_means_its_project_in_each_spelling():
    before = storable.generation()
    try:
        storable.learn({"mirror.example/shop": SHOP})
        assert project_name("ssh://git@Mirror.example:22/shop.git") == SHOP
        assert storable.generation() == before + 1
        storable.learn({"mirror.example/shop": SHOP})
        assert storable.generation() == before + 1
    finally:
        storable.learn({})
    assert project_name("mirror.example/shop") == "mirror.example/shop"
