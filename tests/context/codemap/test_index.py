"""Files and symbols relevant to a prompt: named ones, mentioned ones, and prompts without any."""

import msgspec

from baton.context.codemap.index import MOST_POSTINGS, CodeIndex, parts_of
from baton.context.enrichment.code_analysis import worded
from baton.shared.code_map import Outline, Symbol
from tests.support.cases import every


def file(path, *symbols, mentions=()):
    made = tuple(Symbol(*one) for one in symbols)
    return msgspec.to_builtins(Outline(path=path, language="python", symbols=made, mentions=mentions))


FILES = [
    file(
        "src/cart.py",
        ("Cart", "class", 3),
        ("add_item", "method", 9, "Cart"),
        ("total", "method", 20, "Cart"),
        mentions=("TaxTable",),
    ),
    file("src/tax/table.py", ("TaxTable", "class", 1), ("rate_for", "method", 4, "TaxTable")),
    file("src/http/rate_limiter.py", ("RateLimiter", "class", 12), ("take", "method", 30, "RateLimiter")),
    file("src/__init__.py"),
    file("src/tax/__init__.py"),
    file("tests/test_cart.py", ("test_a_cart_adds_up_what_its_items_cost", "function", 4), mentions=("add_item",)),
    *(
        file(f"src/model_{n}.py", (f"Model{n}", "class", 1), ("save", "method", 2, f"Model{n}"))
        for n in range(MOST_POSTINGS + 20)
    ),
]
INDEX = CodeIndex(FILES)


@every(
    ("prompt", "first"),
    [
        ("look at src/cart.py", "src/cart.py"),
        ("look at ./src/cart.py, please", "src/cart.py"),
        ("the failure is in /home/ann/shop/src/cart.py:20", "src/cart.py"),
        ("open cart.py.", "src/cart.py"),
        ("src\\tax\\table.py is slow", "src/tax/table.py"),
        ("tax/__init__.py imports too much", "src/tax/__init__.py"),
        ("why is TaxTable slow?", "src/tax/table.py"),
        ("`add_item` takes no discounts", "src/cart.py"),
        ("Cart.add_item takes no discounts", "src/cart.py"),
        ("taxtable.rate_for() is wrong", "src/tax/table.py"),
        ("rate_limiter refuses everybody", "src/http/rate_limiter.py"),
        ("the rate limiter refuses everybody", "src/http/rate_limiter.py"),
        ("refactor Model7", "src/model_7.py"),
    ],
)
def test_names_in_the_prompt_rank_first(prompt, first):
    assert [one.path for one in INDEX.search(prompt)][:1] == [first]


@every("prompt", ["", "   ", "yes please", "add a new file", "save every model", "what is the weather?", "`" * 500])
def test_a_prompt_that_is_about_nothing_of_it_gets_nothing(prompt):
    assert INDEX.search(prompt) == []


def test_a_line_has_path_symbols_and_users():
    (found,) = [one for one in INDEX.search("why is TaxTable slow?") if one.path == "src/tax/table.py"]
    assert worded(found) == "- `src/tax/table.py`: class `TaxTable` (line 1); used in `src/cart.py`"


def test_a_named_symbol_ranks_before_its_neighbours():
    assert INDEX.search("Cart.add_item")[0].symbols[0].name == "add_item"


def test_tests_come_behind_the_code_unless_they_are_asked_for():
    assert [one.path for one in INDEX.search("cart items cost too much")][:1] != ["tests/test_cart.py"]
    assert "tests/test_cart.py" in [one.path for one in INDEX.search("which test has cart items cost?")]


def test_at_most_eight_files_are_named():
    assert len(INDEX.search(" ".join(f"Model{n}" for n in range(40)))) == 8


def test_names_fall_into_their_words():
    assert parts_of("parseHTTPHeader2xx") == ["parse", "http", "header"]
    assert parts_of("__init__") == ["init"]


def test_an_empty_map_finds_nothing():
    assert CodeIndex([]).search("src/cart.py Cart") == []
